"""Who has the key of a state: letting somebody in, taking them out, and making a new key.

A new key is made under the plan lock: an apply that compares fingerprints of Secrets at that moment would compare those of two keys.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta

from nodusctl.base.diagnostics import Diagnostic, warning
from nodusctl.engine.locking import under_plan_lock
from nodusctl.ports.claims import Claims
from nodusctl.ports.keys import KeyChange, Member, OwnKey, Rotated, StateKeys


@dataclass(frozen=True, slots=True, kw_only=True)
class KeyedState:
    """A state open for writing, as far as its key is concerned."""

    keys: StateKeys
    claims: Claims


@dataclass(frozen=True, slots=True, kw_only=True)
class Membership:
    """Everybody who can open the state, and this person's own pair. No members: it has a single key."""

    members: tuple[Member, ...]
    own: OwnKey | None


def membership(keys: StateKeys) -> Membership:
    """Who they are."""
    return Membership(members=keys.members(), own=keys.own())


def found_team(name: str, *, state: KeyedState, change: KeyChange, command: str, lock_timeout: timedelta) -> Rotated:
    """Make the state a team's, with ``name`` for this person. UserError also for a lock that is held (13)."""
    return under_plan_lock(state.claims, command, lock_timeout, lambda: state.keys.found(name, change))


def rotate_key(*, state: KeyedState, change: KeyChange, command: str, lock_timeout: timedelta, without: str = "") -> Rotated:
    """A new key, ``without`` one of the members. UserError as ``StateKeys`` says, and for a lock that is held (13)."""

    def act() -> Rotated:
        if without:
            state.keys.remove(without, change)
        return state.keys.rotate(change)

    return under_plan_lock(state.claims, command, lock_timeout, act)


def still_knows(name: str) -> Diagnostic:
    """What a removal alone leaves."""
    detail = (
        f"{name} gets the key from the state no more, and may have kept it: who has it opens whatever copy of the state they can reach."
    )
    return warning("KeyStillKnown", "The key is still the one they knew.", detail, "Make a new one:\n  nodusctl state keys rotate")


def unvouched(members: tuple[Member, ...]) -> tuple[Diagnostic, ...]:
    """Members whom nobody with the key has let in."""
    return tuple(
        warning(
            "MemberUnknown",
            "Somebody is among the members whom no member has let in.",
            f"{one.name} ({one.public_key}): the row was written past nodusctl, or for an older key.",
            f"Ask who that is. No key is made for them; to take them out:\n  nodusctl state keys remove {one.name}",
        )
        for one in members
        if one.is_vouched_for is False
    )
