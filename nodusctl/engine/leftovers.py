"""What is left of a plan that was started: Actions that were left out because something blocked them, objects on their way, failed starts.

A plan can be resumed for a day, and only while nothing but itself has moved the serial: after that somebody has decided something that its
reviewer didn't see.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import datetime, timedelta

from nodusctl.base.diagnostics import Diagnostic, error
from nodusctl.base.durations import format_duration
from nodusctl.base.exits import ExitCode, UserError
from nodusctl.base.ids import Address
from nodusctl.engine.applying import is_unfinished
from nodusctl.engine.refusing import another_state, facts_moved, operation_words, wrong_provider_version
from nodusctl.executor.outside import Outside
from nodusctl.plan.actions import Action, Verb
from nodusctl.plan.changes import ChangeClass
from nodusctl.plan.hashing import plan_hash
from nodusctl.plan.plan import Plan
from nodusctl.ports.journal import Journal, OperationNote
from nodusctl.state.snapshot import Snapshot, Standing
from nodusctl.state.status import Phase

OPEN_FOR = timedelta(hours=24)
"""How long after its first start a plan may be resumed."""
_MOST_OPERATIONS = 10_000
_AGAIN = "Make a new plan of what is left:\n  nodusctl plan -o FILE"
_STARTS = frozenset({ChangeClass.STARTS, ChangeClass.RESTARTS, ChangeClass.REPLACES})


@dataclass(frozen=True, slots=True, kw_only=True)
class Left:
    """What is left of a started plan.

    ``unwritten`` are Actions nobody wrote down yet, ``failed`` Workspaces whose start failed, ``on_their_way`` what only has to be carried
    on. ``written`` are the addresses of all Actions written down so far.
    """

    written: tuple[str, ...]
    unwritten: tuple[Action, ...] = ()
    failed: tuple[Address, ...] = ()
    on_their_way: tuple[Address, ...] = ()

    @property
    def is_nothing(self) -> bool:
        """True where the whole plan is done."""
        return not (self.unwritten or self.failed or self.on_their_way)


def left_of(plan: Plan, snapshot: Snapshot, outside: Outside) -> Left:
    """What is left of ``plan``; UserError (11) where it may not be resumed."""
    journal = outside.journal
    started = journal.consumed_by(plan_hash(plan), plan.id)
    found = _refusal(plan, started, snapshot, journal, outside.clock.now()) or wrong_provider_version(plan, outside.providers)
    if found is not None or started is None:
        raise UserError(*((found,) if found is not None else ()), exit_code=ExitCode.REFUSED)
    written = frozenset(started.addresses)
    unwritten = tuple(action for action in plan.actions if str(action.address) not in written)
    moved = facts_moved(replace(plan, actions=unwritten), snapshot)
    if moved is not None:
        raise UserError(moved, exit_code=ExitCode.REFUSED)
    standings = [
        (action, standing)
        for action in plan.actions
        if str(action.address) in written and (standing := snapshot.get(action.address)) is not None
    ]
    failed = tuple(action.address for action, standing in standings if _start_failed(action, standing))
    on_their_way = tuple(action.address for action, standing in standings if action.address not in failed and is_unfinished(standing))
    return Left(written=started.addresses, unwritten=unwritten, failed=failed, on_their_way=on_their_way)


def _refusal(plan: Plan, started: OperationNote | None, snapshot: Snapshot, journal: Journal, now: datetime) -> Diagnostic | None:
    """Another state, never started, too long ago, or overtaken: the first that is true."""
    other = another_state(plan, snapshot, journal)
    if other is not None:
        return other
    if started is None:
        fix = "Apply it:\n  nodusctl apply PLAN"
        return error("Conflict", "This plan was never started.", "There is nothing to resume.", fix)
    moves = journal.operations(_MOST_OPERATIONS)
    own = [one for one in moves if (one.plan_id, one.plan_hash) == (started.plan_id, started.plan_hash)] or [started]
    began = own[-1]
    if now - began.at > OPEN_FOR:
        detail = f"It was started by {operation_words(began)}; a plan can be resumed for {format_duration(OPEN_FOR)}."
        return error("Conflict", "This plan was started too long ago.", detail, _AGAIN)
    overtaken_by = next((one for one in moves if one.serial > began.serial and one.plan_id and one not in own), None)
    if overtaken_by is not None:
        detail = f"Since it was started the state was moved by: {operation_words(overtaken_by)}."
        return error("Conflict", "Something else moved the state since this plan was started.", detail, _AGAIN)
    return None


def _start_failed(action: Action, standing: Standing) -> bool:
    """True where the plan wanted a machine and the start came to nothing."""
    wants = action.verb is Verb.CREATE or action.change_class in _STARTS
    wants = wants and standing.record.address.kind == "workspace" and standing.record.spec.get("state", "Running") == "Running"
    return wants and standing.status.phase is Phase.FAILED and standing.record.deletion_requested_at is None
