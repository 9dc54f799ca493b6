"""Settling an open intent: ask the provider for its token, and believe an absence only by rule R3.

The surprise: most steps state a goal ("this disk is attached", "this machine is gone"), so asking again with the same token is both the
look-up and the deed. Only what makes a new thing (a machine, a disk, a revision) must be looked for first.
"""

from __future__ import annotations

from datetime import timedelta

from nodusctl.attempts.intents import Intent, StepKind
from nodusctl.lifecycle.pacing import retry_at, trouble_code
from nodusctl.lifecycle.situation import Situation
from nodusctl.lifecycle.steps import Abandon, GiveUp, Resend, Settle, Step, Wait
from nodusctl.state.status import Phase

MAKES_A_THING = frozenset({StepKind.LAUNCH, StepKind.CREATE_DISK, StepKind.SAVE})
PUSHES = frozenset({StepKind.HAND_OVER_KEYS, StepKind.PUSH, StepKind.RENEW, StepKind.QUIESCE})
"""Steps that only tell a machine something: a stop, or the end of the machine, makes them moot."""
_BETWEEN_LOOKS = timedelta(seconds=1)


def settle(situation: Situation, intent: Intent) -> Step | Wait | GiveUp:
    """What to do about an open intent."""
    waiting = _pause(situation, intent)
    if waiting is not None:
        return waiting
    if intent.step not in MAKES_A_THING:
        return Resend(intent=intent, because=f"a {intent.step} was asked for and its answer is not known")
    platform = situation.platforms.get(intent.provider)
    if platform is None:
        return GiveUp(code="ProviderNotReady", because=f"the provider {intent.provider} can't be asked about an open {intent.step}")
    return _look_up(situation, intent, platform.list_lag_bound, platform.create_is_idempotent)


def _pause(situation: Situation, intent: Intent) -> Wait | GiveUp | Abandon | None:
    name = f"settle-{intent.step}"
    failed = situation.failed_times(name)
    if failed >= situation.rules.lookups_per_pass and intent.step is StepKind.DELETE_REVISION:
        return Abandon(intent=intent, because="a revision that may still be there is dropped another time")
    is_worn = failed >= situation.rules.lookups_per_pass
    said = intent.last_detail or situation.sightings.asked_in_vain
    why = f": {said}" if said else ""
    if is_worn and intent.step not in PUSHES:
        return GiveUp(code="IntentUnsettled", because=f"nobody could say whether the {intent.step} happened{why}")
    if is_worn and situation.status.phase is Phase.RUNNING:
        # While it starts, its start's own bound counts: until then it may only be slow.
        return GiveUp(code="NodeUnreachable", because=f"the machine runs and doesn't answer{why}")
    if failed and retry_at(situation, name) > situation.now:
        return _ask_again(situation, intent, why)
    return None


def _ask_again(situation: Situation, intent: Intent, why: str) -> Wait:
    code = trouble_code(situation, str(intent.step)) if intent.step in PUSHES else "IntentUnsettled"
    said = f"asking again what became of the {intent.step}{why}"
    if code == "NodeUnreachable":
        said = f"the machine runs and doesn't answer{why}; its {intent.step} stays open"
    return Wait(until=retry_at(situation, f"settle-{intent.step}"), because=said, code=code)


def _look_up(situation: Situation, intent: Intent, lag: timedelta, is_idempotent: bool) -> Step | Wait:
    counted = tuple(seen for seen in intent.absences if seen >= intent.opened_at + lag)
    if len(counted) >= 2:
        if is_idempotent:
            return Resend(intent=intent, because="its absence is proved; creates are idempotent, so the same token is sent again")
        return Abandon(intent=intent, because="its absence is proved")
    if not intent.absences:
        return Settle(intent=intent, because=f"a {intent.step} was asked for and its answer is not known")
    earliest = max(intent.opened_at + lag, intent.absences[-1] + _BETWEEN_LOOKS)
    if earliest > situation.now:
        return Wait(until=earliest, because="an absence counts only after the provider's list lag, and twice")
    return Settle(intent=intent, because="looking again for what the token made")
