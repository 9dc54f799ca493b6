"""From the first reason to stop until the machine is confirmed gone, its last cent posted and the home committed.

Where the disk outlives the machine it is saved after the release, from a quiet disk and at no compute cost; where it doesn't, before. A
stop never reports Stopped before the release is confirmed, and save retries never hold compute.
"""

from __future__ import annotations

from nodusctl.attempts.attempt import Attempt
from nodusctl.lifecycle.funding import OUT_OF_MONEY, is_past_saving
from nodusctl.lifecycle.homes import next_prune
from nodusctl.lifecycle.pacing import retried
from nodusctl.lifecycle.situation import Situation
from nodusctl.lifecycle.steps import DetachHome, GiveUp, Mark, MarkKind, Quiesce, Release, SaveHome, Step, Wait
from nodusctl.lifecycle.vanishing import is_dead
from nodusctl.state.status import Phase


def next_while_stopping(situation: Situation) -> Step | Wait | GiveUp | None:
    """One step further down, whatever began the stop."""
    attempt = situation.attempt
    if attempt is None or not attempt.is_open:
        return _after_the_stop(situation)
    if attempt.machine is None:
        return Mark(what=MarkKind.CLOSE_ATTEMPT, reason="Cancelled", because="nothing was allocated")
    if not attempt.is_released:
        return _while_it_stands(situation, attempt)
    return _once_released(situation, attempt)


def _while_it_stands(situation: Situation, attempt: Attempt) -> Step | Wait | GiveUp:
    if not attempt.quiet_asked:
        if attempt.timings.registered_at is None or attempt.interruption is not None or is_dead(situation):
            return Mark(what=MarkKind.SKIP_QUIESCE, because="the machine can't be asked to go quiet")
        return Quiesce(because="closing the door before the machine ends")
    platform = situation.platform
    if platform is None:
        return GiveUp(code="ProviderNotReady", because="the provider of the machine is not ready")
    if not platform.disk_outlives_machine and _needs_save(situation, attempt):
        return _save(situation)
    return retried(situation, "release", Release(because="ending the machine"), "waiting for the machine to end")


def _once_released(situation: Situation, attempt: Attempt) -> Step | Wait | GiveUp:
    platform = situation.platform
    home_disk = situation.home.standing.disk_id if situation.home else ""
    if platform is None:
        return GiveUp(code="ProviderNotReady", because="the provider of the home is not ready")
    if home_disk and platform.holds_volumes and home_disk in attempt.attached_disks:
        return retried(situation, "detach", DetachHome(because="freeing the home's disk"), "waiting for the disk to be free")
    if platform.disk_outlives_machine and _needs_save(situation, attempt):
        return _save(situation)
    drop = next_prune(situation, situation.home) if situation.home is not None else None
    if drop is not None:
        return drop
    return Mark(what=MarkKind.CLOSE_ATTEMPT, reason=_ending(attempt), because="the machine is gone and the home is settled")


def _needs_save(situation: Situation, attempt: Attempt) -> bool:
    if situation.home is None or attempt.home_is_settled or not situation.home.standing.disk_id:
        return False
    if situation.status.phase is Phase.RECOVERING:
        return False  # the live disk is the truth for what comes next; a revision now would only delay it
    return attempt.timings.ready_at is not None and not situation.record.discards_home


def _save(situation: Situation) -> Step | Wait | GiveUp:
    if situation.failed_times("save") >= situation.rules.save_tries or _failed_too_long(situation) or _holds_compute_too_long(situation):
        return Mark(what=MarkKind.GIVE_UP_SAVE, message=situation.sightings.asked_in_vain, because="the save failed; the live disk is kept")
    if situation.attempt is not None and not situation.attempt.is_released and is_past_saving(situation, situation.attempt):
        return Mark(what=MarkKind.GIVE_UP_SAVE, message=OUT_OF_MONEY, because=OUT_OF_MONEY)
    assert situation.home is not None
    step = SaveHome(number=situation.home.standing.revision + 1, because="saving the home")
    return retried(situation, "save", step, "saving the home")


def _failed_too_long(situation: Situation) -> bool:
    """Passes that wait for nothing try once each and remember no try of an earlier one: then the save bound says when it is enough."""
    timings = situation.attempt.timings if situation.attempt is not None else None
    since = (timings.deletion_proven_at or timings.stop_asked_at) if timings is not None else None
    return bool(situation.failed_times("save")) and since is not None and since + situation.rules.save_bound <= situation.now


def _holds_compute_too_long(situation: Situation) -> bool:
    """A home on the machine's own disk is saved before the release, within a bound: the machine costs money meanwhile."""
    attempt = situation.attempt
    if attempt is None or attempt.is_released or attempt.timings.stop_asked_at is None:
        return False
    return attempt.timings.stop_asked_at + situation.rules.save_bound <= situation.now


def _ending(attempt: Attempt) -> str:
    return "Succeeded" if attempt.timings.ready_at is not None else "Failed"


def _after_the_stop(situation: Situation) -> Step | Wait | GiveUp | None:
    spare = next((one for one in situation.earlier if one.is_open and one.machine is not None), None)
    if spare is not None and spare.machine is not None:
        return GiveUp(
            code="IntentUnsettled", because=f"its second machine {spare.machine.id} is not confirmed gone yet; the next tick goes on"
        )
    if situation.status.phase is Phase.TERMINATING:
        return Mark(what=MarkKind.REMOVE, because="nothing of it is left outside")
    return Mark(what=MarkKind.REST, reason=situation.status.stop_reason, because="the stop is complete")
