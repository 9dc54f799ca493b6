"""From wanting a machine to having proved, from the user's side, that it works.

The order: an Attempt, the home's disk where the machine will stand, the machine, the disk attached, the keys, the tools. A machine that is
lost on the way is released before anything else is tried.
"""

from __future__ import annotations

from datetime import datetime

from nodusctl.base.durations import parse_duration
from nodusctl.base.money import ZERO
from nodusctl.lifecycle.edges import edge_of
from nodusctl.lifecycle.homes import restore_is_pending
from nodusctl.lifecycle.identity import refused_terms
from nodusctl.lifecycle.offers import SHUTS_PROVIDER, Choice, choose
from nodusctl.lifecycle.pacing import first_look_after, look_gap, retried, start_deadline
from nodusctl.lifecycle.pinning import missing_secret
from nodusctl.lifecycle.price_age import needs_prices, stale_words
from nodusctl.lifecycle.situation import Situation
from nodusctl.lifecycle.steps import (
    AskPrices,
    AttachHome,
    CreateDisk,
    DropEmptyDisk,
    GiveUp,
    HandOverKeys,
    Launch,
    Look,
    Mark,
    MarkKind,
    Probe,
    PushSecrets,
    QueueAttempt,
    Step,
    Wait,
)
from nodusctl.lifecycle.stopping import next_while_stopping
from nodusctl.lifecycle.vanishing import is_dead, look_failed, next_gone_look
from nodusctl.lifecycle.wanted import Aim, wanted
from nodusctl.provider.machines import MachineState
from nodusctl.state.status import StopReason
from nodusctl.state.terms import Terms


def next_while_pending(situation: Situation) -> Step | Wait | GiveUp | None:
    """Nothing is allocated yet."""
    want = wanted(situation)
    if want.aim is Aim.GO:
        return Mark(what=MarkKind.TERMINATE, reason=str(want.reason), because="the owner deletes it")
    if want.aim is Aim.STOP:
        return Mark(what=MarkKind.REST, reason=str(want.reason), because=f"it is stopped ({want.reason}) before anything was allocated")
    return next_while_placing(situation)


def next_while_placing(situation: Situation) -> Step | Wait | GiveUp | None:
    """From wanting a machine to asking for one, whether it is the first of its session or takes the place of a lost one."""
    if situation.home_is_missing:
        return GiveUp(code="NotFound", because="its Volume is not in the state")
    if _home_is_held_by_another(situation):
        return GiveUp(code="VolumeBusy", because="its Volume is held by another object")
    if situation.home is not None and restore_is_pending(situation.home.record, situation.home.status):
        return GiveUp(code="VolumeBusy", because="a revision of its home is to be restored first")
    missing = missing_secret(situation)
    if missing:
        return GiveUp(code="NotFound", because=missing)
    if situation.attempt is None:
        return QueueAttempt(because="it wants capacity")
    if needs_prices(situation):
        return AskPrices(because="a start stays inside the approved prices, and an old one is asked again")
    choice = choose(situation)
    return _place(situation, choice.terms) if choice.terms is not None else _without_terms(situation, choice)


def _without_terms(situation: Situation, choice: Choice) -> Step | Wait | GiveUp:
    if choice.code == "PriceMoved":
        return _without_price(situation, "PriceMoved", choice.message, "no price is inside its approval")
    if choice.code in SHUTS_PROVIDER:
        return GiveUp(code="ProviderNotReady", because=f"the provider refused the account: {choice.message}")
    if choice.back_at is None:
        return Mark(what=MarkKind.FAIL, reason=choice.code, message=choice.message, because="no approved offer can heal")
    queue_ends_at = _queue_end(situation)
    if queue_ends_at is not None and choice.back_at > queue_ends_at:
        return Mark(what=MarkKind.FAIL, reason="CapacityUnavailable", message=choice.message, because="its queueTimeout ran out")
    return Wait(until=choice.back_at, because=f"every approved offer was refused ({choice.code}); trying again")


def _queue_end(situation: Situation) -> datetime | None:
    limit = parse_duration(str(situation.record.spec.get("placement", {}).get("queueTimeout", "24h")))
    assert situation.attempt is not None
    return situation.attempt.timings.queued_at + limit if limit else None


def _place(situation: Situation, terms: Terms) -> Step | Wait | GiveUp:
    platform = situation.platforms.get(terms.provider)
    if platform is None:
        return GiveUp(code="ProviderNotReady", because=f"the provider {terms.provider} is not ready")
    if stranger := refused_terms(situation, terms):
        return stranger
    stale = stale_words(situation, terms)
    if stale:
        return _without_price(situation, "PriceStale", stale, "its price is too old")
    edge = edge_of(situation, terms)
    if edge.is_too_small:
        left = "what is left of maxCostUSD doesn't pay for the start and a minute of work"
        return _without_money(situation, "CapTooSmall", StopReason.MAX_COST_REACHED, left)
    if edge.is_over_budget:
        left = f"the hold of {edge.hold_usd.shown} is more than its Budgets have left ({(situation.budget_left_usd or ZERO).shown})"
        return _without_money(situation, "BudgetExceeded", StopReason.BUDGET_EXCEEDED, left)
    if edge.is_unfunded:
        left = f"the hold of {edge.hold_usd.shown} is more than is left of what was granted ({(situation.funds_left_usd or ZERO).shown})"
        return _without_money(situation, "InsufficientCredits", StopReason.UNFUNDED, left)
    home = situation.home
    if home is None or not platform.holds_volumes:
        return Launch(terms=terms, because="its terms are approved: asking for the machine")
    standing = home.standing
    if standing.disk_id and (standing.provider, standing.location) != (terms.provider, terms.location):
        drop = DropEmptyDisk(disk_id=standing.disk_id, provider=standing.provider, because="the machine goes to another place")
        return retried(situation, "delete-disk", drop, "removing the empty disk")
    if not standing.disk_id:
        return retried(situation, "create-disk", CreateDisk(terms=terms, because="its home has no disk yet"), "making the home's disk")
    return Launch(terms=terms, because="its terms are approved: asking for the machine")


def _without_money(situation: Situation, code: str, reason: StopReason, left: str) -> Mark:
    """A start somebody asked for fails with its code; one that a window or a loss asked for is passed over and recorded."""
    session = situation.status.session
    if session is not None and session.is_unattended:
        return Mark(what=MarkKind.SKIP_START, reason=str(reason), message=left, because=left)
    return Mark(what=MarkKind.FAIL, reason=code, message=left, because=left)


def _without_price(situation: Situation, code: str, message: str, because: str) -> Mark:
    """The same for want of a price: nobody is told who didn't ask."""
    session = situation.status.session
    is_unattended = session is not None and session.is_unattended
    return Mark(what=MarkKind.SKIP_START if is_unattended else MarkKind.FAIL, reason=code, message=message, because=because)


def _home_is_held_by_another(situation: Situation) -> bool:
    holder = situation.home.standing.holder if situation.home else None
    return holder is not None and (situation.attempt is None or holder.attempt_uid != situation.attempt.uid)


def next_while_starting(situation: Situation) -> Step | Wait | GiveUp | None:
    """A machine exists; is it ours, reachable, complete, and working?"""
    want = wanted(situation)
    if want.aim is Aim.GO:
        return Mark(what=MarkKind.TERMINATE, reason=str(want.reason), because="the owner deletes it")
    if want.aim is Aim.STOP:
        return Mark(what=MarkKind.BEGIN_STOP, reason=str(want.reason), because=f"it is to stop ({want.reason})")
    if situation.attempt is not None and situation.attempt.stop_reason:
        return next_while_stopping(situation)
    if situation.sightings.looked_at is None:
        return _when_due(situation, Look(because="is the machine running?"))
    if situation.failed_times("look"):
        return look_failed(situation)
    if is_dead(situation):
        return Mark(what=MarkKind.LOSE_START, reason="MachineLost", message=_last_words(situation), because="the machine ended early")
    step = _next_once_seen(situation)
    if isinstance(step, Wait) and start_deadline(situation) <= situation.now:
        # Only once this pass has nothing more to try: with a pass each quarter of an hour a good machine is first asked after the bound.
        return Mark(what=MarkKind.LOSE_START, reason="StartTimeout", message=_last_words(situation), because="the start took too long")
    return step


def _next_once_seen(situation: Situation) -> Step | Wait | GiveUp:
    attempt, platform = situation.attempt, situation.platform
    machine = situation.sightings.machine
    if attempt is None or platform is None:
        return GiveUp(code="ProviderNotReady", because="the provider could not be asked about the machine")
    if machine is None:
        return Look(because="is the machine running?")
    if machine.state is MachineState.GONE:
        return _look_again(situation, next_gone_look(situation), "the machine is not to be seen yet")
    if machine.state is not MachineState.RUNNING:
        return _look_again(situation, _next_look(situation), "waiting for the machine to run")
    home_disk = situation.home.standing.disk_id if situation.home else ""
    if home_disk and platform.holds_volumes and home_disk not in attempt.attached_disks:
        step = AttachHome(because="the machine runs and its home is not attached")
        return retried(situation, "attach", step, "attaching the home")
    if attempt.timings.registered_at is None:
        if situation.sightings.failure_codes.get("hand-over-keys") == "HostKeyChanged":
            return Mark(what=MarkKind.LOSE_START, reason="HostKeyChanged", message=_last_words(situation), because="another key answered")
        if situation.sightings.answer is None:
            return _polled(situation, Probe(because="waiting for ssh"))
        return retried(situation, "hand-over-keys", HandOverKeys(because="the machine answered for the first time"), "handing over keys")
    if attempt.pushed_versions is None:
        return retried(situation, "push", PushSecrets(because="its environment and secrets are not in place"), "pushing the environment")
    broken = _broken_tool(situation)
    if broken:
        return Mark(what=MarkKind.LOSE_START, reason="WorkspaceToolUnavailable", message=broken, because="a tool is over its limit")
    return _polled(situation, Probe(because="waiting for the tools to answer"))


def _broken_tool(situation: Situation) -> str:
    """The declared tool that is over its own limit, with what its probe saw; "" while none is."""
    answer = situation.sightings.answer
    failed = [tool for tool in answer.tools if tool.has_failed and not tool.has_answered] if answer is not None else []
    return f"{failed[0].name}: {failed[0].seen}" if failed else ""


def _when_due(situation: Situation, step: Look) -> Step | Wait:
    attempt = situation.attempt
    if attempt is None or attempt.terms is None or attempt.timings.acquired_at is None or attempt.timings.registered_at is not None:
        return step
    if attempt.machine is not None and attempt.machine.state is MachineState.RUNNING:
        return step
    first_at = attempt.timings.acquired_at + first_look_after(attempt.terms)
    return Wait(until=first_at, because="waiting for the machine to boot") if first_at > situation.now else step


def _next_look(situation: Situation) -> datetime:
    return (situation.sightings.looked_at or situation.now) + look_gap(situation)


def _look_again(situation: Situation, at: datetime, because: str) -> Step | Wait:
    return Wait(until=at, because=because) if at > situation.now else Look(because=because)


def _polled(situation: Situation, step: Probe) -> Step | Wait:
    """Ask the agent again after a gap, looking at the machine in between so that its death is noticed."""
    asked_at, looked_at = situation.sightings.asked_at, situation.sightings.looked_at
    if asked_at is None or asked_at + look_gap(situation) <= situation.now:
        return step
    if looked_at is not None and looked_at < asked_at:
        return Look(because=step.because)
    return Wait(until=asked_at + look_gap(situation), because=step.because)


def _last_words(situation: Situation) -> str:
    machine = situation.sightings.machine
    seen = f"the machine is {machine.state}" + (f" ({machine.reason})" if machine.reason else "") if machine else "no machine was seen"
    return f"{seen}; {situation.sightings.asked_in_vain}" if situation.sightings.asked_in_vain else seen
