"""The key of a state and its members, wherever they are stored: each change is one transaction, and a killed one was never there."""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

from nodusctl.base.timestamps import parse_time
from nodusctl.ports.keys import RECOVERY, KeyChange, Member, OwnKey, Rotated
from nodusctl.store import key_faults, keyed, member_keys
from nodusctl.store.keyed import Keyed
from nodusctl.store.sealing import Ring, Vault
from nodusctl.store.seals import KeyCopy, Seal


class KeyedStore(Protocol):
    """Where a state's key and what hangs on it are."""

    def ring(self) -> Ring:
        """How the state recognises its key, and its copies, as of one moment."""
        ...

    def change(self, step: Callable[[Keyed], Keyed]) -> Keyed:
        """Replace everything by what ``step`` makes of it, in one transaction; what it made. ``step`` may be run again."""
        ...


class KeyKeeper:
    """Implements StateKeys over a KeyedStore; ``vault`` is the one the rest of the state is opened with."""

    def __init__(self, store: KeyedStore, vault: Vault) -> None:
        self._store, self._vault = store, vault

    def own(self) -> OwnKey | None:
        for text, source in self._vault.material.found():
            if member_keys.is_secret(text):
                return OwnKey(public_key=_public_of(text, source), place=source)
        return None

    def make_own(self) -> OwnKey:
        known = self.own()
        if known is not None:
            return known
        place = self._vault.material.member_place
        if place is None:
            raise key_faults.no_place()
        secret = place.keep(member_keys.new_secret())
        return OwnKey(public_key=_public_of(secret, place.shown), place=place.shown, is_new=True)

    def require_member(self) -> None:
        ring = self._store.ring()
        if ring.copies():
            self._vault.seal(ring)

    def members(self) -> tuple[Member, ...]:
        ring, own = self._store.ring(), self.own()
        mine = own.public_key if own is not None else ""
        # Whoever isn't a member can look at the list, but not vouch for anybody.
        is_member = any(copy.public_key == mine for copy in ring.copies())
        seal = self._vault.seal(ring) if is_member else None
        return tuple(_member(copy, mine, seal) for copy in ring.copies())

    def found(self, name: str, change: KeyChange) -> Rotated:
        key_faults.require_name(name)
        own, recovery = self.make_own(), member_keys.new_secret()
        people = {name: own.public_key, RECOVERY: member_keys.public_of(recovery)}
        return _rotated(self._store.change(lambda before: keyed.founded(before, self._vault, people, change)), recovery)

    def add(self, name: str, public_key: str, change: KeyChange) -> None:
        key_faults.require_name(name)
        try:
            public = member_keys.checked_public(public_key)
        except ValueError as problem:
            raise key_faults.bad_public_key(str(problem)) from None
        self._store.change(lambda before: keyed.added(before, self._vault, name, public, change))

    def remove(self, name: str, change: KeyChange) -> None:
        self._store.change(lambda before: keyed.removed(before, self._vault, name, change))

    def rotate(self, change: KeyChange) -> Rotated:
        return _rotated(self._store.change(lambda before: keyed.rotated(before, self._vault, change)))

    def renew_recovery(self, change: KeyChange) -> str:
        secret = member_keys.new_secret()
        public = member_keys.public_of(secret)
        self._store.change(lambda before: keyed.recovery_renewed(before, self._vault, public, change))
        return secret


def _rotated(after: Keyed, recovery_secret: str = "") -> Rotated:
    return Rotated(values=len(after.sealed), members=tuple(sorted(after.copies)), recovery_secret=recovery_secret)


def _member(copy: KeyCopy, mine: str, seal: Seal | None) -> Member:
    return Member(
        name=copy.member,
        public_key=copy.public_key,
        added_at=parse_time(copy.added_at),
        added_by=copy.added_by,
        is_you=copy.public_key == mine,
        is_vouched_for=seal.vouches_for(copy) if seal is not None else None,
    )


def _public_of(secret: str, source: str) -> str:
    try:
        return member_keys.public_of(secret)
    except ValueError as problem:
        raise key_faults.bad_member_key(source, str(problem)) from None
