"""Carrying an adoption out: what is written when an orphan becomes part of an object. One transaction, under the plan lock and a claim.

A machine's new Attempt is told in the same events as one that was launched, so that receipts, recovery and stop know no difference. The
surprise is where its billing begins: at the end of the receipt of the Attempt it was made by.
"""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime, timedelta

from nodusctl.attempts.attempt import Attempt, folded
from nodusctl.attempts.events import AttemptQueued, DiskMade, Event, KeysHandedOver, LaunchAccepted, PhaseChanged, Remarked, TermsFrozen
from nodusctl.base.diagnostics import error
from nodusctl.base.exits import UserError
from nodusctl.base.ids import Address
from nodusctl.base.money import Money
from nodusctl.engine.adopting import Adoption, plan_disk, plan_machine, refusal, revisions_of
from nodusctl.engine.journalling import Journaller
from nodusctl.engine.locking import under_plan_lock
from nodusctl.engine.orphans import Group
from nodusctl.executor.outside import Outside
from nodusctl.lifecycle.edges import Bound
from nodusctl.lifecycle.money import hold_for_launch
from nodusctl.ports.journal import Closing
from nodusctl.pricing.caps import BillingTerms
from nodusctl.state.records import PutRecord, Record
from nodusctl.state.snapshot import Snapshot, Standing
from nodusctl.state.status import Holder, ObjectStatus, Phase, SessionStanding, VolumeStanding
from nodusctl.state.terms import Terms


def adopt(adoption: Adoption, *, outside: Outside, command: str, lock_timeout: timedelta) -> None:
    """Write it down; for a machine its Workspace is then Starting, and the lifecycle goes on from there."""

    def act() -> None:
        snapshot = outside.journal.snapshot()
        standing = snapshot.by_uid(adoption.uid)
        if standing is None:
            raise UserError(error("Conflict", "Its record is gone.", f"{adoption.address} was removed meanwhile."))
        if adoption.orphan.disk is not None:
            plan_disk(adoption.orphan, standing)
            _write_disk(adoption, snapshot, standing, outside, Journaller(outside, command, lock_timeout))
        else:
            _write_machine(plan_machine(adoption.orphan, standing, outside.journal), snapshot, standing, outside)

    under_plan_lock(outside.claims, command, lock_timeout, act)


def _write_disk(adoption: Adoption, snapshot: Snapshot, standing: Standing, outside: Outside, journaller: Journaller) -> None:
    disk, now, orphan = adoption.orphan.disk, outside.clock.now(), adoption.orphan
    assert disk is not None
    volume = VolumeStanding(
        provider=orphan.provider,
        location=disk.location,
        zone=disk.zone,
        disk_id=disk.id,
        size_bytes=disk.size_bytes,
        revisions=revisions_of(orphan),
        is_newer_than_revision=True,
        account=outside.providers.get(orphan.provider).description.account,
    )
    made = DiskMade(time=now, object_uid=adoption.uid, volume=adoption.address, disk_id=disk.id, location=disk.location)
    status = replace(standing.status, phase=Phase.READY, volume=volume)
    journaller.write(snapshot, events=(made, _said(adoption, outside, now)), statuses={adoption.uid: status}, addresses=(adoption.address,))


def _said(adoption: Adoption, outside: Outside, now: datetime, attempt_uid: str = "") -> Remarked:
    orphan = adoption.orphan
    whose = f" of state {orphan.owner.state_id}" if orphan.group is Group.FOREIGN else ""
    message = f"{outside.owner} adopted {orphan.kind} {orphan.id} at {orphan.provider}{whose}"
    return Remarked(time=now, object_uid=adoption.uid, attempt_uid=attempt_uid, code="Adopted", message=message)


def _write_machine(adoption: Adoption, snapshot: Snapshot, standing: Standing, outside: Outside) -> None:
    """One transaction under the object's claim: a new Attempt, its hold, the keys under their new names, and who holds the home."""
    former, machine = adoption.former, adoption.orphan.machine
    assert former is not None and former.terms is not None and machine is not None
    home = snapshot.get(Address("volume", str(standing.record.spec.get("volume", ""))))
    claim = outside.claims.claim(home.record.uid if home is not None else adoption.uid, "adopt", outside.call_limit)
    if claim is None:
        raise refusal("Conflict", adoption.address, "another command works on it", "Wait until it has ended, then repeat.")
    uid, now, epoch = outside.ids.new_uid(), outside.clock.now(), standing.status.epoch + 1
    events = _machine_events(adoption, former, former.terms, standing, outside, uid=uid, epoch=epoch, now=now)
    attempt = folded((), events)[0]
    statuses = {adoption.uid: _started(standing, former, uid, epoch, now)}
    if home is not None and home.status.volume is not None:
        holder = Holder(address=adoption.address, attempt_uid=uid, epoch=epoch, machine_id=machine.id)
        statuses[home.record.uid] = replace(home.status, volume=replace(home.status.volume, holder=holder, is_newer_than_revision=True))
    sealed = {f"service-key/{uid}": outside.journal.secret(f"service-key/{former.uid}") or ""}
    sealed |= {f"host-key/{adoption.uid}": outside.journal.secret(f"host-key/{former.owner_uid}") or ""}
    try:
        outside.journal.close(
            Closing(
                claim=claim,
                events=events,
                entries=hold_for_launch(attempt, 1, _hold(attempt, former.terms), now),
                statuses=statuses,
                records=(PutRecord(_running(standing.record)),),
                sealed=sealed,
                forgotten=(f"service-key/{former.uid}",),
            )
        )
    finally:
        outside.claims.drop(claim)


def _machine_events(
    adoption: Adoption, former: Attempt, terms: Terms, standing: Standing, outside: Outside, *, uid: str, epoch: int, now: datetime
) -> tuple[Event, ...]:
    machine, record = adoption.orphan.machine, standing.record
    assert machine is not None
    edge_at = machine.armed_until or former.edge_at or now
    queued = AttemptQueued(
        time=now,
        object_uid=record.uid,
        attempt_uid=uid,
        owner=record.address,
        name=f"{record.address.name}-{epoch}",
        slot="0",
        epoch=epoch,
    )
    frozen = TermsFrozen(
        time=now,
        object_uid=record.uid,
        attempt_uid=uid,
        terms=terms,
        token=machine.token,
        try_number=1,
        bootstrap_host_key=former.bootstrap_host_key,
        edge_at=edge_at,
        edge_bound=former.edge_bound or str(Bound.LEASE),
        idle_seconds=former.idle_seconds,
    )
    taken = LaunchAccepted(time=now, object_uid=record.uid, attempt_uid=uid, machine=machine, billed_from=adoption.billed_from or now)
    keys = KeysHandedOver(time=now, object_uid=record.uid, attempt_uid=uid, host_key=former.host_key)
    moved = PhaseChanged(
        time=now,
        object_uid=record.uid,
        attempt_uid=uid,
        before=str(standing.status.phase),
        after=str(Phase.STARTING),
        reason="Adopted",
    )
    return (queued, frozen, taken, keys, _said(adoption, outside, now, uid), moved)


def _started(standing: Standing, former: Attempt, uid: str, epoch: int, now: datetime) -> ObjectStatus:
    return replace(
        standing.status,
        phase=Phase.STARTING,
        reason="Adopted",
        message="",
        epoch=epoch,
        attempt_uid=uid,
        stop_reason="",
        start_is_asked=False,
        observed_generation=_running(standing.record).generation,
        host_key=former.host_key,
        session=SessionStanding(began_at=now),
    )


def _running(record: Record) -> Record:
    """To adopt a machine is to want it: as ``start`` would, it leaves the file alone and makes the live spec say so."""
    if record.spec.get("state", "Running") == "Running":
        return record
    return replace(record, spec={**record.spec, "state": "Running"}, generation=record.generation + 1)


def _hold(attempt: Attempt, terms: Terms) -> Money:
    began, edge_at = attempt.timings.billing_started_at, attempt.edge_at
    assert began is not None and edge_at is not None
    return BillingTerms.frozen(terms).charge(edge_at - began + terms.stop_bound)
