"""``forget K/N``: the record goes, what it has at its provider stays, and is an orphan from then on. Shown with its price before.

The ledger is closed with what is known: the charge until now, marked estimated, and the hold goes back. The keys of a machine that goes on
running stay in the vault, so that ``adopt`` can take it up again.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from datetime import datetime, timedelta

from nodusctl.attempts.attempt import Attempt
from nodusctl.attempts.events import AttemptClosed, CapacityEnded, Event, Remarked
from nodusctl.attempts.intents import Intent, IntentState
from nodusctl.base.diagnostics import Diagnostic, error
from nodusctl.base.exits import UserError
from nodusctl.base.ids import Address
from nodusctl.base.money import Money
from nodusctl.engine.locking import under_plan_lock
from nodusctl.engine.naming import unknown_object
from nodusctl.engine.offer_rates import OfferRates
from nodusctl.executor.outside import Outside
from nodusctl.ledger.entries import Entry
from nodusctl.lifecycle.money import billing_of, charge_of, final_entries, hold_returned
from nodusctl.lifecycle.situation import HomeVolume
from nodusctl.lifecycle.volume_outcomes import disk_gone
from nodusctl.planner.classes import kind_of
from nodusctl.ports.journal import Change, Claim, Closing, Journal, StoredObject
from nodusctl.provider.machines import Disk, DiskState, MachineState
from nodusctl.resources.references import addresses_named
from nodusctl.state.records import RemoveRecord
from nodusctl.state.snapshot import Snapshot
from nodusctl.state.status import ObjectStatus, Phase

_KINDS = frozenset({"workspace", "volume"})
_UP = frozenset({Phase.STARTING, Phase.RUNNING, Phase.RECOVERING})
_OVER = frozenset({MachineState.TERMINATED, MachineState.GONE})


@dataclass(frozen=True, slots=True, kw_only=True)
class LeftBehind:
    """One thing that will have no record. ``ends_at`` is when a machine ends by itself; None where nothing ends it."""

    kind: str
    id: str
    provider: str
    cost_usd: Money | None
    day_usd: Money | None
    ends_at: datetime | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Forgetting:
    """What would be written and what would be left. ``charged_usd`` is posted as the last, estimated charge of an open Attempt."""

    address: Address
    uid: str
    source: str
    left: tuple[LeftBehind, ...]
    charged_usd: Money | None = None
    open_steps: tuple[str, ...] = ()


def plan_forgetting(address: Address, *, journal: Journal, rates: OfferRates, now: datetime, even_if_running: bool) -> Forgetting:
    """UserError for an unknown object, one that others still name, a running session without ``even_if_running``, and a held Volume."""
    snapshot = journal.snapshot()
    standing = snapshot.get(address)
    if standing is None:
        raise UserError(unknown_object(address, sorted(snapshot.standings)))
    stored = journal.load(standing.record.uid)
    assert stored is not None
    _refuse(address, stored, snapshot, even_if_running=even_if_running)
    attempt = _open_attempt(stored)
    return Forgetting(
        address=address,
        uid=stored.record.uid,
        source=stored.record.source,
        left=tuple(_left(stored, rates, now)),
        charged_usd=charge_of(attempt, billing_of(attempt).until(now)) if attempt is not None and attempt.machine is not None else None,
        open_steps=tuple(intent.step.value for intent in stored.intents),
    )


def forget(forgetting: Forgetting, *, outside: Outside, command: str, lock_timeout: timedelta) -> None:
    """Write it, under the plan lock and the object's claim. UserError (13) for a held lock, Conflict where somebody works on it."""

    def act() -> None:
        stored = outside.journal.load(forgetting.uid)
        if stored is None:
            raise UserError(error("Conflict", "It is gone already.", f"{forgetting.address} has no record any more."))
        claim = outside.claims.claim(_claim_key(stored, outside.journal.snapshot()), "forget", outside.call_limit)
        if claim is None:
            fix = "Wait until it has ended, then repeat:\n  nodusctl state show"
            raise UserError(error("Conflict", "Another command works on this object.", f"{forgetting.address} is claimed.", fix))
        try:
            outside.journal.commit(_changes(forgetting, stored, claim, outside))
        finally:
            outside.claims.drop(claim)

    under_plan_lock(outside.claims, command, lock_timeout, act)


def _changes(forgetting: Forgetting, stored: StoredObject, claim: Claim, outside: Outside) -> tuple[Change, ...]:
    now = outside.clock.now()
    events, entries = _last_of(stored, now)
    if stored.status.volume is not None and stored.status.volume.disk_id:
        disk = disk_gone(HomeVolume(record=stored.record, status=stored.status), now, is_forgotten=True)
        events, entries = (*events, *disk.events), (*entries, *disk.entries)
    left = ", ".join(f"{one.kind} {one.id} at {one.provider}" for one in forgetting.left) or "nothing"
    said = Remarked(time=now, object_uid=stored.record.uid, code="Forgotten", message=f"{outside.owner} forgot it; left outside: {left}")
    steps = (Closing(claim=claim, intent=_cancelled(intent, now)) for intent in stored.intents)
    gone = Closing(
        claim=claim,
        events=(said, *events),
        entries=entries,
        statuses=dict(_freed_home(stored, outside.journal.snapshot())),
        records=(RemoveRecord(stored.record.uid),),
    )
    return (*steps, gone)


def _freed_home(stored: StoredObject, snapshot: Snapshot) -> Iterator[tuple[str, ObjectStatus]]:
    """The home, where no machine of the forgotten object can write to it any more; else its holder stays, and it stays held."""
    outside = {one.uid for one in stored.attempts if one.is_open and one.machine is not None and not one.is_released}
    for standing in snapshot:
        disk = standing.status.volume
        holder = disk.holder if disk is not None else None
        if disk is not None and holder is not None and holder.address == stored.record.address and holder.attempt_uid not in outside:
            yield standing.record.uid, replace(standing.status, volume=replace(disk, holder=None))


def _last_of(stored: StoredObject, now: datetime) -> tuple[tuple[Event, ...], tuple[Entry, ...]]:
    """What closes the Attempts under way: an estimated end and its charge for a machine, else the hold back."""
    events: list[Event] = []
    entries: list[Entry] = []
    for attempt in stored.attempts:
        if not attempt.is_open:
            continue
        about = {"time": now, "object_uid": stored.record.uid, "attempt_uid": attempt.uid}
        if attempt.machine is not None and not attempt.is_released:
            ended_at = billing_of(attempt).until(now)
            events.append(CapacityEnded(**about, ended_at=ended_at, is_estimated=attempt.machine.ended_at is None))  # type: ignore[arg-type]
            entries += final_entries(attempt, stored.entries, ended_at, now)
        elif attempt.machine is None:
            entries += hold_returned(attempt, stored.entries, now, "forgotten")
        events.append(AttemptClosed(**about, phase="Cancelled", reason="Forgotten"))  # type: ignore[arg-type]
    return tuple(events), tuple(entries)


def _cancelled(intent: Intent, now: datetime) -> Intent:
    return replace(intent, state=IntentState.CANCELLED, outcome="forgotten", closed_at=now)


def _open_attempt(stored: StoredObject) -> Attempt | None:
    return next((one for one in stored.attempts if one.is_open and one.uid == stored.status.attempt_uid), None)


def _left(stored: StoredObject, rates: OfferRates, now: datetime) -> Iterator[LeftBehind]:
    for attempt in stored.attempts:
        machine, terms = attempt.machine, attempt.terms
        if attempt.is_open and not attempt.is_released and machine is not None and terms is not None and machine.state not in _OVER:
            price = rates.of_machine(terms.provider, machine, terms, now)
            yield LeftBehind(
                kind="machine",
                id=machine.id,
                provider=terms.provider,
                cost_usd=price.cost_usd,
                day_usd=price.day_usd,
                ends_at=attempt.edge_at,
            )
    disk = stored.status.volume
    if disk is not None and disk.disk_id:
        there = Disk(id=disk.disk_id, state=DiskState.READY, location=disk.location, size_bytes=disk.size_bytes)
        price = rates.of_disk(disk.provider, there, now)
        yield LeftBehind(kind="disk", id=disk.disk_id, provider=disk.provider, cost_usd=None, day_usd=price.day_usd)


def _refuse(address: Address, stored: StoredObject, snapshot: Snapshot, *, even_if_running: bool) -> None:
    if address.kind not in _KINDS:
        fix = f"Remove it:\n  nodusctl delete {address}"
        raise UserError(error("Unsupported", "It has nothing outside that could be left.", f"{address} is only a record.", fix))
    users = [one.record.address for one in snapshot if address.kind == "volume" and _names(one.record.spec, one.record.address, address)]
    if users:
        raise UserError(_in_use(address, users[0]))
    disk = stored.status.volume
    if disk is not None and disk.holder is not None:
        raise UserError(_in_use(address, disk.holder.address))
    if stored.status.phase in _UP and not even_if_running:
        raise UserError(_running(address, stored))


def _names(spec: object, user: Address, volume: Address) -> bool:
    return isinstance(spec, Mapping) and volume in addresses_named(kind_of(user.kind), spec)


def _claim_key(stored: StoredObject, snapshot: Snapshot) -> str:
    """As a step of it would claim: its home where it has one."""
    name = stored.record.spec.get("volume")
    home = snapshot.get(Address("volume", name)) if isinstance(name, str) else None
    return home.record.uid if home is not None else stored.record.uid


def _in_use(address: Address, user: Address) -> Diagnostic:
    detail = f"{user} still names or holds {address}."
    return error("VolumeBusy", "The Volume is in use.", detail, f"Stop and remove it, or forget it first:\n  nodusctl forget {user}")


def _running(address: Address, stored: StoredObject) -> Diagnostic:
    detail = f"{address} is {stored.status.phase}: its machine would run on, and be billed, with nothing to stop it before its own edge."
    fix = f"Stop it first:\n  nodusctl stop {address.name}\nOr, if that is what you want, add --even-if-running."
    return error("Conflict", "A session runs.", detail, fix, address=str(address))
