"""What a person is told when the state can't be used: one UserError a cause, each with its way out."""

from __future__ import annotations

from pathlib import Path

from nodusctl.base.diagnostics import error
from nodusctl.base.exits import ExitCode, UserError
from nodusctl.base.urls import without_password


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


def newer_schema(place: Path | str, revision: str) -> UserError:
    """A newer nodusctl has written the state."""
    return trouble(
        "StateNewer",
        "The state was written by a newer nodusctl.",
        f"{place} has schema revision {revision}, which this version doesn't know. Nothing was changed.",
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


def wrong_key(source: str) -> UserError:
    """The key opens nothing here."""
    return trouble(
        "StateKeyWrong",
        "The encryption key is not this state's key.",
        f"The key from {source} doesn't match the one the state was sealed with. Nothing was changed.",
        "Give the right key in NODUSCTL_STATE_KEY, or put the right key file back.",
    )


def missing_key(path: Path | None, *, is_team: bool = False) -> UserError:
    """Something is sealed and its key isn't here."""
    if is_team:
        return trouble(
            "StateKeyMissing",
            "You have no key to this state yet.",
            "The state is a team's: it holds its key once for each member, and none of the keys on this computer is a member's.",
            "Make a pair and have a member let you in with its public half:\n"
            "  nodusctl state keys new\n  nodusctl state keys add NAME PUBLIC-KEY",
        )
    where = f"There is no key file at {path}" if path else "No key is configured"
    return trouble(
        "StateKeyMissing",
        "The state's encryption key is not on this computer.",
        f"{where}, and NODUSCTL_STATE_KEY is not set; a new key would open nothing.",
        "Copy the key file from the computer that made the state, or set NODUSCTL_STATE_KEY to its content. Where several people work, "
        "let the state hold its key for each of them, there where the key is:\n  nodusctl state keys init",
    )


def no_member(public: str) -> UserError:
    """This person has a pair, but the state holds no copy of its key for it."""
    return trouble(
        "StateKeyWrong",
        "You are not among the members of this state.",
        f"It holds no copy of its key for {public}: nobody has added it, or it was removed. Nothing was changed.",
        f"Have a member let you in:\n  nodusctl state keys add NAME {public}",
    )


def member_key_alone(source: str) -> UserError:
    """Half a pair, where the state has no members."""
    return trouble(
        "StateKeyWrong",
        "A member's key opens a team's state only, and this state has no members.",
        f"The key from {source} is the secret half of a pair. Nothing was changed.",
        "Give this state a key of its own, or make it a team's where its key is:\n  nodusctl state keys init",
    )


def bad_member_key(source: str, why: str) -> UserError:
    """Not the half of a pair it says it is."""
    return trouble(
        "StateKeyWrong",
        "A member's key can't be read.",
        f"The key from {source}: {why}.",
        "Copy it again, whole. Where it is lost, make another pair and have a member let you in:\n  nodusctl state keys new",
    )


def keyring_missing() -> UserError:
    """The extra isn't installed."""
    return trouble(
        "StateKeyMissing",
        "The keyring can't be opened: its library is not installed.",
        "stateKeySource says keyring, and keyring can't be imported by the Python that runs nodusctl.",
        "Install the extra:\n  pip install 'nodusctl[keyring]'",
        field="stateKeySource",
    )


def keyring_refused(why: str) -> UserError:
    """No desktop, or a keyring that stays shut."""
    return trouble(
        "StateKeyMissing",
        "The keyring can't be opened.",
        f"{why.rstrip('.')}. cron, CI and a login without a desktop have none.",
        "Keep the key in a file there:\n  export NODUSCTL_STATE_KEY_SOURCE=file",
        field="stateKeySource",
    )


def open_key_file(path: Path, mode: int) -> UserError:
    """Others can read the key file."""
    return trouble(
        "StateKeyOpen",
        "The key file can be read by others.",
        f"{path} has mode {mode:04o}; it must be 0600 and yours.",
        f"Close it:\n  chmod 600 {path}",
    )


def bad_key(source: str) -> UserError:
    """The key is too short to protect anything."""
    return trouble(
        "StateKeyWeak",
        "The encryption key is too short.",
        f"The key from {source} has fewer than 16 characters.",
        "Make one and keep it safe:\n  openssl rand -hex 32",
    )
