"""start and stop: the owner's word on one Workspace, without a file.

A verb changes the live spec, not what the file wrote, so the next plan leaves the field alone unless the file writes it. stop on a
Workspace with a schedule or windows only asks once and leaves spec.state, so that later windows still open.

The surprise: a verb writes the record only, never the status. Another process may be at work on the object at this very moment, and what
it learns of a machine must not be overwritten by what was known before.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from datetime import datetime, timedelta
from functools import partial

from nodusctl.base.diagnostics import error
from nodusctl.base.exits import ExitCode, UserError
from nodusctl.base.ids import Address
from nodusctl.base.timestamps import format_time, parse_time
from nodusctl.engine.applying import ApplyResult, ApplySettings, resume
from nodusctl.engine.locking import under_plan_lock
from nodusctl.engine.naming import unknown_workspace
from nodusctl.executor.outside import Outside
from nodusctl.executor.runs import Interrupts
from nodusctl.lifecycle.homes import restore_is_pending
from nodusctl.lifecycle.windows import has_openings
from nodusctl.plan.facts import phase_class
from nodusctl.ports.journal import Consumption
from nodusctl.state.records import PutRecord, Record
from nodusctl.state.requests import woken
from nodusctl.state.snapshot import Snapshot, Standing
from nodusctl.state.status import Phase

Change = Callable[[Record, datetime], Record]
_STOP_REQUEST, _START_REQUEST = "nodus.dev/stop-requested-at", "nodus.dev/start-requested-at"
_REFRESH_REQUEST = "nodus.dev/refresh-secrets-requested-at"


def start(
    address: Address,
    *,
    outside: Outside,
    command: str,
    settings: ApplySettings,
    interrupts: Interrupts,
    is_wake: bool = False,
) -> ApplyResult:
    """Start a Workspace inside its approval; UserError where there is no such Workspace or no approval to start under.

    A start that a connection asked for (``is_wake``) has nobody who saw a price: it asks today's and stays inside the ceilings.
    """
    standing = workspace(outside, address)
    if standing.record.approval is None:
        fix = "Plan and apply it once, so that an offer and its price are approved:\n  nodusctl apply"
        raise UserError(error("Forbidden", "No offer is approved for this Workspace.", fix=fix, address=str(address)))
    change = _woken if is_wake else _started
    under_plan_lock(outside.claims, command, settings.lock_timeout, lambda: write(address, change, outside, command))
    return resume(outside, (*_home_to_restore(outside, standing), address), settings, interrupts)


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
    under_plan_lock(outside.claims, command, settings.lock_timeout, lambda: write(address, change, outside, command))
    _preempt_start(outside, address)
    return resume(outside, (address,), settings, interrupts)


def workspace(outside: Outside, address: Address) -> Standing:
    """The Workspace at ``address``, to do something with; UserError where there is none, or another kind, or no key to the state."""
    if address.kind != "workspace":
        raise UserError(error("Invalid", "Only a Workspace can be started and stopped.", f"{address} is none."), exit_code=ExitCode.USAGE)
    standing = outside.journal.snapshot().get(address)
    if standing is None:
        raise UserError(unknown_workspace(address, [one.record.address for one in outside.journal.snapshot()]))
    outside.journal.require_key()
    return standing


def refresh_secrets(address: Address, *, outside: Outside, command: str, settings: ApplySettings, interrupts: Interrupts) -> ApplyResult:
    """Give a running Workspace the latest versions of its Secrets; UserError where it doesn't run (its next start takes them anyway)."""
    standing = workspace(outside, address)
    if phase_class(standing.status.phase) != "up":
        detail = f"{address} is {standing.status.phase}; a start takes the latest versions by itself."
        raise UserError(
            error("Conflict", "No session holds these secrets.", detail, f"nodusctl start {address.name}", address=str(address))
        )
    change = partial(_asked, request=_REFRESH_REQUEST)
    under_plan_lock(outside.claims, command, settings.lock_timeout, lambda: write(address, change, outside, command))
    return resume(outside, (address,), settings, interrupts)


def _home_to_restore(outside: Outside, standing: Standing) -> tuple[Address, ...]:
    """The home Volume where a restore of it was asked for and not finished: it comes before the start."""
    home = outside.journal.snapshot().get(Address("volume", str(standing.record.spec.get("volume", ""))))
    return (home.record.address,) if home is not None and restore_is_pending(home.record, home.status) else ()


def _preempt_start(outside: Outside, address: Address) -> None:
    """Take a start that is under way from whoever waits for its call: the stop settles it instead of waiting too."""
    snapshot = outside.journal.snapshot()
    standing = snapshot.standings[address]
    if standing.has_open_intent and standing.status.phase in {Phase.PENDING, Phase.STARTING}:
        home = snapshot.get(Address("volume", str(standing.record.spec.get("volume", ""))))
        key = home.record.uid if home is not None else standing.record.uid
        outside.claims.drop(outside.claims.preempt(key, "stop", outside.call_limit))


def write(address: Address, change: Change, outside: Outside, command: str) -> None:
    """One change of one record, as an operation of its own; the caller holds the plan lock."""
    snapshot: Snapshot = outside.journal.snapshot()
    standing = snapshot.standings[address]
    record = change(standing.record, outside.clock.now())
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
            project=outside.project,
        )
    )


def _started(record: Record, now: datetime) -> Record:
    return _with_state(_asked(record, now, request=_START_REQUEST), "Running")


def _woken(record: Record, now: datetime) -> Record:
    asked = _asked(record, now, request=_START_REQUEST)
    return replace(asked, annotations=woken(asked.annotations))


def _stopped(record: Record, now: datetime) -> Record:
    return _asked(record, now, request=_STOP_REQUEST) if has_openings(record.spec, record.annotations) else _parked(record, now)


def _parked(record: Record, now: datetime) -> Record:
    return _with_state(record, "Stopped")


def _asked(record: Record, now: datetime, *, request: str) -> Record:
    """The request at ``now``; a moment later where it was already made at this very one, since an equal value asks for nothing."""
    former = record.annotations.get(request)
    moment = max(now, parse_time(former) + timedelta(milliseconds=1)) if former else now
    return replace(record, annotations={**record.annotations, request: format_time(moment)})


def _with_state(record: Record, state: str) -> Record:
    if record.spec.get("state", "Running") == state:
        return record
    return replace(record, spec={**record.spec, "state": state}, generation=record.generation + 1)
