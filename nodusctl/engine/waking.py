"""Whether a Workspace must be waited for or started before somebody can log in, and whether it may be (lifecycle.md, "Wake").

A person's own command starts what is stopped. A ProxyCommand may be an editor that retries all night, so it has a rule of its own.
"""

from __future__ import annotations

from datetime import datetime, timedelta
from enum import StrEnum

from nodusctl.base.diagnostics import Diagnostic, error
from nodusctl.base.durations import format_duration
from nodusctl.base.exits import ExitCode, UserError
from nodusctl.base.ids import Address
from nodusctl.engine import verbs
from nodusctl.engine.applying import ApplySettings, notes_of, resume
from nodusctl.executor.outside import Outside
from nodusctl.executor.runs import Interrupts
from nodusctl.ports.journal import StoredObject
from nodusctl.state.status import Phase, StopReason

_WAITING = frozenset({Phase.PENDING, Phase.STARTING, Phase.RECOVERING})
_NEVER = frozenset({StopReason.MAX_COST_REACHED, StopReason.BUDGET_EXCEEDED, StopReason.UNFUNDED, StopReason.SCHEDULE})
_QUIET = timedelta(minutes=30)
_OPEN_SLACK = timedelta(seconds=15)
_SECOND = timedelta(seconds=1)


class Lack(StrEnum):
    """What stands between a Workspace and a login."""

    NOTHING = "nothing"
    WAIT = "wait"
    WAKE = "wake"


def lack_of(stored: StoredObject) -> Lack:
    """What it takes; UserError where only the owner's ``start`` helps."""
    status, address = stored.status, stored.record.address
    if status.phase is Phase.RUNNING:
        return Lack.NOTHING
    if status.phase in _WAITING:
        return Lack.WAIT
    is_wanted = stored.record.spec.get("state", "Running") == "Running"
    if status.phase in {Phase.STOPPED, Phase.STOPPING} and is_wanted:
        return Lack.WAKE
    why = f"{address} is {status.phase}" + (f" ({status.reason or status.stop_reason})" if status.reason or status.stop_reason else "")
    detail = f"{why}; its owner wants it stopped." if not is_wanted else f"{why}. {status.message}".rstrip()
    fix = f"Start it:\n  nodusctl start {address.name}"
    raise UserError(error("WorkspaceToolUnavailable", "The Workspace isn't running.", detail, fix, address=str(address)))


def wake_words(stored: StoredObject) -> str:
    """Rate and cap, said before anything is started."""
    record, status = stored.record, stored.status
    terms = record.approval.terms[0] if record.approval is not None and record.approval.terms else None
    rate = f" at {terms.rate_usd_per_hour.shown}/h" if terms is not None else ""
    cap = record.spec.get("maxCostUSD")
    limit = f"cap ${cap}" if cap else "no cap"
    return f"{record.address.name} is {status.phase} ({status.stop_reason or status.reason}); starting it{rate}, {limit}"


def why_no_wake(stored: StoredObject, last_open: datetime | None, now: datetime) -> str:
    """Why a ProxyCommand may not start it; "" where it may. ``last_open`` is when a connection from this computer was last open."""
    status = stored.status
    if status.stop_reason in _NEVER:
        return f"it was stopped by {status.stop_reason}"
    stops = [a.timings.stop_asked_at or a.timings.finished_at for a in stored.attempts]
    stopped_at = max((moment for moment in stops if moment is not None), default=None)
    if stopped_at is None:
        return ""
    ends = [a.timings.finished_at for a in stored.attempts if a.timings.finished_at is not None]
    age = now - max((*ends, stopped_at))
    if age < _QUIET:
        return (
            f"it was stopped {format_duration(max(age, timedelta(0)) // _SECOND * _SECOND)} ago, and a connection starts it after 30m only"
        )
    if last_open is not None and last_open >= stopped_at - _OPEN_SLACK:
        return "a connection from this computer was open when it was stopped, and may only be reconnecting"
    return ""


def bring_up(
    address: Address,
    lack: Lack,
    *,
    outside: Outside,
    command: str,
    settings: ApplySettings,
    interrupts: Interrupts,
    is_connection: bool = False,
) -> None:
    """Wait for it, or start it and wait; UserError where it then doesn't run.

    A start that a connection asked for (``is_connection``) stays inside the ceilings of its approval at today's prices.
    """
    if lack is Lack.WAKE:
        result = verbs.start(address, outside=outside, command=command, settings=settings, interrupts=interrupts, is_wake=is_connection)
    else:
        result = resume(outside, (address,), settings, interrupts)
    standing = outside.journal.snapshot().get(address)
    if standing is not None and standing.status.phase is Phase.RUNNING:
        return
    if standing is not None and standing.status.reason == "PriceMoved":
        raise UserError(_price_moved(address, standing.status.message), exit_code=ExitCode.PRICE)
    phase = standing.status.phase if standing is not None else "removed"
    detail = f"{address} is {phase}."
    fix = f"See why:\n  nodusctl describe {address}"
    main = error("WorkspaceStarting", "The Workspace didn't get ready.", detail, fix, address=str(address))
    raise UserError(main, *notes_of(result), exit_code=result.exit_code or ExitCode.ERROR)


def _price_moved(address: Address, message: str) -> Diagnostic:
    fix = "Look at today's prices, and approve them:\n  nodusctl apply"
    detail = f"{message[:1].upper()}{message[1:]}. A connection starts nothing above what was approved."
    return error("PriceMoved", "No approved offer is inside its price.", detail, fix, address=str(address))
