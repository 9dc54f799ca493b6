"""``apply PLAN --resume``: the rest of a plan that was started, inside the same offers and ceilings, and nothing else.

Workspaces whose start failed are asked for again, as their owner would ask.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from datetime import datetime, timedelta

from nodusctl.base.diagnostics import note
from nodusctl.base.exits import ExitCode
from nodusctl.base.timestamps import format_time, parse_time
from nodusctl.engine.applying import (
    ApplyResult,
    ApplySettings,
    Recheck,
    blocked_result,
    blocking,
    carry_on,
    checked_outside,
    finished,
    require_key,
)
from nodusctl.engine.leftovers import Left, left_of
from nodusctl.engine.locking import under_plan_lock
from nodusctl.engine.repricing import AskedRate, lacks_offers
from nodusctl.engine.starting_plan import SecretValues, Start, write_down
from nodusctl.executor.outside import Outside
from nodusctl.executor.runs import Interrupts
from nodusctl.plan.actions import Action
from nodusctl.plan.plan import Plan
from nodusctl.state.records import PutRecord, Record
from nodusctl.state.requests import START_REQUEST
from nodusctl.state.snapshot import Snapshot
from nodusctl.state.status import Phase


def resume_plan(
    plan: Plan,
    *,
    outside: Outside,
    rate_of: AskedRate,
    command: str,
    settings: ApplySettings,
    interrupts: Interrupts,
    secrets: SecretValues | None = None,
    recheck: Recheck | None = None,
) -> ApplyResult:
    """Carry on what is left.

    UserError (11) for a plan that was never started, is too old, or was overtaken; (12) for a price above its ceiling; (13) locked.
    """
    journal = outside.journal
    left = left_of(plan, journal.snapshot(), outside)
    if left.is_nothing:
        return ApplyResult(exit_code=ExitCode.DONE, diagnostics=(note("NothingLeft", "Nothing is left of this plan."),))
    without_offers = {action.address for action in left.unwritten if lacks_offers(action)}
    reasons = tuple(reason for reason in plan.reasons if reason.address in without_offers)
    rest = replace(plan, actions=tuple(_placing(plan, left, journal.snapshot())), reasons=reasons)
    rest, repriced, notes = checked_outside(rest, outside, rate_of, settings, recheck)
    blocked = blocking(rest, settings)
    if blocked:
        return blocked_result(blocked)
    require_key(plan, outside)

    def consume() -> tuple[Left, Snapshot]:
        before = journal.snapshot()
        now_left = left_of(plan, before, outside)
        unwritten = {action.address for action in now_left.unwritten}
        start = Start(
            plan=replace(plan, reasons=rest.reasons),
            repriced=replace(repriced, actions=tuple(one for one in repriced.actions if one.address in unwritten)),
            outside=outside,
            command=command,
            secrets=secrets or SecretValues(),
            is_reviewed=True,
            written=now_left.written,
            requests=tuple(_asked_anew(before.standings[address].record, outside.clock.now()) for address in now_left.failed),
        )
        return now_left, write_down(start, before)

    left, after = under_plan_lock(outside.claims, command, settings.lock_timeout, consume)
    skipped = {reason.address for reason in rest.reasons}
    touched = (*(action.address for action in left.unwritten), *left.failed, *left.on_their_way)
    outcomes = carry_on(outside, dict.fromkeys(one for one in touched if one not in skipped), after, settings, interrupts)
    return finished(rest, outcomes, notes, interrupts)


def _placing(plan: Plan, left: Left, snapshot: Snapshot) -> Iterable[Action]:
    """The Actions whose prices matter once more: those not written yet, and those that still have no machine."""
    unwritten = {action.address for action in left.unwritten}
    for action in plan.actions:
        standing = snapshot.get(action.address)
        is_waiting = standing is not None and standing.status.phase in {Phase.PENDING, Phase.RECOVERING}
        if action.address in unwritten or action.address in left.failed or (action.address in left.on_their_way and is_waiting):
            yield action


def _asked_anew(record: Record, now: datetime) -> PutRecord:
    """The record with a request to start, as its owner would make it; a moment after the last one, since an equal text asks for nothing."""
    former = record.annotations.get(START_REQUEST)
    moment = max(now, parse_time(former) + timedelta(milliseconds=1)) if former else now
    return PutRecord(replace(record, annotations={**record.annotations, START_REQUEST: format_time(moment)}))
