"""The two atomic points of a step, and the marks in between: what goes into ``open`` and ``close``."""

from __future__ import annotations

from nodusctl.attempts.intents import Intent
from nodusctl.executor import concluding
from nodusctl.executor.calling import Call, call_of, lookup_of
from nodusctl.executor.intending import Outward, intend
from nodusctl.executor.outside import Outside
from nodusctl.lifecycle.marks import write_mark, write_queue
from nodusctl.lifecycle.outcomes import Outcome
from nodusctl.lifecycle.situation import Situation
from nodusctl.lifecycle.steps import Abandon, Mark, QueueAttempt, Resend, Settle
from nodusctl.lifecycle.written import Written
from nodusctl.ports.journal import Claim, Closing, Opening


def begin(outside: Outside, situation: Situation, step: Outward | Settle | Resend, claim: Claim) -> tuple[Intent, Call]:
    """Commit the intent of a new call, or take up an open one; returns the call to make."""
    if isinstance(step, Settle):
        return step.intent, lookup_of(outside, step.intent)
    if isinstance(step, Resend):
        return step.intent, call_of(outside, situation, step.intent)
    intended = intend(outside, situation, step)
    outside.journal.open(
        Opening(
            claim=claim,
            intent=intended.intent,
            events=intended.written.events,
            entries=intended.written.entries,
            statuses=intended.written.statuses,
            sealed=intended.sealed,
        )
    )
    return intended.intent, call_of(outside, situation, intended.intent)


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
