"""What a person is told about a pulled state that can't be used: one UserError a cause, each with its way out."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from nodusctl.base.exits import UserError
from nodusctl.store.faults import trouble

_AGAIN = "Pull it again where the state is:\n  nodusctl state pull -o FILE"


def unreadable(path: Path, why: str) -> UserError:
    """No pulled state, or not all of one."""
    return trouble(
        "StateUnreadable",
        "The file can't be read as a pulled state.",
        f"{path}: {why}. Nothing was changed.",
        _AGAIN,
    )


def edited(path: Path) -> UserError:
    """Not as it was written."""
    return trouble(
        "StateUnreadable",
        "The pulled state is not as it was written.",
        f"{path}: its digest is another one, so it was edited, or damaged. Nothing was changed.",
        f"{_AGAIN}\nIf the edit is meant, and you have read it twice:\n  nodusctl state push FILE --force",
    )


def newer(path: Path, revision: str) -> UserError:
    """A newer nodusctl has written it."""
    return trouble(
        "StateNewer",
        "The state was written by a newer nodusctl.",
        f"{path} is of {revision}, which this version doesn't know. Nothing was changed.",
        "Upgrade this installation:\n  pip install --upgrade nodusctl",
    )


def unsound(path: Path, faults: Iterable[str], count: int) -> UserError:
    """Rows that no nodusctl wrote."""
    shown = "; ".join(faults)
    more = "" if count <= shown.count("; ") + 1 else f"; {count} in all"
    return trouble(
        "StateUnreadable",
        "The pulled state doesn't hold together.",
        f"{path}: {shown}{more}. Nothing was changed.",
        f"Take another one:\n  nodusctl state restore\n{_AGAIN}",
    )


def not_kept(path: Path, why: str) -> UserError:
    """A backup that can't be written stops what it was to make safe."""
    return trouble(
        "StateNotUsable",
        "The state as it is now could not be kept, so it was not changed.",
        f"{path}: {why}.",
        f"Make room, or let yourself write there:\n  ls -ld {path.parent}",
    )
