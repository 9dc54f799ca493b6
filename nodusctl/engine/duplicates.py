"""A second living machine of one Attempt (rule R3): keep the ready one, else the older; release the other, charge both, and say it.

It comes of a create that was sent twice where creates aren't idempotent, or of one that was believed absent. The spare machine gets an
Attempt of its own, so that its cost has a receipt and its release is asked for again until it is confirmed, whoever makes the next pass.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from datetime import datetime, timedelta

from nodusctl.attempts.attempt import Attempt, folded
from nodusctl.attempts.events import (
    AttemptClosed,
    AttemptQueued,
    CapacityEnded,
    Event,
    LaunchAccepted,
    ReleaseAsked,
    Remarked,
    StopAsked,
    TermsFrozen,
)
from nodusctl.base.canonical import digest
from nodusctl.base.exits import UserError
from nodusctl.base.ids import Address
from nodusctl.engine.watching import accounts_of, stranger
from nodusctl.executor.outside import Outside
from nodusctl.lifecycle.edges import Bound
from nodusctl.lifecycle.money import charge_of, final_entries, hold_for_launch
from nodusctl.ports.journal import Claim, Closing, StoredObject
from nodusctl.provider.machines import Machine, MachineState, Release, ReleaseState
from nodusctl.provider.replies import Done, Refused
from nodusctl.provider.requests import ReleaseRequest
from nodusctl.provider.tokens import client_token, ownership_of

EVERY = timedelta(minutes=10)
REASON = "Duplicate"
_LIVING = frozenset({MachineState.PENDING, MachineState.RUNNING, MachineState.STOPPED})


@dataclass(frozen=True, slots=True, kw_only=True)
class Spare:
    """A machine that was one too many, and what became of it in this pass."""

    address: Address
    machine_id: str
    message: str


def is_time(last_pass_at: datetime | None, now: datetime) -> bool:
    """True for the first pass of each ten minutes: a list of everything costs more than a look."""
    return last_pass_at is None or now.timestamp() // EVERY.total_seconds() > last_pass_at.timestamp() // EVERY.total_seconds()


def release_spares(outside: Outside, objects: Mapping[str, StoredObject], *, lists: bool) -> tuple[Spare, ...]:
    """Find them (where ``lists``), and carry on the release of those found before. Never raises for what a provider does."""
    spares: list[Spare] = []
    owners = {uid for uid, stored in objects.items() if has_spare(stored)}
    if lists:
        for stored, machine in _doubled(outside, objects):
            spares += _opened(outside, stored, machine)
            owners.add(stored.record.uid)
    for stored in outside.journal.load_many(sorted(owners)).values() if owners else ():
        for attempt in _spares_of(stored):
            spares += _carried_on(outside, stored, attempt)
    return tuple(spares)


def has_spare(stored: StoredObject) -> bool:
    """True while a machine that was one too many isn't confirmed gone."""
    return any(_spares_of(stored))


def _spares_of(stored: StoredObject) -> Iterator[Attempt]:
    return (one for one in stored.attempts if one.is_open and one.stop_reason == REASON and not one.is_released)


def _doubled(outside: Outside, objects: Mapping[str, StoredObject]) -> Iterator[tuple[StoredObject, Machine]]:
    """Machines tagged with the current Attempt of an object that aren't the one it has."""
    current = {stored.status.attempt_uid: stored for stored in objects.values() if stored.status.attempt_uid}
    known = {one.machine.id for stored in objects.values() for one in stored.attempts if one.is_open and one.machine is not None}
    lineage = outside.journal.lineage()
    for machine in _listed(outside, objects.values()):
        owner = ownership_of(machine.tags)
        stored = current.get(owner.attempt_uid) if owner is not None and owner.state_id == lineage else None
        if stored is not None and machine.id not in known and machine.state in _LIVING and _current(stored) is not None:
            yield stored, machine


def _listed(outside: Outside, objects: Iterable[StoredObject]) -> Iterator[Machine]:
    stored = tuple(objects)
    accounts = accounts_of(stored)
    names = {one.terms.provider for each in stored for one in each.attempts if one.is_open and one.terms is not None}
    for name in sorted(names):
        try:
            loaded = outside.providers.get(name)
        except UserError:
            continue
        reply = stranger(loaded, accounts) or loaded.calls.list()
        yield from reply.value.machines if isinstance(reply, Done) else ()


def _current(stored: StoredObject) -> Attempt | None:
    found = next((one for one in stored.attempts if one.uid == stored.status.attempt_uid), None)
    is_whole = found is not None and found.machine is not None and found.terms is not None and not stored.intents
    return found if is_whole else None


def _opened(outside: Outside, stored: StoredObject, extra: Machine) -> Iterator[Spare]:
    """Write the spare machine's Attempt down, before anything is asked of its provider."""
    attempt = _current(stored)
    assert attempt is not None and attempt.machine is not None and attempt.terms is not None
    keeps_known = _has_begun(attempt) or _made(attempt.machine) <= _made(extra)
    kept, spare = (attempt.machine, extra) if keeps_known else (extra, attempt.machine)
    claim = _claim(outside, stored)
    if claim is None:
        return
    now, record, epoch = outside.clock.now(), stored.record, stored.status.epoch + 1
    why = f"machine {spare.id} is a second one of {attempt.name}; {kept.id} is kept, {'ready' if attempt.timings.ready_at else 'the older'}"
    said = Remarked(time=now, object_uid=record.uid, attempt_uid=attempt.uid, code=REASON, message=why)
    swap = () if keeps_known else (LaunchAccepted(time=now, object_uid=record.uid, attempt_uid=attempt.uid, machine=kept),)
    uid = outside.ids.new_uid()
    events = (said, *swap, *_spare_events(stored, attempt, said, (uid, epoch), spare))
    made = next(one for one in folded((), events) if one.uid == uid)
    began = made.timings.billing_started_at or now
    hold = charge_of(made, max(now, began) + attempt.terms.stop_bound)
    entries = hold_for_launch(made, made.try_number, hold, now)
    statuses = {record.uid: replace(stored.status, epoch=epoch)}
    try:
        outside.journal.close(Closing(claim=claim, events=events, entries=entries, statuses=statuses))
    finally:
        outside.claims.drop(claim)
    yield Spare(address=record.address, machine_id=spare.id, message=why)


def _spare_events(stored: StoredObject, attempt: Attempt, said: Remarked, numbers: tuple[str, int], spare: Machine) -> tuple[Event, ...]:
    assert attempt.terms is not None
    (uid, epoch), owner, now = numbers, stored.record.uid, said.time
    queued = AttemptQueued(
        time=now,
        object_uid=owner,
        attempt_uid=uid,
        owner=stored.record.address,
        name=f"{stored.record.address.name}-{epoch}",
        slot=attempt.slot,
        epoch=epoch,
    )
    frozen = TermsFrozen(
        time=now,
        object_uid=owner,
        attempt_uid=uid,
        terms=attempt.terms,
        token=spare.token,
        try_number=1,
        bootstrap_host_key="",
        edge_at=now,
        edge_bound=str(Bound.LEASE),
    )
    made = LaunchAccepted(time=now, object_uid=owner, attempt_uid=uid, machine=spare)
    ending = StopAsked(time=now, object_uid=owner, attempt_uid=uid, reason=REASON, detail=said.message)
    return (queued, frozen, made, ending)


def _carried_on(outside: Outside, stored: StoredObject, attempt: Attempt) -> Iterator[Spare]:
    assert attempt.machine is not None and attempt.terms is not None
    try:
        loaded = outside.providers.get(attempt.terms.provider)
    except UserError:
        return
    if stranger(loaded, accounts_of((stored,))) is not None:
        return
    token = client_token(
        outside.journal.lineage(), stored.record.uid, attempt.uid, 1, digest({"step": "release", "id": attempt.machine.id})
    )
    reply = loaded.calls.release(ReleaseRequest(token=token, machine_id=attempt.machine.id))
    claim = _claim(outside, stored)
    if claim is None:
        return
    now = outside.clock.now()
    try:
        closing = _closing(stored, attempt, reply, claim, now)
        if closing is not None:
            outside.journal.close(closing)
    finally:
        outside.claims.drop(claim)
    if closing is None and not isinstance(reply, Done):
        message = f"the spare machine {attempt.machine.id} could not be released yet"
        yield Spare(address=stored.record.address, machine_id=attempt.machine.id, message=message)


def _closing(stored: StoredObject, attempt: Attempt, reply: object, claim: Claim, now: datetime) -> Closing | None:
    """What the provider's answer writes: the end with its charge, that it is on its way, or nothing."""
    assert attempt.machine is not None
    uid, owner = attempt.uid, stored.record.uid
    match reply:
        case Done(value=Release(state=ReleaseState.GONE, ended_at=ended_at)):
            pass
        case Refused(code="NotFound"):
            ended_at = None
        case Done() if not attempt.release_asked:
            asked = ReleaseAsked(time=now, object_uid=owner, attempt_uid=uid, machine_id=attempt.machine.id)
            return Closing(claim=claim, events=(asked,))
        case _:
            return None
    end = ended_at or attempt.machine.ended_at or now
    ended = CapacityEnded(time=now, object_uid=owner, attempt_uid=uid, ended_at=end, is_estimated=ended_at is None)
    closed = AttemptClosed(time=now, object_uid=owner, attempt_uid=uid, phase="Cancelled", reason=REASON)
    return Closing(claim=claim, events=(ended, closed), entries=final_entries(attempt, stored.entries, end, now))


def _has_begun(attempt: Attempt) -> bool:
    """True where work on the known machine has gone so far that it is the one to keep, ready or nearly so."""
    return attempt.timings.registered_at is not None or attempt.timings.ready_at is not None or bool(attempt.attached_disks)


def _made(machine: Machine) -> float:
    return machine.created_at.timestamp() if machine.created_at is not None else 0.0


def _claim(outside: Outside, stored: StoredObject) -> Claim | None:
    """As a step of the object would claim: on its home where it has one."""
    name = stored.record.spec.get("volume")
    home = outside.journal.snapshot().get(Address("volume", name)) if isinstance(name, str) else None
    return outside.claims.claim(home.record.uid if home is not None else stored.record.uid, "release-spare", outside.call_limit)
