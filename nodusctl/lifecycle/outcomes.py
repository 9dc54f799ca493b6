"""What came of a call, as what must be written. Pure: a reply and a Situation in, ``Written`` and the intent's new form out.

Every reply is Done, Refused or Unknown. Unknown leaves the intent open: the next step of that object is to settle it.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import datetime, timedelta

from nodusctl.attempts.attempt import Attempt
from nodusctl.attempts.events import (
    BecameReady,
    CapacityEnded,
    EdgeArmed,
    Event,
    KeysHandedOver,
    LaunchAccepted,
    LaunchRefused,
    MachineSeen,
    OutcomeUnknown,
    Recovered,
    ReleaseAsked,
    Remarked,
    SecretsPushed,
    WentQuiet,
)
from nodusctl.attempts.intents import Intent, IntentState, StepKind
from nodusctl.base.money import ZERO
from nodusctl.base.redaction import clean
from nodusctl.ledger.balances import balances
from nodusctl.lifecycle.edges import hold_until
from nodusctl.lifecycle.funding import held_until
from nodusctl.lifecycle.money import charge_of, final_entries, hold_lowered, hold_returned
from nodusctl.lifecycle.occurrences import started
from nodusctl.lifecycle.offers import SHUTS_PROVIDER
from nodusctl.lifecycle.situation import Situation
from nodusctl.lifecycle.vanishing import last_seen_alive
from nodusctl.lifecycle.volume_outcomes import with_holder
from nodusctl.lifecycle.wanted import handled_now
from nodusctl.lifecycle.written import Written, moved, with_condition
from nodusctl.provider.agent import AgentAnswer
from nodusctl.provider.machines import Machine, Release, ReleaseState
from nodusctl.provider.replies import Refused, Scope, Unknown
from nodusctl.state.status import ObjectStatus, Phase

_NOT_YET_READY = frozenset({Phase.STARTING, Phase.RECOVERING})


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """What to write, and the intent as it then stands.

    ``brought_nothing`` counts as a failure of the step in this pass; ``is_pending`` means "not yet, ask again"; ``retry_after`` is how
    long the platform asked for patience.
    """

    written: Written
    intent: Intent
    brought_nothing: bool = False
    is_pending: bool = False
    code: str = ""
    detail: str = ""
    retry_after: timedelta | None = None


def closed(intent: Intent, situation: Situation, outcome: str) -> Intent:
    """The intent, closed with an outcome."""
    return replace(intent, state=IntentState.CLOSED, outcome=outcome, closed_at=situation.now)


def unknown(situation: Situation, intent: Intent, reply: Unknown) -> Outcome:
    """Nobody can say: the intent stays open, and the journal says so once."""
    detail = clean(reply.detail)
    event = OutcomeUnknown(
        time=situation.now, object_uid=situation.uid, attempt_uid=intent.attempt_uid, step=str(intent.step), detail=detail
    )
    events: tuple[Event, ...] = (event,) if detail != intent.last_detail else ()
    status = replace(situation.status, message=f"the outcome of {intent.step} is not known yet: {detail}")
    still_open = replace(intent, last_detail=detail)
    return Outcome(written=Written(events=events, statuses={situation.uid: status}), intent=still_open, brought_nothing=True, detail=detail)


def refused(situation: Situation, intent: Intent, reply: Refused) -> Outcome:
    """The provider said no to a step that can be tried again; the object keeps its place and says why."""
    message = clean(reply.message)
    status = replace(situation.status, message=f"{intent.step} was refused ({reply.code}): {message}")
    return Outcome(
        written=Written(statuses={situation.uid: status}),
        intent=closed(intent, situation, f"refused:{reply.code}"),
        brought_nothing=True,
        code=reply.code,
        detail=message,
        retry_after=reply.retry_after,
    )


def restore_refused(situation: Situation, intent: Intent, reply: Refused) -> Outcome:
    """The revision can't be brought back, now or later: the disk stays as it is, and the restore is no longer asked for."""
    refusal = refused(situation, intent, reply)
    status = with_condition(situation.status, "Restored", False, reply.code, situation.now, message=refusal.detail)
    handled = {**status.handled_requests, "restore": str(intent.request["asked"])}
    return replace(refusal, written=Written(statuses={situation.uid: replace(status, handled_requests=handled)}))


def launched(situation: Situation, intent: Intent, machine: Machine) -> Outcome:
    """A machine exists: the Workspace is Starting (a lost one stays Recovering), and its home, where it came along, is in use."""
    accepted = LaunchAccepted(time=situation.now, object_uid=situation.uid, attempt_uid=intent.attempt_uid, machine=machine)
    status = with_condition(situation.status, "Scheduled", True, "Placed", situation.now)
    phase = Phase.RECOVERING if situation.status.phase is Phase.RECOVERING else Phase.STARTING
    after, events = moved(situation, status, phase, "Placed", f"machine {machine.id} accepted")
    statuses = {situation.uid: after, **with_holder(situation, intent.attempt_uid, machine.id, is_in_use=bool(machine.disk_ids))}
    written = Written(events=(accepted, *started(situation), *events), statuses=statuses)
    return Outcome(written=written, intent=closed(intent, situation, "done"))


def launch_refused(situation: Situation, intent: Intent, reply: Refused) -> Outcome:
    """Nothing was made: the hold goes back, the home is free, and the next approved offer may be tried."""
    attempt = situation.attempt
    assert attempt is not None
    message = clean(reply.message)
    event = LaunchRefused(
        time=situation.now,
        object_uid=situation.uid,
        attempt_uid=attempt.uid,
        offer_key=str(intent.request.get("offer_key", "")),
        code=reply.code,
        scope=str(reply.scope),
        message=message,
        retry_after=reply.retry_after,
        unit_ids=tuple(str(one) for one in intent.request.get("unit_ids", ())),
    )
    status = replace(situation.status, reason=reply.code, message=message)
    status = with_condition(status, "Scheduled", False, reply.code, situation.now, message=message)
    is_held = intent.step is StepKind.LAUNCH
    statuses = {situation.uid: status, **(with_holder(situation, "", "", is_in_use=None) if is_held else {})}
    back = hold_returned(attempt, situation.entries, situation.now, "nothing was allocated")
    return Outcome(
        written=Written(events=(event,), entries=back, statuses=statuses),
        intent=closed(intent, situation, f"refused:{reply.code}"),
        brought_nothing=reply.code in SHUTS_PROVIDER,
        code=reply.code,
        detail=message,
    )


def machine_seen(situation: Situation, machine: Machine) -> Written | None:
    """The report of a look, written only where it says something new that matters later."""
    attempt = situation.attempt
    if attempt is None or attempt.machine is None or _same_report(attempt.machine, machine):
        return None
    event = MachineSeen(time=situation.now, object_uid=situation.uid, attempt_uid=attempt.uid, machine=machine)
    if machine.impaired == attempt.machine.impaired:
        return Written(events=(event,))
    is_impaired, reason = bool(machine.impaired), "StatusCheckFailed" if machine.impaired else "Answered"
    status = with_condition(situation.status, "NodeUnreachable", is_impaired, reason, situation.now, message=machine.impaired)
    return Written(events=(event,), statuses={situation.uid: status})


def _same_report(before: Machine, now: Machine) -> bool:
    keys = ("state", "reason", "ssh", "billing_started_at", "ended_at", "impaired")
    return all(getattr(before, key) == getattr(now, key) for key in keys)


def keys_handed_over(situation: Situation, intent: Intent, answer: AgentAnswer) -> Outcome:
    """The durable host key answered on a second verified login; the edge is what the machine read back."""
    host_key = situation.status.host_key
    handed = KeysHandedOver(time=situation.now, object_uid=situation.uid, attempt_uid=intent.attempt_uid, host_key=host_key)
    return Outcome(written=Written(events=(handed, *edge_read_back(situation, answer))), intent=closed(intent, situation, "done"))


def secrets_pushed(situation: Situation, intent: Intent, answer: AgentAnswer, *, is_complete: bool) -> Outcome:
    """Environment, secrets and login keys were read back as they were sent; their versions are pinned for the Attempt.

    The machine says in the same answer how its tools stand: where that ``is_complete``, a starting Workspace is ready with it.
    """
    pushed = SecretsPushed(
        time=situation.now,
        object_uid=situation.uid,
        attempt_uid=intent.attempt_uid,
        versions=_versions(intent),
        keys_digest=str(intent.request["keys_digest"]),
    )
    ready = became_ready(situation, answer) if is_complete and situation.status.phase in _NOT_YET_READY else Written()
    status = replace(ready.statuses.get(situation.uid, situation.status), handled_requests=handled_now(situation))
    if situation.status.phase is Phase.RUNNING:
        status = with_condition(status, "NodeUnreachable", False, "Answered", situation.now)
    written = Written(events=(pushed, *ready.events), statuses={situation.uid: status})
    return Outcome(written=written, intent=closed(intent, situation, "done"))


def _versions(intent: Intent) -> dict[str, int]:
    """Every Secret of a push by name, mounted or read into a variable."""
    variables = [variable["secret"] for variable in intent.request["env"] if "secret" in variable]
    return {str(one["name"]): int(one["version"]) for one in (*variables, *intent.request["secrets"])}


def edge_read_back(situation: Situation, answer: AgentAnswer) -> tuple[EdgeArmed, ...]:
    """The armed edge as the machine says it, on our clock."""
    attempt = situation.attempt
    if attempt is None or answer.remaining_seconds is None:
        return ()
    until = situation.now + timedelta(seconds=answer.remaining_seconds)
    return (EdgeArmed(time=situation.now, object_uid=situation.uid, attempt_uid=attempt.uid, until=until),)


def became_ready(situation: Situation, answer: AgentAnswer) -> Written:
    """Every declared tool answered and the edge is armed: the session begins."""
    attempt = situation.attempt
    assert attempt is not None
    ready_at = min(answer.ready_at or situation.now, situation.now)
    ready_at = max(ready_at, attempt.timings.acquired_at or ready_at)
    ready = BecameReady(
        time=situation.now,
        object_uid=situation.uid,
        attempt_uid=attempt.uid,
        ready_at=ready_at,
        tool_ports={tool.name: tool.port for tool in answer.tools if tool.port and tool.has_answered},
        home=answer.home,
    )
    session = situation.status.session
    if session is not None and session.ready_at is None:
        session = replace(session, ready_at=ready_at)
    status = replace(situation.status, stop_reason="", observed_generation=situation.record.generation, session=session)
    status = with_condition(status, "NodeUnreachable", False, "Answered", situation.now)
    status = with_condition(status, "Ready", True, "ToolsAnswered", situation.now)
    status = with_condition(status, "SetupComplete", True, "ToolsAnswered", situation.now)
    status = with_condition(status, "Stopped", False, "Running", situation.now)
    after, events = moved(situation, status, Phase.RUNNING)
    events = (ready, *edge_read_back(situation, answer), *_recovered(situation, attempt, ready_at), *events)
    return Written(events=events, statuses={situation.uid: after})


def _recovered(situation: Situation, attempt: Attempt, ready_at: datetime) -> tuple[Recovered, ...]:
    """What the Attempt this one replaces is told: how long its session stood still."""
    lost = next((one for one in situation.earlier if one.uid == attempt.replaces and one.interruption is not None), None)
    if lost is None or lost.interruption is None:
        return ()
    seconds = max(int((ready_at - lost.interruption.time).total_seconds()), 0)
    return (
        Recovered(time=situation.now, object_uid=situation.uid, attempt_uid=lost.uid, successor_uid=attempt.uid, recovery_seconds=seconds),
    )


def renewed(situation: Situation, intent: Intent, answer: AgentAnswer) -> Outcome:
    """The machine read back its new edge: what an earlier one no longer needs is given back."""
    attempt = situation.attempt
    if attempt is None or answer.remaining_seconds is None:
        reply = Refused(code="NoHardEdge", scope=Scope.REQUEST, message="the machine has no armed edge")
        return unreached(situation, refused(situation, intent, reply))
    until = situation.now + timedelta(seconds=answer.remaining_seconds)
    armed = EdgeArmed(
        time=situation.now,
        object_uid=situation.uid,
        attempt_uid=attempt.uid,
        until=until,
        bound=str(intent.request["bound"]),
        idle_seconds=int(intent.request["idle_seconds"]),
    )
    hold = hold_until(situation, attempt, until, balances(situation.entries))
    back = hold_lowered(attempt, situation.entries, hold, situation.now)
    status = with_condition(situation.status, "NodeUnreachable", False, "Answered", situation.now)
    status = with_activity(status, answer)
    status = held_until(status, until, armed.bound, situation.now)
    return Outcome(
        written=Written(events=(armed,), entries=back, statuses={situation.uid: status}), intent=closed(intent, situation, "done")
    )


def facts_read(situation: Situation, answer: AgentAnswer) -> Written | None:
    """What a machine tells of its use; None where it is nothing new."""
    status = with_activity(situation.status, answer)
    return Written(statuses={situation.uid: status}) if status != situation.status else None


def with_activity(status: ObjectStatus, answer: AgentAnswer) -> ObjectStatus:
    """``status`` with the last use the machine told of, and what it was."""
    latest = max(answer.activities, key=lambda one: one.time, default=None)
    moment = answer.last_activity_at or (latest.time if latest is not None else None)
    if moment is None or (status.last_activity_at is not None and moment <= status.last_activity_at):
        return status
    return replace(status, last_activity_at=moment, last_activity=clean(latest.detail) if latest is not None else "")


def unreached(situation: Situation, outcome: Outcome) -> Outcome:
    """A machine that runs and doesn't answer: said, and nothing else; a failing SSH proves no death."""
    status = outcome.written.statuses.get(situation.uid, situation.status)
    message = f"the machine runs and doesn't answer: {outcome.detail}"
    status = with_condition(status, "NodeUnreachable", True, outcome.code or "NoAnswer", situation.now, message=message)
    written = replace(outcome.written, statuses={**outcome.written.statuses, situation.uid: status})
    return replace(outcome, written=written)


def went_quiet(situation: Situation, intent: Intent, is_quiet: bool, detail: str) -> Outcome:
    """The door is closed, or the machine couldn't be asked: either way the stop goes on."""
    event = WentQuiet(time=situation.now, object_uid=situation.uid, attempt_uid=intent.attempt_uid, is_quiet=is_quiet, detail=clean(detail))
    return Outcome(written=Written(events=(event,)), intent=closed(intent, situation, "done"))


def released(situation: Situation, intent: Intent, release: Release) -> Outcome:
    """Confirmed gone: the final charge is posted in the same transaction. Still releasing: ask again."""
    attempt = situation.attempt
    assert attempt is not None and attempt.machine is not None
    if release.state is ReleaseState.RELEASING:
        asked = ReleaseAsked(time=situation.now, object_uid=situation.uid, attempt_uid=attempt.uid, machine_id=attempt.machine.id)
        events: tuple[Event, ...] = () if attempt.release_asked else (asked,)
        return Outcome(written=Written(events=events), intent=closed(intent, situation, "releasing"), is_pending=True)
    seen = situation.sightings.machine or attempt.machine
    ended_at = seen.ended_at or release.ended_at
    is_estimated = ended_at is None
    if ended_at is None:
        was_gone = release.was_absent and not attempt.release_asked
        last_known = last_seen_alive(situation) if was_gone else situation.now
        ended_at = min(last_known, _self_stopped_at(situation, attempt) or situation.now)
    ended = CapacityEnded(
        time=situation.now, object_uid=situation.uid, attempt_uid=attempt.uid, ended_at=ended_at, is_estimated=is_estimated
    )
    entries = final_entries(attempt, situation.entries, ended_at, situation.now)
    return Outcome(
        written=Written(events=(ended, *_overrun(situation, ended_at)), entries=entries), intent=closed(intent, situation, "done")
    )


def _self_stopped_at(situation: Situation, attempt: Attempt) -> datetime | None:
    """When billing ended at the latest if the machine kept its edge; None where shutting itself down ends no bill (rule R10)."""
    platform = situation.platform
    if attempt.edge_at is None or attempt.terms is None or platform is None or not platform.self_stop_ends_billing:
        return None
    return attempt.edge_at + attempt.terms.stop_bound


def _overrun(situation: Situation, ended_at: datetime) -> tuple[Remarked, ...]:
    cap, attempt = situation.cap_usd, situation.attempt
    if cap is None or attempt is None:
        return ()
    known = balances(situation.entries)
    others = known.object(situation.uid).charged - known.attempt(attempt.uid).charged
    over = others + charge_of(attempt, ended_at) - cap
    if over <= ZERO:
        return ()
    message = f"{over.shown} above the cap of {cap.shown}: the provider took longer to end the machine than its bound"
    return (Remarked(time=situation.now, object_uid=situation.uid, attempt_uid=attempt.uid, code="CapOverrun", message=message),)
