"""start and stop: the owner's word on one Workspace, without a file.

A verb changes the live spec, not what the file wrote, so the next plan leaves the field alone unless the file writes it. stop on a
Workspace with a schedule or windows only asks once and leaves spec.state, so that later windows still open.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from nodusctl.base.diagnostics import error
from nodusctl.base.exits import ExitCode, UserError
from nodusctl.base.ids import Address
from nodusctl.base.timestamps import format_time
from nodusctl.engine.applying import ApplyResult, ApplySettings, resume
from nodusctl.engine.locking import under_plan_lock
from nodusctl.executor.outside import Outside
from nodusctl.executor.runs import Interrupts
from nodusctl.ports.journal import Consumption
from nodusctl.state.records import PutRecord, Record
from nodusctl.state.snapshot import Snapshot, Standing
from nodusctl.state.status import ObjectStatus

Change = Callable[[Record, ObjectStatus, str], tuple[Record, ObjectStatus]]
_STOP_REQUEST, _START_REQUEST = "nodus.dev/stop-requested-at", "nodus.dev/start-requested-at"


def start(address: Address, *, outside: Outside, command: str, settings: ApplySettings, interrupts: Interrupts) -> ApplyResult:
    """Start a Workspace inside its approval; UserError where there is no such Workspace or no approval to start under."""
    standing = workspace(outside, address)
    if standing.record.approval is None:
        fix = "Plan and apply it once, so that an offer and its price are approved:\n  nodusctl apply"
        raise UserError(error("Forbidden", "No offer is approved for this Workspace.", fix=fix, address=str(address)))
    return _said(address, _started, outside=outside, command=command, settings=settings, interrupts=interrupts)


def stop(
    address: Address,
    *,
    outside: Outside,
    command: str,
    settings: ApplySettings,
    interrupts: Interrupts,
    parks: bool = False,
) -> ApplyResult:
    """End today's session and save the home; ``parks`` also holds later windows."""
    workspace(outside, address)
    change = _parked if parks else _stopped
    return _said(address, change, outside=outside, command=command, settings=settings, interrupts=interrupts)


def workspace(outside: Outside, address: Address) -> Standing:
    """The Workspace at ``address``; UserError where there is none, or it is another kind."""
    if address.kind != "workspace":
        raise UserError(error("Invalid", "Only a Workspace can be started and stopped.", f"{address} is none."), exit_code=ExitCode.USAGE)
    standing = outside.journal.snapshot().get(address)
    if standing is None:
        raise UserError(error("NotFound", "No such Workspace.", f"{address} is not in the state.", "See what is:\n  nodusctl get ws"))
    return standing


def _said(
    address: Address, change: Change, *, outside: Outside, command: str, settings: ApplySettings, interrupts: Interrupts
) -> ApplyResult:
    under_plan_lock(outside.claims, command, settings.lock_timeout, lambda: _write(address, change, outside, command))
    return resume(outside, (address,), settings, interrupts)


def _write(address: Address, change: Change, outside: Outside, command: str) -> None:
    snapshot: Snapshot = outside.journal.snapshot()
    standing = snapshot.standings[address]
    now = format_time(outside.clock.now())
    record, status = change(standing.record, standing.status, now)
    uid = outside.ids.new_uid()
    outside.journal.consume(
        Consumption(
            operation_id=uid,
            command=command,
            by=outside.owner,
            at=outside.clock.now(),
            lineage=snapshot.lineage,
            serial=snapshot.serial,
            plan_hash="",
            plan_id=uid,
            action_addresses=(str(address),),
            records=(PutRecord(record),),
            statuses={record.uid: status},
            project=outside.project,
        )
    )


def _started(record: Record, status: ObjectStatus, now: str) -> tuple[Record, ObjectStatus]:
    record = replace(record, annotations={**record.annotations, _START_REQUEST: now})
    return _with_state(record, "Running"), replace(status, start_is_asked=True)


def _stopped(record: Record, status: ObjectStatus, now: str) -> tuple[Record, ObjectStatus]:
    has_windows = bool(record.spec.get("schedule")) or "nodus.dev/windows" in record.annotations
    if not has_windows:
        return _parked(record, status, now)
    return replace(record, annotations={**record.annotations, _STOP_REQUEST: now}), replace(status, start_is_asked=False)


def _parked(record: Record, status: ObjectStatus, now: str) -> tuple[Record, ObjectStatus]:
    return _with_state(record, "Stopped"), replace(status, start_is_asked=False)


def _with_state(record: Record, state: str) -> Record:
    if record.spec.get("state", "Running") == state:
        return record
    return replace(record, spec={**record.spec, "state": state}, generation=record.generation + 1)
