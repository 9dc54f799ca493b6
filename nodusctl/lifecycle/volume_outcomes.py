"""What came of a disk step. A Volume's holder changes only here, and only after the former holder's machine is gone."""

from __future__ import annotations

from dataclasses import replace

from nodusctl.attempts.events import DiskAttached, DiskDetached, DiskMade, HomeRestored, HomeSaved, RevisionDropped
from nodusctl.lifecycle.situation import HomeVolume, Situation
from nodusctl.lifecycle.written import Written, with_condition
from nodusctl.provider.machines import Disk, Revision
from nodusctl.state.status import Holder, ObjectStatus, Phase, SavedRevision, VolumeStanding


def with_holder(situation: Situation, attempt_uid: str, machine_id: str, *, is_in_use: bool | None) -> dict[str, ObjectStatus]:
    """The home's status with a holder (none for an empty ``attempt_uid``); ``is_in_use`` True makes its disk newer than any revision."""
    home = situation.home
    if home is None:
        return {}
    holder = None
    if attempt_uid:
        holder = Holder(address=situation.record.address, attempt_uid=attempt_uid, epoch=situation.status.epoch, machine_id=machine_id)
    standing = replace(home.standing, holder=holder)
    if is_in_use:
        standing = replace(standing, is_newer_than_revision=True)
    return {home.record.uid: replace(home.status, volume=standing)}


def disk_made(situation: Situation, provider: str, location: str, disk: Disk) -> Written:
    """The home has its disk, and with it a place (rule R7)."""
    home, platform = _home(situation), situation.platforms.get(provider)
    standing = VolumeStanding(
        provider=provider,
        location=disk.location or location,
        zone=disk.zone,
        disk_id=disk.id,
        size_bytes=disk.size_bytes,
        account=platform.account if platform is not None else "",
    )
    event = DiskMade(
        time=situation.now,
        object_uid=home.record.uid,
        attempt_uid=situation.status.attempt_uid,
        volume=home.record.address,
        disk_id=disk.id,
        location=standing.location,
    )
    return Written(events=(event,), statuses={home.record.uid: replace(home.status, volume=standing, phase=Phase.READY)})


def disk_dropped(situation: Situation) -> Written:
    """The empty disk is gone; the home has no place again."""
    home = _home(situation)
    return Written(statuses={home.record.uid: replace(home.status, volume=VolumeStanding(), phase=Phase.PENDING)})


def disk_attached(situation: Situation, disk: Disk, machine_id: str) -> Written:
    """The home is in use: from now on its live disk is newer than any revision."""
    home = _home(situation)
    event = DiskAttached(
        time=situation.now,
        object_uid=situation.uid,
        attempt_uid=situation.status.attempt_uid,
        volume=home.record.address,
        disk_id=disk.id,
        machine_id=machine_id,
    )
    return Written(events=(event,), statuses=with_holder(situation, situation.status.attempt_uid, machine_id, is_in_use=True))


def disk_detached(situation: Situation, disk: Disk) -> Written:
    """The disk is free, confirmed. The holder stays until the Attempt is closed: its home is still to be saved."""
    home = _home(situation)
    event = DiskDetached(
        time=situation.now,
        object_uid=situation.uid,
        attempt_uid=situation.status.attempt_uid,
        volume=home.record.address,
        disk_id=disk.id,
    )
    return Written(events=(event,))


def home_saved(situation: Situation, revision: Revision) -> Written:
    """A verified revision is current."""
    home = _home(situation)
    saved = SavedRevision(
        number=revision.number,
        id=revision.id,
        saved_at=revision.committed_at or situation.now,
        attempt_uid=situation.status.attempt_uid,
        size_bytes=revision.size_bytes,
        digest=revision.digest,
    )
    standing = replace(home.standing, revisions=(*home.standing.revisions, saved), is_newer_than_revision=False, restored_revision=0)
    event = HomeSaved(
        time=situation.now,
        object_uid=situation.uid,
        attempt_uid=situation.status.attempt_uid,
        volume=home.record.address,
        revision=revision,
    )
    status = with_condition(situation.status, "StateSaved", True, "Saved", situation.now, message=f"revision {revision.number}")
    statuses = {situation.uid: status, home.record.uid: replace(home.status, volume=standing)}
    return Written(events=(event,), statuses=statuses)


def disk_restored(situation: Situation, number: int, asked: str) -> Written:
    """The Volume's live disk equals a revision again; it stays so until the next session writes to it."""
    standing = situation.status.volume or VolumeStanding()
    restored = number if number != standing.revision else 0
    status = replace(
        situation.status,
        volume=replace(standing, restored_revision=restored, is_newer_than_revision=False),
        handled_requests={**situation.status.handled_requests, "restore": asked},
    )
    status = with_condition(status, "Restored", True, "Restored", situation.now, message=f"revision {number} was restored")
    event = HomeRestored(time=situation.now, object_uid=situation.uid, attempt_uid="", volume=situation.record.address, number=number)
    return Written(events=(event,), statuses={situation.uid: status})


def revision_dropped(situation: Situation, volume_uid: str, number: int) -> Written:
    """A revision is gone, confirmed; the others keep their numbers."""
    home = situation.home if situation.home is not None and situation.home.record.uid == volume_uid else None
    record, status = (home.record, home.status) if home is not None else (situation.record, situation.status)
    standing = status.volume or VolumeStanding()
    left = tuple(one for one in standing.revisions if one.number != number)
    event = RevisionDropped(
        time=situation.now, object_uid=record.uid, attempt_uid=situation.status.attempt_uid, volume=record.address, number=number
    )
    return Written(events=(event,), statuses={record.uid: replace(status, volume=replace(standing, revisions=left))})


def disk_grown(situation: Situation, disk: Disk) -> Written:
    """The Volume's disk has its new size."""
    standing = replace(situation.status.volume or VolumeStanding(), size_bytes=disk.size_bytes)
    status = replace(situation.status, volume=standing, observed_generation=situation.record.generation)
    return Written(statuses={situation.uid: status})


def disk_deleted(situation: Situation) -> Written:
    """The Volume's disk and revisions are gone, confirmed."""
    return Written(statuses={situation.uid: replace(situation.status, volume=VolumeStanding(), phase=Phase.TERMINATING)})


def _home(situation: Situation) -> HomeVolume:
    assert situation.home is not None, "only a Workspace with a home comes here"
    return situation.home
