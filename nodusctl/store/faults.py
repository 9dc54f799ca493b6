"""What a person is told when the state, or a copy of one, can't be used: one UserError a cause, each with its way out."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from nodusctl.base.diagnostics import error
from nodusctl.base.exits import ExitCode, UserError
from nodusctl.base.urls import without_password

_PULL_AGAIN = "Pull it again where the state is:\n  nodusctl state pull -o FILE"


def trouble(code: str, summary: str, detail: str, fix: str = "", *, field: str = "", exit_code: ExitCode = ExitCode.ERROR) -> UserError:
    """One error as the exception that says it."""
    return UserError(error(code, summary, detail, fix, field=field), exit_code=exit_code)


def bad_url(url: str) -> UserError:
    """The state's URL isn't one we can open."""
    return trouble(
        "Invalid",
        "The state's URL is not usable.",
        f"Got {without_password(url)!r}; a state is a SQLite file (sqlite:///PATH, relative to the project, or sqlite:////PATH from "
        "the root), or lies on a PostgreSQL server (postgresql://USER@HOST/DATABASE).",
        "Set it in nodusctl.yaml:\n  state: sqlite:///.nodus/state.db",
        field="state",
    )


def not_a_state(path: Path, why: str) -> UserError:
    """The file is something else, or damaged."""
    return trouble(
        "StateUnreadable",
        "The state file can't be read as a nodusctl state.",
        f"{path}: {why}. Nothing was changed.",
        "Name another file in nodusctl.yaml (state:), or move this one away and go back to a kept state:\n"
        f"  mv {path} {path}.damaged\n  nodusctl state backup --list\n  nodusctl state restore BACKUP",
    )


def newer(place: Path | str, what: str) -> UserError:
    """A newer nodusctl has written it; ``what`` is of the newer one, such as ``schema revision 0009``."""
    return trouble(
        "StateNewer",
        "The state was written by a newer nodusctl.",
        f"{place} has {what}, which this version doesn't know. Nothing was changed.",
        "Upgrade this installation:\n  pip install --upgrade nodusctl",
    )


def older_schema(place: Path | str) -> UserError:
    """A reader can't bring the schema up."""
    return trouble(
        "StateOlder",
        "The state was written by an older nodusctl and must be brought up first.",
        f"{place}: a command that only reads never changes it.",
        "Run a command that writes; it brings the state up in one transaction:\n  nodusctl apply",
    )


def newer_value(kind: str, fields: str) -> UserError:
    """A stored value doesn't have the shape this version knows."""
    return trouble(
        "StateNewer",
        "The state holds a value this nodusctl doesn't understand.",
        f"A stored {kind} doesn't fit at: {fields}. It was probably written by a newer version.",
        "Upgrade this installation:\n  pip install --upgrade nodusctl",
    )


def busy(path: Path) -> UserError:
    """Another process kept the file locked for longer than we wait."""
    return trouble(
        "StateBusy",
        "Another process is writing the state and didn't finish in time.",
        f"{path} stayed locked. Nothing was changed.",
        "Run the command again.",
        exit_code=ExitCode.LOCKED,
    )


def not_usable(path: Path, why: str) -> UserError:
    """The operating system refuses: permissions, a full disk, a missing folder."""
    return trouble(
        "StateNotUsable",
        "The state file can't be opened or written.",
        f"{path}: {why}.",
        f"Check the owner, the permissions and the free space of its folder:\n  ls -ld {path.parent}",
    )


def copy_unreadable(path: Path, why: str) -> UserError:
    """No pulled state, or not all of one."""
    return trouble(
        "StateUnreadable",
        "The file can't be read as a pulled state.",
        f"{path}: {why}. Nothing was changed.",
        _PULL_AGAIN,
    )


def copy_edited(path: Path) -> UserError:
    """Not as it was written."""
    return trouble(
        "StateUnreadable",
        "The pulled state is not as it was written.",
        f"{path}: its digest is another one, so it was edited, or damaged. Nothing was changed.",
        f"{_PULL_AGAIN}\nIf the edit is meant, and you have read it twice:\n  nodusctl state push FILE --force",
    )


def copy_unsound(path: Path, faults: Iterable[str], count: int) -> UserError:
    """Rows that no nodusctl wrote."""
    shown = "; ".join(faults)
    more = "" if count <= shown.count("; ") + 1 else f"; {count} in all"
    return trouble(
        "StateUnreadable",
        "The pulled state doesn't hold together.",
        f"{path}: {shown}{more}. Nothing was changed.",
        f"Take another one:\n  nodusctl state restore\n{_PULL_AGAIN}",
    )


def not_kept(path: Path, why: str) -> UserError:
    """A backup that can't be written stops what it was to make safe."""
    return trouble(
        "StateNotUsable",
        "The state as it is now could not be kept, so it was not changed.",
        f"{path}: {why}.",
        f"Make room, or let yourself write there:\n  ls -ld {path.parent}",
    )
