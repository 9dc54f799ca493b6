"""What came of a disk step. A Volume's holder changes only here, and only after the former holder's machine is gone."""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime

from nodusctl.attempts.events import (
    DiskAttached,
    DiskDetached,
    DiskGone,
    DiskGrown,
    DiskMade,
    HomeRestored,
    HomeSaved,
    RevisionDropped,
)
from nodusctl.base.money import Money
from nodusctl.ledger.balances import month_of
from nodusctl.ledger.storage import posted_until, storage_captures
from nodusctl.lifecycle.situation import HomeVolume, Situation
from nodusctl.lifecycle.written import Written, with_condition
from nodusctl.provider.machines import Disk, Revision
from nodusctl.state.status import Holder, ObjectStatus, Phase, SavedRevision, StorageStretch, VolumeStanding


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


def disk_made(situation: Situation, provider: str, location: str, disk: Disk, rate: Money | None) -> Written:
    """The home has its disk, and with it a place (rule R7); from now on it costs ``rate``, USD per GiB-month, None where unknown."""
    home, platform = _home(situation), situation.platforms.get(provider)
    since = min(disk.created_at or situation.now, situation.now)
    standing = VolumeStanding(
        provider=provider,
        location=disk.location or location,
        zone=disk.zone,
        disk_id=disk.id,
        size_bytes=disk.size_bytes,
        account=platform.account if platform is not None else "",
        storage=StorageStretch(since=since, size_bytes=disk.size_bytes, usd_per_gib_month=rate),
    )
    event = DiskMade(
        time=situation.now,
        object_uid=home.record.uid,
        attempt_uid=situation.status.attempt_uid,
        volume=home.record.address,
        disk_id=disk.id,
        location=standing.location,
        size_bytes=disk.size_bytes,
        since=since,
        usd_per_gib_month=rate,
    )
    return Written(events=(event,), statuses={home.record.uid: replace(home.status, volume=standing, phase=Phase.READY)})


def disk_dropped(situation: Situation) -> Written:
    """The empty disk is gone; the home has no place again."""
    home = _home(situation)
    gone = disk_gone(home, situation.now, situation.status.attempt_uid)
    return replace(gone, statuses={home.record.uid: replace(home.status, volume=VolumeStanding(), phase=Phase.PENDING)})


def disk_gone(home: HomeVolume, now: datetime, attempt_uid: str = "", *, is_forgotten: bool = False) -> Written:
    """The last charge of a disk, and that it costs nothing any more."""
    standing = home.standing
    until = _not_before(standing, now)
    event = DiskGone(
        time=now,
        object_uid=home.record.uid,
        attempt_uid=attempt_uid,
        volume=home.record.address,
        disk_id=standing.disk_id,
        until=until,
        is_forgotten=is_forgotten,
    )
    return Written(events=(event,), entries=storage_captures(home.record.address, home.record.uid, standing, until))


def storage_posted(situation: Situation) -> Written:
    """What the disk cost in UTC months that are over, each charge in its own month."""
    standing = situation.status.volume or VolumeStanding()
    if standing.storage is None:
        return Written()
    until = month_of(situation.now)[0]
    after = replace(situation.status, volume=replace(standing, storage=posted_until(standing.storage, until)))
    entries = storage_captures(situation.record.address, situation.uid, standing, until)
    return Written(entries=entries, statuses={situation.uid: after})


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


def disk_grown(situation: Situation, disk: Disk, rate: Money | None) -> Written:
    """The Volume's disk has its new size; what the smaller one cost is posted, and ``rate`` holds for the larger."""
    record, before = situation.record, situation.status.volume or VolumeStanding()
    since = _not_before(before, situation.now)
    stretch = StorageStretch(since=since, size_bytes=disk.size_bytes, usd_per_gib_month=rate)
    standing = replace(before, size_bytes=disk.size_bytes, storage=stretch)
    event = DiskGrown(
        time=situation.now,
        object_uid=situation.uid,
        volume=record.address,
        disk_id=before.disk_id,
        size_bytes=disk.size_bytes,
        since=since,
        usd_per_gib_month=rate,
    )
    status = replace(situation.status, volume=standing, observed_generation=record.generation)
    entries = storage_captures(record.address, situation.uid, before, since)
    return Written(events=(event,), entries=entries, statuses={situation.uid: status})


def disk_deleted(situation: Situation) -> Written:
    """The Volume's disk and revisions are gone, confirmed."""
    gone = disk_gone(HomeVolume(record=situation.record, status=situation.status), situation.now)
    return replace(gone, statuses={situation.uid: replace(situation.status, volume=VolumeStanding(), phase=Phase.TERMINATING)})


def _not_before(standing: VolumeStanding, now: datetime) -> datetime:
    """``now``; where the clock was put back, the moment up to which its charges are posted."""
    return max(now, standing.storage.since) if standing.storage is not None else now


def _home(situation: Situation) -> HomeVolume:
    assert situation.home is not None, "only a Workspace with a home comes here"
    return situation.home
