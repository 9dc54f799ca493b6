"""The money of a disk: a charge for each period of it that is over, and what has accrued since the last one.

A period ends where the disk grows, where it goes, and at the end of each UTC month; its charge is posted to the Volume, dated in its own
month, whenever a step comes by. What a disk costs is never held before and stops nothing: whatever else happens, the data stays, and so
does its cost. A disk without a known rate has no charge at all, which is not a charge of zero.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import replace
from datetime import datetime, timedelta
from typing import TYPE_CHECKING

from nodusctl.base.ids import Address
from nodusctl.base.money import ZERO, Money, total
from nodusctl.base.timestamps import format_time
from nodusctl.ledger import build
from nodusctl.ledger.balances import month_of
from nodusctl.ledger.entries import Entry
from nodusctl.pricing.storage import storage_charge
from nodusctl.state.status import StorageStretch, VolumeStanding

if TYPE_CHECKING:
    from nodusctl.state.snapshot import Standing

_TICK = timedelta(microseconds=1)
"""Before the first moment of a month: where the charge of the month before it is dated."""
Stretches = Mapping[str, StorageStretch]
"""What accrues now, by the uid of its Volume."""


def storage_captures(volume: Address, uid: str, standing: VolumeStanding, until: datetime) -> tuple[Entry, ...]:
    """The charges of a disk up to ``until`` that weren't posted yet; none where its rate is unknown, or nothing."""
    made: list[Entry] = []
    for begins, ends in _periods(standing.storage, until):
        amount = _charge(standing.storage, begins, ends)
        if amount:
            dated = ends - _TICK if ends == month_of(ends)[0] else ends
            entry_id = f"{uid}/storage/{standing.disk_id}/{format_time(begins)}"
            made.append(
                build.storage_capture(entry_id, dated, volume, uid, amount, memo=f"disk {standing.disk_id} from {format_time(begins)}")
            )
    return tuple(made)


def posted_until(stretch: StorageStretch, moment: datetime) -> StorageStretch:
    """The stretch once everything up to ``moment`` is posted."""
    return replace(stretch, since=max(stretch.since, moment))


def accrued(stretch: StorageStretch | None, now: datetime, since: datetime | None = None) -> Money:
    """What isn't posted yet, as it would be posted now; of what began at or after ``since``, the first moment of a UTC month."""
    return total(_charge(stretch, begins, ends) for begins, ends in _periods(stretch, now) if since is None or begins >= since)


def accrued_among(stretches: Stretches, objects: Collection[str] | None, now: datetime, since: datetime | None = None) -> Money:
    """The same of the Volumes whose uids are among ``objects``; None: of all."""
    return total(accrued(one, now, since) for uid, one in stretches.items() if objects is None or uid in objects)


def stretches_of(standings: Iterable[Standing]) -> Stretches:
    """What accrues now, of everything a state has."""
    found = ((one.record.uid, one.status.volume.storage) for one in standings if one.status.volume is not None)
    return {uid: stretch for uid, stretch in found if stretch is not None}


def is_unpriced(standing: VolumeStanding | None) -> bool:
    """True for a disk that costs something nobody knows here: its price was unknown when it was made, or wasn't written down then."""
    if standing is None or not standing.disk_id:
        return False
    return standing.storage is None or standing.storage.usd_per_gib_month is None


def _charge(stretch: StorageStretch | None, begins: datetime, ends: datetime) -> Money:
    if stretch is None or stretch.usd_per_gib_month is None:
        return ZERO
    return storage_charge(ends - begins, stretch.size_bytes, stretch.usd_per_gib_month)


def _periods(stretch: StorageStretch | None, until: datetime) -> Iterator[tuple[datetime, datetime]]:
    """From the start of what isn't posted to ``until``, cut at the first moments of UTC months."""
    begins = stretch.since if stretch is not None else until
    while begins < until:
        ends = min(month_of(begins)[1], until)
        yield begins, ends
        begins = ends
