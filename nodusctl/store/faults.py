"""What a person is told when the state can't be used: one UserError a cause, each with its way out."""

from __future__ import annotations

from pathlib import Path

from nodusctl.base.diagnostics import error
from nodusctl.base.exits import ExitCode, UserError


def bad_url(url: str) -> UserError:
    """The state's URL isn't one we can open."""
    return UserError(
        error(
            "Invalid",
            "The state's URL is not usable.",
            f"Got {url!r}; a state is a SQLite file: sqlite:///PATH, relative to the project, or sqlite:////PATH from the root.",
            "Set it in nodusctl.yaml:\n  state: sqlite:///.nodus/state.db",
            field="state",
        )
    )


def not_a_state(path: Path, why: str) -> UserError:
    """The file is something else, or damaged."""
    return UserError(
        error(
            "StateUnreadable",
            "The state file can't be read as a nodusctl state.",
            f"{path}: {why}. Nothing was changed.",
            f"Name another file in nodusctl.yaml (state:), or put a backup back in its place:\n  cp BACKUP {path}",
        )
    )


def newer_schema(path: Path, revision: str) -> UserError:
    """A newer nodusctl has written the state."""
    return UserError(
        error(
            "StateNewer",
            "The state was written by a newer nodusctl.",
            f"{path} has schema revision {revision}, which this version doesn't know. Nothing was changed.",
            "Upgrade this installation:\n  pip install --upgrade nodusctl",
        )
    )


def older_schema(path: Path) -> UserError:
    """A reader can't bring the schema up."""
    return UserError(
        error(
            "StateOlder",
            "The state was written by an older nodusctl and must be brought up first.",
            f"{path}: a command that only reads never changes the file.",
            "Run a command that writes; it brings the state up in one transaction:\n  nodusctl apply",
        )
    )


def newer_value(kind: str, fields: str) -> UserError:
    """A stored value doesn't have the shape this version knows."""
    return UserError(
        error(
            "StateNewer",
            "The state holds a value this nodusctl doesn't understand.",
            f"A stored {kind} doesn't fit at: {fields}. It was probably written by a newer version.",
            "Upgrade this installation:\n  pip install --upgrade nodusctl",
        )
    )


def busy(path: Path) -> UserError:
    """Another process kept the file locked for longer than we wait."""
    return UserError(
        error(
            "StateBusy",
            "Another process is writing the state and didn't finish in time.",
            f"{path} stayed locked. Nothing was changed.",
            "Run the command again.",
        ),
        exit_code=ExitCode.LOCKED,
    )


def not_usable(path: Path, why: str) -> UserError:
    """The operating system refuses: permissions, a full disk, a missing folder."""
    return UserError(
        error(
            "StateNotUsable",
            "The state file can't be opened or written.",
            f"{path}: {why}.",
            f"Check the owner, the permissions and the free space of its folder:\n  ls -ld {path.parent}",
        )
    )


def wrong_key(source: str) -> UserError:
    """The key opens nothing here."""
    return UserError(
        error(
            "StateKeyWrong",
            "The encryption key is not this state's key.",
            f"The key from {source} doesn't match the one the state was sealed with. Nothing was changed.",
            "Give the right key in NODUSCTL_STATE_KEY, or put the right key file back.",
        )
    )


def missing_key(path: Path | None) -> UserError:
    """Something is sealed and its key isn't here."""
    where = f"There is no key file at {path}" if path else "No key file is configured"
    return UserError(
        error(
            "StateKeyMissing",
            "The state's encryption key is not on this computer.",
            f"{where}, and NODUSCTL_STATE_KEY is not set; a new key would open nothing.",
            "Copy the key file from the computer that made the state, or set NODUSCTL_STATE_KEY to its content.",
        )
    )


def open_key_file(path: Path, mode: int) -> UserError:
    """Others can read the key file."""
    return UserError(
        error(
            "StateKeyOpen",
            "The key file can be read by others.",
            f"{path} has mode {mode:04o}; it must be 0600 and yours.",
            f"Close it:\n  chmod 600 {path}",
        )
    )


def bad_key(source: str) -> UserError:
    """The key is too short to protect anything."""
    return UserError(
        error(
            "StateKeyWeak",
            "The encryption key is too short.",
            f"The key from {source} has fewer than 16 characters.",
            "Make one and keep it safe:\n  openssl rand -hex 32",
        )
    )
