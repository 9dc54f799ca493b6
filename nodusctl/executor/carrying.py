"""The two atomic points of a step, and the marks in between: what goes into ``open`` and ``close``."""

from __future__ import annotations

from dataclasses import replace

from nodusctl.attempts.intents import Intent
from nodusctl.executor import concluding
from nodusctl.executor.calling import Call, call_of, lookup_of
from nodusctl.executor.intending import Outward, intend
from nodusctl.executor.outside import Outside
from nodusctl.lifecycle.marks import write_mark, write_queue
from nodusctl.lifecycle.outcomes import Outcome
from nodusctl.lifecycle.settling import MAKES_A_THING
from nodusctl.lifecycle.situation import Situation
from nodusctl.lifecycle.steps import Abandon, Mark, QueueAttempt, Resend, Settle
from nodusctl.lifecycle.written import Written
from nodusctl.ports.journal import Claim, Closing, Opening


def begin(outside: Outside, situation: Situation, step: Outward | Settle | Resend, claim: Claim) -> tuple[Intent, Call]:
    """Commit the intent of a new call, or take up an open one; the call to make. StaleClaim where the claim was lost: then no call."""
    if isinstance(step, Settle):
        outside.claims.heartbeat(claim)
        return step.intent, lookup_of(outside, step.intent)
    if isinstance(step, Resend):
        intent = _sent_again(outside, situation, step.intent, claim)
        return intent, call_of(outside, situation, intent)
    intended = intend(outside, situation, step)
    outside.journal.open(
        Opening(
            claim=claim,
            intent=intended.intent,
            events=intended.written.events,
            entries=intended.written.entries,
            statuses=intended.written.statuses,
            sealed=intended.sealed,
            guards=outside.guards_of(situation.record) if intended.written.entries else (),
        )
    )
    return intended.intent, call_of(outside, situation, intended.intent)


def _sent_again(outside: Outside, situation: Situation, intent: Intent, claim: Claim) -> Intent:
    """The intent as it is sent again. What was absent before this call proves nothing about it (rule R3), so its absences start over."""
    if intent.step not in MAKES_A_THING:
        outside.claims.heartbeat(claim)
        return intent
    fresh = replace(intent, opened_at=situation.now, absences=())
    outside.journal.close(Closing(claim=claim, intent=fresh))
    return fresh


def finish(outside: Outside, claim: Claim, outcome: Outcome) -> None:
    """Commit what came of a call."""
    _close(outside, claim, outcome.written, outcome.intent)


def note(outside: Outside, claim: Claim, written: Written) -> None:
    """Commit something learnt without an intent."""
    _close(outside, claim, written, None)


def mark(outside: Outside, situation: Situation, step: Mark | QueueAttempt | Abandon, claim: Claim) -> None:
    """Carry out a step that only writes."""
    if isinstance(step, Abandon):
        finish(outside, claim, concluding.abandoned(situation, step.intent))
    elif isinstance(step, QueueAttempt):
        note(outside, claim, write_queue(situation, step, outside.ids.new_uid()))
    else:
        note(outside, claim, write_mark(situation, step))


def _close(outside: Outside, claim: Claim, written: Written, intent: Intent | None) -> None:
    outside.journal.close(
        Closing(
            claim=claim,
            intent=intent,
            events=written.events,
            entries=written.entries,
            statuses=written.statuses,
            records=written.records,
            forgotten=written.forgotten,
        )
    )
