"""The key of a state and who has it: members, each with a copy wrapped for their own pair, and a copy for the day all else is lost.

What changes it is one transaction each. A state without members has a single key, which lies with a person and not in the state.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime
from typing import Protocol

KEY_TROUBLES = frozenset({"StateKeyMissing", "StateKeyOpen", "StateKeyWeak", "StateKeyWrong"})
"""What is said where a process can't open what its state has sealed."""
RECOVERY = "recovery"
"""The member that is nobody: whoever has its secret half on paper."""


@dataclass(frozen=True, slots=True, kw_only=True)
class OwnKey:
    """This person's pair: its public half, and where the secret one lies."""

    public_key: str
    place: str
    is_new: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Member:
    """One who can open the state. ``is_vouched_for`` is None where this person can't judge, for want of the key."""

    name: str
    public_key: str
    added_at: datetime
    added_by: str
    is_you: bool = False
    is_vouched_for: bool | None = None

    @property
    def is_recovery(self) -> bool:
        """True for the copy that belongs to nobody."""
        return self.name == RECOVERY


@dataclass(frozen=True, slots=True, kw_only=True)
class KeyChange:
    """Who changes the key or its members, and when."""

    by: str
    at: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class Rotated:
    """A new key: how many values are sealed under it, and for whom it was wrapped. ``recovery_secret`` is told once, where it is new."""

    values: int
    members: tuple[str, ...]
    recovery_secret: str = field(default="", repr=False)


class StateKeys(Protocol):
    """One state's key."""

    def own(self) -> OwnKey | None:
        """This person's pair; None where they have none yet."""
        ...

    def make_own(self) -> OwnKey:
        """The pair, made where there is none."""
        ...

    def require_member(self) -> None:
        """UserError where the state is a team's and this person isn't one of them: said before work begins, and not in the middle of it."""
        ...

    def members(self) -> tuple[Member, ...]:
        """Who can open the state, by name; empty where it has a single key."""
        ...

    def found(self, name: str, change: KeyChange) -> Rotated:
        """Make the state a team's: a new key, wrapped for this person under ``name`` and for recovery; all values sealed again under it.

        UserError where it is a team's already, where there is no state, or this person has no key to it.
        """
        ...

    def add(self, name: str, public_key: str, change: KeyChange) -> None:
        """Let somebody in. UserError for a name that is taken, a key that is none, a state without members, or somebody who has no key."""
        ...

    def remove(self, name: str, change: KeyChange) -> None:
        """Take somebody's copy away. What they have seen they have seen, and the key too, until it is rotated.

        UserError for an unknown name, and for the last member.
        """
        ...

    def rotate(self, change: KeyChange) -> Rotated:
        """A new key for everybody who is a member now, and all values sealed again under it. UserError where a member isn't vouched for."""
        ...

    def renew_recovery(self, change: KeyChange) -> str:
        """A new copy for recovery in place of the one there is; its secret half, told once."""
        ...
