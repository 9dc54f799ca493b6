"""The next step of a Workspace: the table of lifecycle.md, one function a row group.

Phases move only here (``Mark``) and in the outcomes of a step; nothing else decides what comes next.
"""

from __future__ import annotations

from datetime import timedelta

from nodusctl.attempts.intents import Intent, StepKind
from nodusctl.lifecycle.burning import with_burn_rate
from nodusctl.lifecycle.opening import next_opening_step
from nodusctl.lifecycle.pacing import retried, start_deadline
from nodusctl.lifecycle.pinning import missing_secret
from nodusctl.lifecycle.recovering import next_of_dead, next_while_recovering
from nodusctl.lifecycle.renewing import next_renewal
from nodusctl.lifecycle.settling import PUSHES, settle
from nodusctl.lifecycle.situation import Situation
from nodusctl.lifecycle.starting import next_while_pending, next_while_starting
from nodusctl.lifecycle.steps import Abandon, GiveUp, Look, Mark, MarkKind, PushSecrets, ReadFacts, Renew, Resend, Step, Wait
from nodusctl.lifecycle.stopping import next_while_stopping
from nodusctl.lifecycle.vanishing import is_dead, look_failed, next_gone_look
from nodusctl.lifecycle.wanted import Aim, is_asked, wanted
from nodusctl.state.requests import REFRESH_REQUEST, RESTART_REQUEST, START_REQUEST, STOP_REQUEST
from nodusctl.state.status import Phase, StopReason

FACTS_BEFORE_EDGE = timedelta(minutes=5)


def next_workspace_step(situation: Situation) -> Step | Wait | GiveUp | None:
    """The step that is due, when to ask again, why this pass ends, or None: the Workspace is where it should be."""
    return with_burn_rate(situation, _next_of_phase(situation))


def _next_of_phase(situation: Situation) -> Step | Wait | GiveUp | None:
    if situation.intents:
        return _next_of_intent(situation, situation.intents[0])
    match situation.status.phase:
        case Phase.PENDING:
            return next_while_pending(situation)
        case Phase.STARTING:
            return next_while_starting(situation)
        case Phase.RUNNING:
            return _next_while_running(situation)
        case Phase.RECOVERING:
            return next_while_recovering(situation)
        case Phase.STOPPING | Phase.TERMINATING:
            return next_while_stopping(situation)
        case Phase.STOPPED | Phase.FAILED | Phase.READY:
            return _next_at_rest(situation)


def _next_of_intent(situation: Situation, intent: Intent) -> Step | Wait | GiveUp:
    if _is_moot(situation, intent):
        return Abandon(intent=intent, because="a step of the session that ends is dropped")
    step = settle(situation, intent)
    if isinstance(step, Resend) and intent.step is StepKind.LAUNCH and wanted(situation).aim is not Aim.RUN:
        return Abandon(intent=intent, because="its absence is proved, and no machine is wanted any more")
    if isinstance(step, Wait) and intent.step in PUSHES and _may_have_died(situation, intent):
        return Look(because="a machine that doesn't answer may have ended")
    return step


def _may_have_died(situation: Situation, intent: Intent) -> bool:
    """True where the machine wasn't looked at since it last failed to answer."""
    failed_at, looked_at = situation.sightings.failed_at.get(f"settle-{intent.step}"), situation.sightings.looked_at
    return failed_at is not None and (looked_at is None or looked_at < failed_at)


def _is_moot(situation: Situation, intent: Intent) -> bool:
    """A push to a machine that is to end anyway, or that took too long to start, is dropped: a stop pre-empts its own object's start."""
    if intent.step not in PUSHES or situation.attempt is None or situation.attempt.terms is None:
        return False
    is_late = situation.status.phase is Phase.STARTING and start_deadline(situation) <= situation.now
    return wanted(situation).aim is not Aim.RUN or is_late or is_dead(situation)


def _next_while_running(situation: Situation) -> Step | Wait | GiveUp | None:
    want = wanted(situation)
    if want.aim is Aim.GO:
        return Mark(what=MarkKind.TERMINATE, reason=str(want.reason), because="the owner deletes it")
    if want.reason is StopReason.OWNER:
        return Mark(what=MarkKind.BEGIN_STOP, reason=str(want.reason), because="the owner stops it")
    if situation.sightings.looked_at is None:
        return Look(because="what was known of the machine is from an earlier pass")
    if is_dead(situation):
        return next_of_dead(situation)
    if want.aim is Aim.STOP:
        return Mark(what=MarkKind.BEGIN_STOP, reason=str(want.reason), because=f"it is to stop ({want.reason})")
    if is_asked(situation, RESTART_REQUEST):
        return Mark(what=MarkKind.BEGIN_RESTART, reason="Owner", because="the owner restarts it")
    if situation.failed_times("look"):
        return look_failed(situation)
    if situation.sightings.gone_looks and next_gone_look(situation) <= situation.now:
        return Look(because="an absent machine is looked for twice")
    if situation.sightings.gone_looks:
        return Wait(until=next_gone_look(situation), because="an absent machine is looked for twice")
    return _next_on_a_living_machine(situation)


def _next_on_a_living_machine(situation: Situation) -> Step | Wait | GiveUp | None:
    renewal = next_renewal(situation)
    if isinstance(renewal, Renew):
        return renewal
    if needs_push(situation):
        if missing := missing_secret(situation):
            return GiveUp(code="NotFound", because=missing)
        return retried(situation, "push", PushSecrets(because="its secrets or login keys changed"), "pushing the secrets")
    if is_asked(situation, START_REQUEST) or situation.status.observed_generation != situation.record.generation:
        return Mark(what=MarkKind.SETTLE_SPEC, because="the new spec needs no restart")
    if renewal is None and _ends_soon(situation):
        return ReadFacts(because="it ends soon, and can't be asked afterwards")
    return renewal


def _ends_soon(situation: Situation) -> bool:
    """True once in a pass, in the last minutes before the edge: otherwise a pass opens no ssh."""
    attempt = situation.attempt
    if attempt is None or attempt.edge_at is None or situation.sightings.has_facts:
        return False
    return attempt.edge_at - situation.now <= FACTS_BEFORE_EDGE


def needs_push(situation: Situation) -> bool:
    """True while a running machine holds other login keys than it should, or a refresh of its secrets was asked for."""
    attempt = situation.attempt
    if attempt is None or attempt.pushed_versions is None:
        return False
    return is_asked(situation, REFRESH_REQUEST) or attempt.pushed_keys_digest != situation.login_keys_digest


def _next_at_rest(situation: Situation) -> Step | Wait | GiveUp | None:
    want = wanted(situation)
    if want.aim is Aim.GO:
        return Mark(what=MarkKind.TERMINATE, reason=str(want.reason), because="the owner deletes it")
    is_new_spec = situation.status.observed_generation != situation.record.generation
    if want.aim is Aim.RUN:
        heals = situation.status.phase is Phase.FAILED and is_new_spec
        if heals or situation.status.start_is_asked or is_asked(situation, START_REQUEST):
            return Mark(what=MarkKind.BEGIN_START, because="the owner starts it")
    if is_new_spec:
        return Mark(what=MarkKind.SETTLE_SPEC, because="the new spec needs nothing now")
    if want.aim is Aim.STOP and situation.status.phase is Phase.FAILED:
        return Mark(what=MarkKind.REST, reason="Owner", because="the owner stops it")
    if is_asked(situation, STOP_REQUEST):
        return Mark(what=MarkKind.SETTLE_SPEC, because="it is stopped already")
    return next_opening_step(situation)
