"""A home's revisions as a table and as JSON: number, when, how large, from which Attempt, and where the live disk stands among them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from nodusctl.base.timestamps import format_time
from nodusctl.engine.homes import HomeFacts
from nodusctl.lifecycle.homes import standing_words
from nodusctl.provider.machines import Revision, RevisionState
from nodusctl.provider.replies import Done, Refused, Reply, Unknown
from nodusctl.render.spans import moment_text
from nodusctl.render.style import Style
from nodusctl.render.tables import table
from nodusctl.state.status import SavedRevision

_STEP = 1024
_UNITS = ("B", "KiB", "MiB", "GiB", "TiB")
Verified = Sequence[tuple[SavedRevision, Reply[Revision]]]


def home_text(facts: HomeFacts, style: Style) -> str:
    """The table, then one line on the live disk."""
    rows = [
        [str(one.number), moment_text(one.saved_at), size_text(one.size_bytes), _attempt(facts, one), _remark(facts, one)]
        for one in facts.disk.revisions
    ]
    listed = table(("REVISION", "SAVED", "SIZE", "ATTEMPT", "NOTE"), rows, style, right={"REVISION", "SIZE"}) if rows else ""
    return "\n".join(part for part in (listed, f"{facts.volume}: {disk_sentence(facts)}.") if part)


def home_document(facts: HomeFacts) -> dict[str, Any]:
    """The same as JSON."""
    disk = facts.disk
    return {
        "volume": str(facts.volume),
        "revisions": [
            {
                "number": one.number,
                "savedTime": format_time(one.saved_at),
                "sizeBytes": one.size_bytes,
                "attempt": _attempt(facts, one),
                "digest": one.digest,
            }
            for one in disk.revisions
        ],
        "latest": disk.revision,
        "diskRevision": disk.disk_revision,
        "diskIsNewer": disk.is_newer_than_revision,
        "holder": str(disk.holder.address) if disk.holder is not None else "",
        "limit": facts.limit,
    }


def disk_sentence(facts: HomeFacts) -> str:
    """Where the live disk stands, in words."""
    disk = facts.disk
    held = f"; {disk.holder.address} holds it" if disk.holder is not None else ""
    return standing_words(disk) + held or "no disk yet; its first machine makes it"


def verified_text(facts: HomeFacts, found: Verified, style: Style) -> str:
    """One line a revision: whole, or what is wrong with it."""
    rows = [[str(one.number), size_text(one.size_bytes), verdict(one, reply)] for one, reply in found]
    if not rows:
        return f"{facts.volume} has no revision yet."
    return table(("REVISION", "SIZE", "FOUND"), rows, style, right={"REVISION", "SIZE"})


def verified_document(facts: HomeFacts, found: Verified) -> dict[str, Any]:
    """The same as JSON."""
    checked = [{"number": one.number, "whole": is_whole(one, reply), "found": verdict(one, reply)} for one, reply in found]
    return {"volume": str(facts.volume), "revisions": checked}


def is_whole(saved: SavedRevision, reply: Reply[Revision]) -> bool:
    """True where the revision was read and is what was saved."""
    return isinstance(reply, Done) and reply.value.state is RevisionState.READY and reply.value.digest == saved.digest


def verdict(saved: SavedRevision, reply: Reply[Revision]) -> str:
    """What was found, in words."""
    match reply:
        case Done(value=revision) if revision.state is not RevisionState.READY:
            return f"damaged: {revision.reason}"
        case Done(value=revision):
            return "whole" if revision.digest == saved.digest else "it is another content than was saved"
        case Refused():
            return f"{reply.code}: {reply.message}"
        case Unknown():
            return f"not known: {reply.detail}"


def size_text(size_bytes: int) -> str:
    """``1.5 MiB``; whole bytes below one KiB."""
    size, unit = float(size_bytes), 0
    while size >= _STEP and unit < len(_UNITS) - 1:
        size, unit = size / _STEP, unit + 1
    return f"{size_bytes} B" if unit == 0 else f"{size:.1f} {_UNITS[unit]}"


def _attempt(facts: HomeFacts, saved: SavedRevision) -> str:
    return facts.attempts.get(saved.attempt_uid, "")


def _remark(facts: HomeFacts, saved: SavedRevision) -> str:
    disk = facts.disk
    is_base = saved.number == disk.disk_revision
    remarks = ["latest"] if saved.number == disk.revision else []
    if is_base:
        remarks.append("the disk is newer" if disk.is_newer_than_revision else "the disk")
    return ", ".join(remarks)
