"""What becomes of a state's key and of everything under it when members come and go: pure, old one in, new one out.

A rotation seals every value again, and makes the fingerprints of Secrets anew with them: under another key equal bytes have another
fingerprint, and each Secret would look changed to the next plan.

The surprise: members are checked before a key is wrapped for them. Whoever can write to the database could put a public key of their own
among them, but not the proof that somebody with the state's key wanted it there.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

from nodusctl.attempts.events import Remarked
from nodusctl.base.timestamps import format_time
from nodusctl.ports.keys import RECOVERY, KeyChange
from nodusctl.state.status import ObjectStatus
from nodusctl.state.vault_names import secret_value
from nodusctl.store import key_faults
from nodusctl.store.sealing import Ring, Vault
from nodusctl.store.seals import KeyCopy, Seal, new_seal


@dataclass(frozen=True, slots=True, kw_only=True)
class Keyed:
    """All of a state that hangs on its key. ``statuses`` are those of Secrets, by uid; ``remarks`` are to be journalled."""

    exists: bool
    check: str
    copies: Mapping[str, KeyCopy]
    sealed: Mapping[str, bytes]
    statuses: Mapping[str, ObjectStatus]
    remarks: tuple[Remarked, ...] = ()

    @property
    def ring(self) -> Ring:
        """How it recognises its key."""
        return Ring(self.check, lambda: tuple(self.copies.values()))


def founded(before: Keyed, vault: Vault, people: Mapping[str, str], change: KeyChange) -> Keyed:
    """A team's state: a new key for ``people`` (public keys by name)."""
    if not before.exists:
        raise key_faults.no_state()
    if before.copies:
        raise key_faults.is_team()
    # One whose key was never needed has nothing to be opened with.
    former = vault.seal(before.ring) if before.check else None
    names = " and ".join(sorted(people))
    return _remarked(_under_new_key(before, former, people, change), change, "TeamFounded", f"the state's key is held for {names} now.")


def added(before: Keyed, vault: Vault, name: str, public: str, change: KeyChange) -> Keyed:
    """One member more."""
    seal = _opened(before, vault)
    taken = {copy.member: copy.public_key for copy in before.copies.values()}
    if name in taken or public in taken.values():
        raise key_faults.is_member(name, public, taken)
    copies = {**before.copies, name: _copy(seal, name, public, change)}
    return _remarked(replace(before, copies=copies), change, "MemberAdded", f"{name} was let in with {public}.")


def removed(before: Keyed, vault: Vault, name: str, change: KeyChange) -> Keyed:
    """One member less. Nothing is sealed anew."""
    _opened(before, vault)
    names = [member for member in before.copies if member != RECOVERY]
    if name not in names:
        raise key_faults.unknown_member(name, names)
    if names == [name]:
        raise key_faults.last_member(name)
    copies = {member: copy for member, copy in before.copies.items() if member != name}
    return _remarked(replace(before, copies=copies), change, "MemberRemoved", f"{name} has no copy of the key any more.")


def rotated(before: Keyed, vault: Vault, change: KeyChange) -> Keyed:
    """A new key for all who are members."""
    former = _opened(before, vault)
    unknown = [copy.member for copy in before.copies.values() if not former.vouches_for(copy)]
    if unknown:
        raise key_faults.not_vouched_for(unknown)
    people = {copy.member: copy.public_key for copy in before.copies.values()}
    after = _under_new_key(before, former, people, change)
    words = f"a new key, held for {', '.join(sorted(people))}; {len(after.sealed)} values were sealed again."
    return _remarked(after, change, "KeyRotated", words)


def recovery_renewed(before: Keyed, vault: Vault, public: str, change: KeyChange) -> Keyed:
    """Another recovery copy."""
    seal = _opened(before, vault)
    copies = {**before.copies, RECOVERY: _copy(seal, RECOVERY, public, change)}
    return _remarked(replace(before, copies=copies), change, "RecoveryRenewed", "the recovery copy is another one now.")


def _opened(state: Keyed, vault: Vault) -> Seal:
    if not state.copies:
        raise key_faults.no_team()
    return vault.seal(state.ring)


def _under_new_key(before: Keyed, former: Seal | None, people: Mapping[str, str], change: KeyChange) -> Keyed:
    """Everything under a key nobody had before. Members keep the day they came."""
    seal = new_seal("a copy of this state's")
    copies = {name: _copy(seal, name, public, change) for name, public in people.items()}
    known = before.copies
    return replace(
        before,
        check=seal.check,
        copies={n: replace(c, added_at=known[n].added_at, added_by=known[n].added_by) if n in known else c for n, c in copies.items()},
        sealed={name: seal.close(name, former.open(name, value)) for name, value in before.sealed.items()} if former else {},
        statuses={uid: _fingerprinted(before, uid, status, former, seal) for uid, status in before.statuses.items()},
    )


def _fingerprinted(before: Keyed, uid: str, status: ObjectStatus, former: Seal | None, seal: Seal) -> ObjectStatus:
    """The status with fingerprints under the new key. A value that isn't stored any more has none: the next apply writes it anew."""
    known = status.secret
    if known is None:
        return status
    hmacs = {}
    for key in known.hmacs:
        name = secret_value(uid, known.version, key)
        has_value = former is not None and name in before.sealed
        hmacs[key] = seal.fingerprint(former.open(name, before.sealed[name])) if former is not None and has_value else ""
    return replace(status, secret=replace(known, hmacs=hmacs))


def _copy(seal: Seal, name: str, public: str, change: KeyChange) -> KeyCopy:
    return seal.copy_for(name, public, added_at=format_time(change.at), added_by=change.by)


def _remarked(state: Keyed, change: KeyChange, code: str, message: str) -> Keyed:
    remark = Remarked(time=change.at, object_uid="", code=code, message=f"{change.by}: {message}")
    return replace(state, remarks=(*state.remarks, remark))
