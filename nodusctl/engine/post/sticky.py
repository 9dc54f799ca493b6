"""One comment a mark: the second push replaces what the first one wrote."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from nodusctl.base.diagnostics import error
from nodusctl.base.exits import UserError
from nodusctl.engine.post.forge import CommentForge, Note, Unsure

_MOST_TRIES = 3


class Came(StrEnum):
    """What became of the comment."""

    CREATED = "created"
    UPDATED = "updated"


@dataclass(frozen=True, slots=True, kw_only=True)
class Posted:
    """``others`` counts further comments with the same mark by the same author, which were left alone."""

    came: Came
    note: Note
    others: int = 0


def post_sticky(forge: CommentForge, mark_line: str, body: str) -> Posted:
    """Update the oldest comment that begins with ``mark_line``, else write a new one; never two for one lost answer.

    UserError where the forge refuses, can't be reached, or loses every answer.
    """
    for _ in range(_MOST_TRIES):
        found = _ours(forge, mark_line)
        if found:
            updated = forge.update(found[0], body)
            if updated is not None:
                return Posted(came=Came.UPDATED, note=updated, others=len(found) - 1)
            continue
        try:
            return Posted(came=Came.CREATED, note=forge.create(body))
        except Unsure:
            continue
    raise UserError(
        error(
            "ForgeUnreachable",
            "The comment could not be posted",
            f"{_MOST_TRIES} times the answer to it was lost, or the comment vanished while it was being replaced.",
            "Try again later; a comment that did arrive is found and replaced:\n  nodusctl comment post",
        )
    )


def _ours(forge: CommentForge, mark_line: str) -> list[Note]:
    marked = [note for note in forge.notes() if note.body.lstrip().startswith(mark_line)]
    if not marked:
        return []
    owner = forge.whoever()
    return [note for note in marked if owner.wrote(note)]
