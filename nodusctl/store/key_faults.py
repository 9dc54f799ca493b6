"""What a person is told about the state's key, its members and theirs: one UserError a cause, each with its way out."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from pathlib import Path

from nodusctl.base.exits import UserError
from nodusctl.base.nearest import nearest
from nodusctl.ports.keys import RECOVERY
from nodusctl.store.faults import trouble

MEMBER_NAME = re.compile(r"[a-z0-9]([-._@a-z0-9]{0,61}[a-z0-9])?\Z")


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


def no_state() -> UserError:
    """There is nothing to have a key to."""
    return trouble(
        "NotFound",
        "There is no state yet.",
        "Its first apply makes it; who may open it can be said after that.",
        "nodusctl apply",
    )


def is_team() -> UserError:
    """It was made a team's before."""
    return trouble(
        "AlreadyExists",
        "This state has members already.",
        "Its key is wrapped for each of them, and whoever is one lets others in.",
        "See who they are, then ask one of them:\n  nodusctl state keys list\n  nodusctl state keys add NAME PUBLIC-KEY",
    )


def no_team() -> UserError:
    """The state has a single key."""
    return trouble(
        "NotFound",
        "This state has no members.",
        "Its one key lies with whoever made it, in a file or in NODUSCTL_STATE_KEY.",
        "Make it a team's first, where that key is:\n  nodusctl state keys init",
    )


def no_place() -> UserError:
    """Nowhere to keep a secret half."""
    return trouble(
        "StateKeyMissing",
        "There is no place for a member's key.",
        "No file is configured for it.",
        "",
    )


def require_name(name: str) -> None:
    """UserError for a name that can't be a member's."""
    if name == RECOVERY or not MEMBER_NAME.match(name):
        raise trouble(
            "Invalid",
            "A member's name has the wrong form.",
            f"It says {name!r}; it is at most 63 lower-case letters, digits, '-', '.', '_' and '@', and {RECOVERY} is taken.",
            "nodusctl state keys add ada PUBLIC-KEY",
        )


def bad_public_key(why: str) -> UserError:
    """Text that is no public half. It is not repeated: it may be the secret one."""
    return trouble(
        "Invalid",
        "This is no member's public key.",
        f"What was given can't be one: {why}. A secret key stays with its person and is given to nobody.",
        "The member prints theirs on their own computer:\n  nodusctl state keys new",
    )


def is_member(name: str, public: str, taken: Mapping[str, str]) -> UserError:
    """The name or the key is taken."""
    owner = next((member for member, key in taken.items() if key == public), None)
    detail = f"{public} is {owner}'s." if owner is not None else f"There is a member {name}, with another key."
    return trouble(
        "AlreadyExists",
        "This member is there already.",
        detail,
        f"To give {name} another key, remove the former one first:\n  nodusctl state keys remove {owner or name}",
    )


def unknown_member(name: str, names: Iterable[str]) -> UserError:
    """Nobody of that name."""
    near = nearest(name, names)
    if name == RECOVERY:
        detail, fix = "The recovery copy is nobody's; it can only be renewed.", "nodusctl state keys recovery"
    else:
        detail, fix = f"It says {name!r}.", f"Did you mean {near}?" if near else "nodusctl state keys list"
    return trouble(
        "NotFound",
        "There is no such member.",
        detail,
        fix,
    )


def last_member(name: str) -> UserError:
    """Nobody could open the state any more, but for the recovery copy."""
    return trouble(
        "Conflict",
        "The last member can't be removed.",
        f"Nobody but the recovery copy would open the state without {name}.",
        "Let somebody else in first:\n  nodusctl state keys add NAME PUBLIC-KEY",
    )


def not_vouched_for(names: Iterable[str]) -> UserError:
    """Members whom nobody with the key has let in."""
    shown = ", ".join(sorted(names))
    return trouble(
        "StateKeyWrong",
        "Somebody is among the members whom no member has let in.",
        f"Not vouched for: {shown}. The row was written past nodusctl, or for an older key. The new key was not made, so it was not "
        "wrapped for them either.",
        f"Ask who that is; then remove them, or let them in anew:\n  nodusctl state keys remove {shown.split(', ')[0]}",
    )
