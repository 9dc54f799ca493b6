"""``adopt ID``: an orphan taken into the record it belongs to. Planned and shown first, journalled, money from where it was last charged.

A disk becomes its Volume's disk where that has none. A machine becomes the session of its Workspace, as a new Attempt that begins where the
last one's receipt ends; the edge is armed anew once it answers. What can't be sound is refused with the reason: without the login key that
this state's vault keeps, nobody could move a machine's edge or push a secret, so another state's machine is never adopted.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime

from nodusctl.attempts.attempt import Attempt
from nodusctl.base.diagnostics import error
from nodusctl.base.exits import UserError
from nodusctl.base.ids import Address
from nodusctl.engine.deleting_orphans import chosen
from nodusctl.engine.orphans import Group, Orphan, OrphanReport, address_of
from nodusctl.ports.journal import Journal
from nodusctl.provider.machines import DiskState, MachineState, RevisionState
from nodusctl.state.snapshot import Snapshot, Standing
from nodusctl.state.status import Phase, SavedRevision, VolumeStanding

_IDLE_PHASES = frozenset({Phase.PENDING, Phase.STOPPED, Phase.FAILED})


@dataclass(frozen=True, slots=True, kw_only=True)
class Adoption:
    """What would be taken up by what. ``billed_from`` is when its charge to this object begins; ``former`` the Attempt it was made by."""

    orphan: Orphan
    address: Address
    uid: str
    notes: tuple[str, ...] = ()
    billed_from: datetime | None = None
    former: Attempt | None = None


def plan_adoption(thing: str, report: OrphanReport, *, state_id: str, wanted: Address | None, journal: Journal) -> Adoption:
    """UserError with the reason where it is another state's, still being made, fits no record, or could not be kept soundly."""
    orphan = chosen(thing, report, state_id)
    if orphan.group is Group.BEING_MADE and orphan.why.startswith("a step"):
        raise UserError(error("IntentUnsettled", "It is still being made.", f"{thing}: {orphan.why}.", "Let it settle:\n  nodusctl tick"))
    standing = _target(orphan, wanted, journal.snapshot())
    if orphan.disk is not None:
        return plan_disk(orphan, standing)
    return plan_machine(orphan, standing, journal)


def _target(orphan: Orphan, wanted: Address | None, snapshot: Snapshot) -> Standing:
    kind = "volume" if orphan.disk is not None else "workspace"
    named = address_of(orphan)
    standing = snapshot.get(wanted) if wanted is not None else snapshot.by_uid(orphan.owner.object_uid)
    if standing is None and wanted is None and named is not None:
        standing = snapshot.get(named)
    if standing is None:
        detail = f"Its tags name {named or 'nothing'}; no record of that uid or name is in the state."
        write = f"Write {wanted or named or kind + '/NAME'} into a file (a Workspace with state: Stopped) and apply it, then adopt again;"
        raise UserError(
            error(
                "NotFound", "No record fits it.", detail, f"{write} or name another record:\n  nodusctl adopt {orphan.id} --as {kind}/NAME"
            )
        )
    if standing.record.address.kind != kind:
        raise UserError(error("Invalid", "It can't become that.", f"A {orphan.kind} is not a {standing.record.address.kind}."))
    return standing


def plan_disk(orphan: Orphan, standing: Standing) -> Adoption:
    """A disk for a Volume that has none; UserError with the reason where that can't be."""
    disk, address, known = orphan.disk, standing.record.address, standing.status.volume
    assert disk is not None
    if known is not None and known.disk_id:
        raise refusal(
            "VolumeBusy", address, f"it has the disk {known.disk_id} already", "Remove that first, or name another Volume (--as)."
        )
    if standing.has_open_intent:
        raise refusal("IntentUnsettled", address, "one of its own steps isn't settled", "Let it settle:\n  nodusctl tick")
    if disk.attached_to:
        fix = f"End that machine first:\n  nodusctl orphans --delete {disk.attached_to}"
        raise refusal("VolumeBusy", address, f"the disk is attached to machine {disk.attached_to}", fix)
    if disk.state is not DiskState.READY:
        raise refusal("Unsupported", address, f"the disk is {disk.state}", f"See it at its provider:\n  nodusctl doctor {orphan.provider}")
    saved = len(revisions_of(orphan))
    notes = (f"its content becomes the home's; {saved} revision{'' if saved == 1 else 's'} come with it",)
    return Adoption(orphan=orphan, address=address, uid=standing.record.uid, notes=notes)


def revisions_of(orphan: Orphan) -> tuple[SavedRevision, ...]:
    """The whole revisions a disk brings along, oldest first."""
    revisions = orphan.disk.revisions if orphan.disk is not None else ()
    kept = [one for one in revisions if one.state is RevisionState.READY and one.committed_at is not None]
    return tuple(
        SavedRevision(number=one.number, id=one.id, saved_at=one.committed_at, attempt_uid="", size_bytes=one.size_bytes, digest=one.digest)
        for one in sorted(kept, key=lambda one: one.number)
        if one.committed_at is not None
    )


def plan_machine(orphan: Orphan, standing: Standing, journal: Journal) -> Adoption:
    """A machine for a Workspace at rest; UserError with every reason why it could not be kept."""
    address, machine = standing.record.address, orphan.machine
    assert machine is not None
    former = _former(orphan, journal)
    reasons = (*_unkeepable(orphan, former, journal), *_busy(standing), *_wrong_home(orphan, standing, journal.snapshot()))
    if reasons:
        fix = f"End it instead; a disk it has can be adopted after that:\n  nodusctl orphans --delete {orphan.id}"
        raise refusal("Unsupported", address, "; ".join(reasons), fix)
    assert former is not None
    billed_from = former.timings.finished_at or machine.billing_started_at
    shown = f"it becomes the session of {address}; its cost until {billed_from:%Y-%m-%dT%H:%M:%SZ} stands on the receipt of {former.name}"
    is_wanted = standing.record.spec.get("state", "Running") == "Running"
    turns = () if is_wanted else ("spec.state becomes Running, as start would make it; the file is left as it is",)
    return Adoption(orphan=orphan, address=address, uid=standing.record.uid, notes=(shown, *turns), billed_from=billed_from, former=former)


def _former(orphan: Orphan, journal: Journal) -> Attempt | None:
    if not orphan.owner.attempt_uid:
        return None
    with journal.books() as books:
        found = books.attempt(orphan.owner.attempt_uid)
    return found if isinstance(found, Attempt) else None


def _unkeepable(orphan: Orphan, former: Attempt | None, journal: Journal) -> Iterator[str]:
    """Why a machine could not be steered from here."""
    if orphan.machine is not None and orphan.machine.state is not MachineState.RUNNING:
        yield f"it is {orphan.machine.state}"
    if orphan.group is Group.FOREIGN:
        yield "its login key lies in the vault of the state that made it, so nothing here could move its edge"
    elif former is None or former.terms is None:
        yield "this state never made an Attempt for it"
    elif former.is_open:
        yield f"its Attempt {former.name} is open; the next tick releases what is too many"
    elif journal.secret(f"service-key/{former.uid}") is None or not former.host_key:
        yield f"the keys of its Attempt {former.name} are gone, as after every stop; nothing could log in"


def _busy(standing: Standing) -> Iterator[str]:
    if standing.status.attempt_uid or standing.has_open_intent or standing.status.phase not in _IDLE_PHASES:
        yield f"{standing.record.address} has a session of its own ({standing.status.phase})"


def _wrong_home(orphan: Orphan, standing: Standing, snapshot: Snapshot) -> Iterator[str]:
    """The disks it has are the home of the Workspace it goes to, and nobody else may write to that."""
    name, disks = standing.record.spec.get("volume"), orphan.machine.disk_ids if orphan.machine is not None else ()
    home = snapshot.get(Address("volume", name)) if isinstance(name, str) else None
    own = home.status.volume if home is not None and home.status.volume is not None else VolumeStanding()
    wanted = (own.disk_id,) if home is not None else ()
    if tuple(disks) != wanted:
        yield f"it has the disks {', '.join(disks) or 'none'}, and the home of {standing.record.address} is {own.disk_id or 'none'}"
    if own.holder is not None and own.holder.machine_id != orphan.id:
        yield f"{own.holder.address} holds the home"


def refusal(code: str, address: Address, why: str, fix: str) -> UserError:
    """Why an orphan can't become part of this object."""
    return UserError(error(code, "It can't be adopted.", f"{address}: {why}.", fix, address=str(address)))
