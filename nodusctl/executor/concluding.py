"""From a reply to what is written and remembered: the outcome of each kind of intent, and of looks and probes.

The surprise: the same function concludes a call and a look-up, because what a token made is what the call would have answered.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from nodusctl.attempts.intents import Intent, IntentState, StepKind
from nodusctl.base.copies import replace
from nodusctl.base.money import Money
from nodusctl.base.redaction import clean
from nodusctl.executor.intended import served_tools
from nodusctl.executor.intending_disks import storage_rate
from nodusctl.executor.situations import failed, pending, succeeded
from nodusctl.lifecycle import outcomes, volume_outcomes
from nodusctl.lifecycle.outcomes import Outcome, closed
from nodusctl.lifecycle.settling import MAKES_A_THING
from nodusctl.lifecycle.situation import Sightings, Situation
from nodusctl.lifecycle.written import Written
from nodusctl.provider.agent import AgentAnswer
from nodusctl.provider.machines import Disk, DiskState, Machine, MachineState, Release, ReleaseState, Revision, RevisionState
from nodusctl.provider.replies import Done, Refused, Reply, Unknown
from nodusctl.state.status import Phase

_NEVER_RESTORED = frozenset({"NotFound", "Invalid", "Conflict", "Unsupported"})
"""Refusals of a restore that no second try heals: the revision is gone, can't be trusted, or can't be brought back here."""
_DISK_STEPS = frozenset(
    {
        StepKind.CREATE_DISK,
        StepKind.ATTACH,
        StepKind.DETACH,
        StepKind.RESTORE,
        StepKind.DELETE_REVISION,
        StepKind.GROW,
        StepKind.DELETE_DISK,
    }
)
"""Steps that a disk answers."""
_PLACES = frozenset({StepKind.LAUNCH, StepKind.CREATE_DISK})
"""Steps that try an offer: a home whose disk can't be made in a place can't start there either."""


def _free_disk(intent: Intent) -> Disk:
    return Disk(id=str(intent.request["disk_id"]), state=DiskState.GONE)


_GONE: dict[StepKind, Callable[[Intent], Release | Disk]] = {
    StepKind.RELEASE: lambda intent: Release(state=ReleaseState.GONE, was_absent=True),
    StepKind.DELETE_DISK: _free_disk,
    StepKind.DETACH: _free_disk,
    StepKind.DELETE_REVISION: _free_disk,
}
"""What "not found" means where the aim is that a thing be gone: it is. Only ids this account has shown us come here (rule R5)."""


def conclude(situation: Situation, intent: Intent, reply: Reply[Any]) -> Outcome:
    """What came of an intent's call."""
    match reply:
        case Unknown() if intent.step is StepKind.QUIESCE:
            return outcomes.went_quiet(situation, intent, is_quiet=False, detail=reply.detail)
        case Unknown() if intent.step is StepKind.RENEW or (intent.step is StepKind.PUSH and situation.status.phase is Phase.RUNNING):
            return outcomes.unreached(situation, outcomes.unknown(situation, intent, reply))
        case Unknown():
            return outcomes.unknown(situation, intent, reply)
        case Refused() if intent.step in _PLACES:
            return outcomes.launch_refused(situation, intent, reply)
        case Refused(code="NotFound") if intent.step in _GONE:
            return _done(situation, intent, _GONE[intent.step](intent))
        case Refused() if intent.step is StepKind.RESTORE and reply.code in _NEVER_RESTORED:
            return outcomes.restore_refused(situation, intent, reply)
        case Refused() if intent.step is StepKind.QUIESCE:
            return outcomes.went_quiet(situation, intent, is_quiet=False, detail=f"{reply.code} {reply.message}")
        case Refused():
            return outcomes.refused(situation, intent, reply)
        case Done():
            return _done(situation, intent, reply.value)


def conclude_lookup(situation: Situation, intent: Intent, reply: Reply[Any]) -> Outcome:
    """What a look-up of the token says: found is done, absent is one more absence, anything else is still unknown."""
    match reply:
        case Done(value=None):
            seen = replace(intent, absences=(*intent.absences, situation.now))
            return Outcome(written=Written(), intent=seen, is_pending=True)
        case Done() if intent.step in MAKES_A_THING:
            return _done(situation, intent, reply.value)
        case Done():
            return Outcome(written=Written(), intent=intent, is_pending=True)
        case Refused():
            told_nothing = outcomes.unknown(situation, intent, Unknown(detail=f"{reply.code} {reply.message}"))
            return replace(told_nothing, code=reply.code, retry_after=reply.retry_after)
        case Unknown():
            return outcomes.unknown(situation, intent, reply)


def abandoned(situation: Situation, intent: Intent) -> Outcome:
    """The call is proved not to have happened: a launch gives its hold back, and the next try has another token."""
    if intent.step in _PLACES:
        return outcomes.launch_refused(situation, intent, Refused(code="Unavailable", message="the request never arrived"))
    return Outcome(written=Written(), intent=replace(closed(intent, situation, "absent"), state=IntentState.CANCELLED))


def remember(situation: Situation, sightings: Sightings, name: str, outcome: Outcome) -> Sightings:
    """What this pass keeps in mind of an outcome."""
    if outcome.is_pending:
        return pending(sightings, name, situation)
    if outcome.brought_nothing:
        return failed(sightings, name, situation, outcome.code, outcome.detail, retry_after=outcome.retry_after)
    return succeeded(sightings, name)


def after_look(situation: Situation, sightings: Sightings, reply: Reply[Machine]) -> tuple[Sightings, Written | None]:
    """What a look says. A machine that can't be read is not gone, and no look counts where the account was refused."""
    now = situation.now
    match reply:
        case Done(value=machine) if machine.state is MachineState.UNREADABLE:
            code, detail = machine.reason or "Forbidden", clean(machine.reason_detail or machine.reason)
            return replace(failed(sightings, "look", situation, code, detail), looked_at=now), None
        case Done(value=machine):
            gone_looks = sightings.gone_looks + 1 if machine.state is MachineState.GONE else 0
            seen = replace(succeeded(sightings, "look"), machine=machine, looked_at=now, gone_looks=gone_looks)
            written = None if machine.state is MachineState.GONE else outcomes.machine_seen(situation, machine)
            return seen, written
        case Refused():
            seen = failed(sightings, "look", situation, reply.code, clean(reply.message), retry_after=reply.retry_after)
            return replace(seen, looked_at=now), None
        case Unknown():
            return replace(failed(sightings, "look", situation, "Unavailable", clean(reply.detail)), looked_at=now), None


def after_prices(situation: Situation, sightings: Sightings, reply: Reply[Mapping[str, Money | None]]) -> Sightings:
    """Today's rates; where nobody could be asked the approved ones stand."""
    return replace(sightings, rates=dict(reply.value) if isinstance(reply, Done) else {})


def after_facts(situation: Situation, sightings: Sightings, reply: Reply[AgentAnswer]) -> tuple[Sightings, Written | None]:
    """What a machine says of its use; asked once a pass, whatever it answers."""
    asked = replace(sightings, has_facts=True)
    return asked, outcomes.facts_read(situation, reply.value) if isinstance(reply, Done) else None


def after_probe(
    situation: Situation, sightings: Sightings, reply: Reply[AgentAnswer], tools: tuple[str, ...]
) -> tuple[Sightings, Written | None]:
    """What the agent says: ready once it is registered, every declared tool answered and the edge is armed."""
    asked = replace(sightings, asked_at=situation.now)
    match reply:
        case Done(value=answer):
            attempt = situation.attempt
            missing = _missing(answer, tools)
            is_wanted = situation.status.phase in {Phase.STARTING, Phase.RECOVERING}
            if attempt is None or attempt.timings.registered_at is None or missing or not is_wanted:
                return replace(succeeded(asked, "probe"), answer=answer, asked_in_vain=missing), None
            return replace(succeeded(asked, "probe"), answer=answer), outcomes.became_ready(situation, answer)
        case Refused():
            return failed(asked, "probe", situation, reply.code, f"ssh: {reply.code} {clean(reply.message)}".strip()), None
        case Unknown():
            return failed(asked, "probe", situation, "Unavailable", f"ssh: {clean(reply.detail)}"), None


def _missing(answer: AgentAnswer, tools: tuple[str, ...]) -> str:
    """What is not ready yet, in words; empty when all is."""
    if answer.remaining_seconds is None:
        return "the machine has no armed edge"
    answered = {tool.name: tool for tool in answer.tools}
    for tool in tools:
        found = answered.get(tool)
        if found is None or not found.has_answered:
            return f"{tool} has not answered" + (f" ({found.seen})" if found is not None and found.seen else "")
    return ""


def _done(situation: Situation, intent: Intent, value: Any) -> Outcome:
    done = closed(intent, situation, "done")
    match intent.step, value:
        case StepKind.LAUNCH, Machine():
            return outcomes.launched(situation, intent, value)
        case StepKind.RELEASE, Release():
            return outcomes.released(situation, intent, value)
        case StepKind.HAND_OVER_KEYS, AgentAnswer():
            return outcomes.keys_handed_over(situation, intent, value)
        case StepKind.PUSH, AgentAnswer():
            tools = served_tools(situation, situation.platform.tools if situation.platform else frozenset())
            return outcomes.secrets_pushed(situation, intent, value, is_complete=not _missing(value, tools))
        case StepKind.RENEW, AgentAnswer():
            return outcomes.renewed(situation, intent, value)
        case StepKind.QUIESCE, AgentAnswer():
            return outcomes.went_quiet(situation, intent, is_quiet=value.is_quiet, detail="")
        case StepKind.SAVE, Revision():
            return _saved(situation, intent, value)
        case _, Disk() if intent.step in _DISK_STEPS:
            return _disk_done(situation, intent, done, value)
        case _:
            return outcomes.unknown(situation, intent, Unknown(detail=f"{intent.step} was answered by {type(value).__name__}"))


def _saved(situation: Situation, intent: Intent, revision: Revision) -> Outcome:
    match revision.state:
        case RevisionState.READY:
            return Outcome(written=volume_outcomes.home_saved(situation, revision), intent=closed(intent, situation, "done"))
        case RevisionState.SAVING:
            return Outcome(written=Written(), intent=closed(intent, situation, "saving"), is_pending=True)
        case RevisionState.FAILED:
            return Outcome(
                written=Written(),
                intent=closed(intent, situation, "failed"),
                brought_nothing=True,
                code="SaveFailed",
                detail=clean(revision.reason),
            )


def _disk_done(situation: Situation, intent: Intent, done: Intent, disk: Disk) -> Outcome:
    if intent.step is StepKind.CREATE_DISK:
        written = volume_outcomes.disk_made(situation, intent.provider, str(intent.request["location"]), disk, storage_rate(intent))
    elif intent.step is StepKind.ATTACH:
        written = volume_outcomes.disk_attached(situation, disk, str(intent.request["machine_id"]))
    elif intent.step is StepKind.DETACH:
        written = volume_outcomes.disk_detached(situation, disk)
    elif intent.step is StepKind.RESTORE:
        written = volume_outcomes.disk_restored(situation, int(intent.request["number"]), str(intent.request["asked"]))
    elif intent.step is StepKind.DELETE_REVISION:
        written = volume_outcomes.revision_dropped(situation, intent.target_uid, int(intent.request["number"]))
    elif intent.step is StepKind.GROW:
        written = volume_outcomes.disk_grown(situation, disk, storage_rate(intent))
    elif disk.state is not DiskState.GONE:
        return Outcome(written=Written(), intent=closed(intent, situation, "deleting"), is_pending=True)
    elif intent.target_uid == situation.uid:
        written = volume_outcomes.disk_deleted(situation)
    else:
        written = volume_outcomes.disk_dropped(situation)
    return Outcome(written=written, intent=done)
