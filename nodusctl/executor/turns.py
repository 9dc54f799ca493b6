"""One turn of one object: ask what is due, and do it as far as it can be done without waiting for anybody."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any

from nodusctl.attempts.intents import Intent
from nodusctl.base.copies import replace
from nodusctl.base.exits import UserError
from nodusctl.base.ids import Address
from nodusctl.executor import carrying, concluding
from nodusctl.executor.calling import Call, facts_of, look_of, prices_of, probe_of
from nodusctl.executor.intended import served_tools
from nodusctl.executor.outside import Outside
from nodusctl.executor.runs import ObjectRun, Standing
from nodusctl.executor.situations import claim_key, situation_of
from nodusctl.lifecycle.next_step import next_step
from nodusctl.lifecycle.situation import Sightings, Situation
from nodusctl.lifecycle.steps import Abandon, AskPrices, GiveUp, Look, Mark, Probe, QueueAttempt, ReadFacts, Resend, Settle, Wait
from nodusctl.lifecycle.written import Written
from nodusctl.ports.journal import Claim, StaleClaim
from nodusctl.ports.keys import KEY_TROUBLES
from nodusctl.ports.progress import ProgressReport
from nodusctl.provider.replies import Reply
from nodusctl.state.status import Phase

_CLAIM_POLL_SECONDS = 0.2
_UNCLAIMED = (Wait, GiveUp, Look, Probe, AskPrices, ReadFacts)


@dataclass(frozen=True, slots=True, kw_only=True)
class Turn:
    """The object after its turn, and the call it now waits for, if any."""

    run: ObjectRun
    step: object = None
    intent: Intent | None = None
    call: Call | None = None


def advance(outside: Outside, run: ObjectRun, addresses: Mapping[Address, str]) -> Turn:
    """One step further."""
    situation = situation_of(outside, run.uid, run.sightings, addresses)
    if situation is None:
        return Turn(run=_over(outside, run, "", "removed", is_removed=True))
    step = next_step(situation)
    if run.waits_for and (step is None or isinstance(step, _UNCLAIMED)):
        run = replace(run, waits_for="")
    run = _reported(outside, run, situation, step)
    match step:
        case None:
            code = situation.status.reason if situation.status.phase is Phase.FAILED else ""
            return Turn(run=_over(outside, run, code, situation.status.message or situation.status.reason if code else ""))
        case Wait():
            return Turn(run=replace(_dropped(outside, run), standing=Standing.WAITING, wake_at=step.until, trouble=step.code))
        case GiveUp():
            return Turn(run=_given_up(outside, run, step))
        case Look():
            return _calling(outside, run, situation, step, look_of)
        case Probe():
            return _calling(outside, run, situation, step, probe_of)
        case AskPrices():
            return _calling(outside, run, situation, step, prices_of)
        case ReadFacts():
            return _calling(outside, run, situation, step, facts_of)
        case _:
            return _claimed(outside, run, situation, step)


def _calling(outside: Outside, run: ObjectRun, situation: Situation, step: Look | Probe | AskPrices | ReadFacts, make: Any) -> Turn:
    try:
        call = make(outside, situation)
    except UserError as problem:
        return Turn(run=_unable(outside, run, problem))
    return Turn(run=run, step=step, call=call)


def _claimed(outside: Outside, run: ObjectRun, situation: Situation, step: Any) -> Turn:
    if run.claim is None:
        claim = outside.claims.claim(claim_key(situation), type(step).__name__, outside.call_limit)
        if claim is None:
            work = outside.claims.work_on(claim_key(situation))
            run = replace(run, waits_for=f"waits for {work.shown}" if work is not None else run.waits_for)
            return Turn(run=taken_over(outside, _reported(outside, run, situation, step)))
        run = replace(run, claim=claim, waits_for="")
        if outside.renew():
            # What was loaded before the claim may be old: ask again, now that nobody else can move the object.
            return Turn(run=run)
    else:
        claim = run.claim
    try:
        if isinstance(step, Mark | QueueAttempt | Abandon):
            carrying.mark(outside, situation, step, claim)
            return Turn(run=run)
        intent, call = carrying.begin(outside, situation, step, claim)
    except StaleClaim:
        return Turn(run=taken_over(outside, run))
    except UserError as problem:
        return Turn(run=_unable(outside, run, problem))
    return Turn(run=run, step=step, intent=intent, call=call)


def finish_call(outside: Outside, run: ObjectRun, reply: Reply[Any], addresses: Mapping[Address, str]) -> ObjectRun:
    """Write down what came of the call under way; the object is then ready for its next turn."""
    flight = run.in_flight
    assert flight is not None
    run = replace(run, standing=Standing.READY, in_flight=None)
    situation = situation_of(outside, run.uid, run.sightings, addresses)
    if situation is None:
        return _over(outside, run, "", "removed", is_removed=True)
    if flight.intent is None and situation.sightings.attempt_uid != run.sightings.attempt_uid:
        return run
    if flight.intent is None:
        return _after_reading(outside, run, situation, partial(_read, flight.step, reply), addresses)
    is_lookup = isinstance(flight.step, Settle)
    intent = next((i for i in situation.intents if i.id == flight.intent.id), flight.intent)
    outcome = (concluding.conclude_lookup if is_lookup else concluding.conclude)(situation, intent, reply)
    name = f"settle-{intent.step}" if isinstance(flight.step, Settle | Resend) else str(intent.step)
    run = replace(run, sightings=concluding.remember(situation, situation.sightings, name, outcome))
    if run.claim is None:
        return taken_over(outside, run)
    try:
        carrying.finish(outside, run.claim, outcome)
    except StaleClaim:
        return taken_over(outside, run)
    return run


Reading = Callable[[Situation, Sightings], tuple[Sightings, Written | None]]


def _after_reading(outside: Outside, run: ObjectRun, situation: Situation, read: Reading, addresses: Mapping[Address, str]) -> ObjectRun:
    """Remember a reading, and write down what is new in it. Where somebody else is at work on the object that is left to them."""
    sightings, written = read(situation, situation.sightings)
    if written is None:
        return replace(run, sightings=sightings)
    claim = run.claim or outside.claims.claim(claim_key(situation), "note", outside.call_limit)
    if claim is None:
        return taken_over(outside, replace(run, sightings=sightings))
    # Without the claim the object may have moved since it was loaded: read the reply again, on what stands now.
    may_have_moved = run.claim is None and outside.renew()
    fresh = situation_of(outside, run.uid, run.sightings, addresses) if may_have_moved else situation
    after = replace(run, sightings=sightings, claim=claim)
    is_same = fresh is not None and fresh.sightings.attempt_uid == sightings.attempt_uid
    written = read(fresh, fresh.sightings)[1] if fresh is not None and is_same else None
    return after if written is None else _noted(outside, after, claim, written)


def _read(step: object, reply: Reply[Any], situation: Situation, sightings: Sightings) -> tuple[Sightings, Written | None]:
    if isinstance(step, Look):
        return concluding.after_look(situation, sightings, reply)
    if isinstance(step, AskPrices):
        return concluding.after_prices(situation, sightings, reply), None
    if isinstance(step, ReadFacts):
        return concluding.after_facts(situation, sightings, reply)
    tools = served_tools(situation, situation.platform.tools if situation.platform else frozenset())
    return concluding.after_probe(situation, sightings, reply, tools)


def _noted(outside: Outside, run: ObjectRun, claim: Claim, written: Written) -> ObjectRun:
    try:
        carrying.note(outside, claim, written)
    except StaleClaim:
        return taken_over(outside, run)
    return run


def taken_over(outside: Outside, run: ObjectRun) -> ObjectRun:
    """Somebody else holds the object: ask again in a moment."""
    wall_wake_at = outside.wall.monotonic() + _CLAIM_POLL_SECONDS
    return replace(run, standing=Standing.CLAIMED_ELSEWHERE, claim=None, wall_wake_at=wall_wake_at)


def _unable(outside: Outside, run: ObjectRun, problem: UserError) -> ObjectRun:
    """A call that can't even be made: its provider can't be had, or what it needs is sealed under a key that isn't here."""
    first = problem.diagnostics[0]
    return _over(outside, run, first.code if first.code in KEY_TROUBLES else "ProviderNotReady", first.summary)


def _given_up(outside: Outside, run: ObjectRun, step: GiveUp) -> ObjectRun:
    if step.code == "VolumeBusy":
        return replace(_dropped(outside, run), standing=Standing.PARKED, code=step.code, because=step.because)
    return _over(outside, run, step.code, step.because)


def _over(outside: Outside, run: ObjectRun, code: str, because: str, *, is_removed: bool = False) -> ObjectRun:
    run = _dropped(outside, run)
    phase = "Removed" if is_removed else run.phase
    outside.progress.report(
        ProgressReport(time=outside.clock.now(), address=run.address, phase=phase, step=because, is_over=True, has_failed=bool(code))
    )
    return replace(run, standing=Standing.OVER, code=code, because=because, is_removed=is_removed, phase=phase)


def _dropped(outside: Outside, run: ObjectRun) -> ObjectRun:
    if run.claim is None:
        return run
    outside.claims.drop(run.claim)
    return replace(run, claim=None)


def _reported(outside: Outside, run: ObjectRun, situation: Situation, step: Any) -> ObjectRun:
    phase, because = str(situation.status.phase), run.waits_for or getattr(step, "because", "")
    if step is not None and (phase, because) != (run.phase, run.because):
        report = ProgressReport(time=situation.now, address=run.address, phase=phase, step=because)
        outside.progress.report(report)
    is_same = run.sightings is situation.sightings and (run.phase, run.because, run.code) == (phase, because or run.because, "")
    return run if is_same else replace(run, sightings=situation.sightings, phase=phase, because=because or run.because, code="")
