"""What a person is told about members and their keys: one UserError a cause, each with its way out."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping

from nodusctl.base.exits import UserError
from nodusctl.base.nearest import nearest
from nodusctl.ports.keys import RECOVERY
from nodusctl.store.faults import trouble

MEMBER_NAME = re.compile(r"[a-z0-9]([-._@a-z0-9]{0,61}[a-z0-9])?\Z")


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
