"""What is due for the revisions of a Volume: one to bring back, or one too many. The same rules whoever asks, Volume or Workspace.

A restore waits until nobody holds the disk and is given up where the disk was used after it was asked for. Pruning never touches the
latest revision, and what can't be pruned now stands in nobody's way.
"""

from __future__ import annotations

from dataclasses import replace

from nodusctl.lifecycle.pacing import retried
from nodusctl.lifecycle.situation import HomeVolume, Situation
from nodusctl.lifecycle.steps import DropRevision, GiveUp, Mark, MarkKind, RestoreDisk, Step, Wait
from nodusctl.lifecycle.written import Written, with_condition
from nodusctl.state.records import Record
from nodusctl.state.requests import PRUNE_REQUEST, RESTORE_REQUEST, is_unanswered, read_prune, read_restore, standing_mark
from nodusctl.state.status import ObjectStatus, SavedRevision, VolumeStanding

_DEFAULT_LIMIT = 10


def restore_is_pending(record: Record, status: ObjectStatus) -> bool:
    """True from the moment a restore was asked for until it is done or given up."""
    return is_unanswered(RESTORE_REQUEST, record.annotations, status.handled_requests)


def next_restore(situation: Situation) -> Step | Wait | GiveUp | None:
    """The step of a Volume whose owner asked for a revision; None where nobody did."""
    standing, asked = situation.status.volume or VolumeStanding(), situation.record.annotations.get(RESTORE_REQUEST, "")
    if situation.failed_times("restore") and not restore_is_pending(situation.record, situation.status):
        return GiveUp(code=situation.sightings.failure_codes["restore"], because=situation.sightings.asked_in_vain)
    if not restore_is_pending(situation.record, situation.status):
        return None
    wanted = read_restore(situation.record.annotations)
    revision = standing.saved(wanted.number) if wanted is not None else None
    if wanted is None or revision is None:
        return _given_up("NotFound", "the revision is no longer there")
    if standing.holder is not None:
        return GiveUp(code="VolumeBusy", because=f"{standing.holder.address} holds the disk")
    if standing_mark(standing) != wanted.over:
        return _given_up("Conflict", f"the disk was used after the restore of revision {wanted.number} was asked for")
    step = RestoreDisk(number=revision.number, revision_id=revision.id, asked=asked, because=f"its owner wants revision {revision.number}")
    return retried(situation, "restore", step, "restoring the disk")


def next_prune(situation: Situation, home: HomeVolume) -> DropRevision | None:
    """The oldest revision where too many are kept. A try that failed is not repeated in this pass: the next one prunes."""
    standing = home.standing
    platform = situation.platforms.get(standing.provider)
    if platform is None or not platform.prunes_revisions or situation.failed_times("delete-revision"):
        return None
    surplus = surplus_of(standing, kept_at_most(home.record, home.status))
    if not surplus:
        return None
    return DropRevision(number=surplus[0].number, revision_id=surplus[0].id, because=f"dropping revision {surplus[0].number}")


def kept_at_most(record: Record, status: ObjectStatus) -> int:
    """The limit in force: ``revisionHistoryLimit``, or less while the owner's wish to prune is not done."""
    limit = int(record.spec.get("revisionHistoryLimit", _DEFAULT_LIMIT))
    asked = record.annotations.get(PRUNE_REQUEST, "")
    keep = read_prune(record.annotations) if status.handled_requests.get("prune") != asked else None
    return limit if keep is None else min(limit, keep)


def surplus_of(standing: VolumeStanding, limit: int) -> tuple[SavedRevision, ...]:
    """Revisions above the limit, oldest first. The latest always stays."""
    return standing.revisions[: max(len(standing.revisions) - max(limit, 1), 0)]


def standing_words(disk: VolumeStanding) -> str:
    """Where the live disk stands among its revisions; empty where there is no disk."""
    if not disk.disk_id:
        return ""
    if not disk.disk_revision:
        return "the disk was never saved"
    return f"the disk is {'newer than ' if disk.is_newer_than_revision else ''}revision {disk.disk_revision}"


def write_dropped_restore(situation: Situation, step: Mark) -> Written:
    """A restore that won't be made any more is no longer asked for."""
    status = with_condition(situation.status, "Restored", False, step.reason, situation.now, message=step.message)
    handled = {**status.handled_requests, "restore": situation.record.annotations.get(RESTORE_REQUEST, "")}
    return Written(statuses={situation.uid: replace(status, handled_requests=handled)})


def _given_up(reason: str, message: str) -> Mark:
    return Mark(what=MarkKind.DROP_RESTORE, reason=reason, message=message, because=message)
