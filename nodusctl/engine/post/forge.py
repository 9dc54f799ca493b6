"""What posting asks of a forge, and the one decision about it: which comment is ours.

The surprise: a mark alone doesn't make a comment ours. Whoever can comment can write it, and would then own the words a reviewer trusts; so
where the forge says who wrote a comment, it has to be the owner of the token.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Protocol


@dataclass(frozen=True, slots=True, kw_only=True)
class Note:
    """A comment as the forge has it. ``author`` is empty and ``is_bot`` None where it doesn't say."""

    id: int
    body: str
    url: str = ""
    author: str = ""
    is_bot: bool | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Whoever:
    """Whose token it is; ``name`` is empty where the forge doesn't tell (a CI's own token may not ask)."""

    name: str = ""

    def wrote(self, note: Note) -> bool:
        """True unless the forge says that somebody else did."""
        if self.name and note.author:
            return self.name == note.author
        return note.is_bot is not False


class Unsure(Exception):
    """A request that makes something went out, and nobody knows whether it arrived. Look before sending it again."""


class CommentForge(Protocol):
    """The comments of one pull or merge request. Each method raises UserError where the forge refuses or can't be reached."""

    def notes(self) -> Iterator[Note]:
        """All of them, oldest first."""
        ...

    def whoever(self) -> Whoever:
        """Whose token this is."""
        ...

    def create(self, body: str) -> Note:
        """Write a new one; Unsure where the answer was lost."""
        ...

    def update(self, note: Note, body: str) -> Note | None:
        """Replace the text of one; None where it isn't there any more."""
        ...
