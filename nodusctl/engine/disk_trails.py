"""A disk's money trail: which charges a Volume must have, recomputed from its disk events, for ``receipts --verify``.

On purpose a second reading with an arithmetic of its own (``recomputing``): nothing here is shared with what posts. A period that ended
because the disk grew or went must be charged; one that ended with its month may still wait for the pass that posts it, but no later one
may be charged before it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime

from nodusctl.attempts.events import DiskGone, DiskGrown, DiskMade
from nodusctl.base.ids import Address
from nodusctl.base.timestamps import format_time
from nodusctl.engine.findings import Fault, Finding, dollars
from nodusctl.engine.recomputing import own_storage
from nodusctl.ledger.entries import Entry
from nodusctl.ports.books import Books, Damaged

DISK_EVENTS: frozenset[type] = frozenset({DiskMade, DiskGrown, DiskGone})
"""Events that say something about what a disk costs."""


@dataclass(frozen=True, slots=True)
class Period:
    """One charge as it has to be. ``is_over``: the disk grew or went at its end, so nothing is left to wait for."""

    entry_id: str
    begins: datetime
    ends: datetime
    micro: int
    is_over: bool


@dataclass(slots=True)
class DiskTrail:
    """Filled event by event. ``since`` is None where nothing accrues: no disk, or one of which no price is known."""

    uid: str
    owner: Address
    disk_id: str = ""
    since: datetime | None = None
    size_bytes: int = 0
    micro_per_gib_month: int = 0
    periods: list[Period] = field(default_factory=list)

    @property
    def owner_uid(self) -> str:
        """The Volume's uid, which is its own."""
        return self.uid

    def note(self, event: DiskMade | DiskGrown | DiskGone) -> None:
        """Read one more event."""
        if isinstance(event, DiskGone):
            self._end(event.until, is_over=True)
            self.since = None
            return
        if event.since is not None:
            self._end(event.since, is_over=True)
        rate = event.usd_per_gib_month
        self.disk_id, self.size_bytes, self.micro_per_gib_month = event.disk_id, event.size_bytes, rate.micro if rate is not None else 0
        self.since = event.since if rate is not None else None

    def close(self, now: datetime) -> None:
        """No event is left: what may be charged by now are the months that are over."""
        self._end(_month(now, 0), is_over=False)

    def differences(self, posted: Mapping[str, Entry]) -> Iterator[Finding]:
        """What was charged against what had to be."""
        wanted = {one.entry_id: one for one in self.periods if one.micro}
        latest = max((wanted[entry_id].ends for entry_id in posted if entry_id in wanted), default=None)
        for entry_id, period in wanted.items():
            entry = posted.get(entry_id)
            if entry is not None:
                yield from _compared(period, entry, self.uid)
            elif period.is_over or (latest is not None and period.ends < latest):
                yield Finding(fault=Fault.CHARGE, expected=f"{dollars(period.micro)} {_words(period)}", found="none")
        for entry_id, entry in posted.items():
            if entry_id not in wanted:
                found = f"{dollars(_charged(entry, self.uid))} (entry {entry_id})"
                yield Finding(fault=Fault.CHARGE, expected="a charge for a period of its disk", found=found)

    def _end(self, until: datetime, *, is_over: bool) -> None:
        begins = self.since
        while begins is not None and begins < until:
            ends = min(_month(begins, 1), until)
            micro = own_storage(begins, ends, self.size_bytes, self.micro_per_gib_month)
            entry_id = f"{self.uid}/storage/{self.disk_id}/{format_time(begins)}"
            self.periods.append(Period(entry_id, begins, ends, micro, is_over))
            begins = ends


def walk_disks(books: Books, now: datetime) -> Iterator[DiskTrail | Damaged]:
    """Each Volume that ever had a disk; an event that can't be read when it is met."""
    found: dict[str, DiskTrail] = {}
    for event in books.object_events(DISK_EVENTS):
        if isinstance(event, Damaged):
            yield event
        elif isinstance(event, DiskMade | DiskGrown | DiskGone):
            trail = found.setdefault(event.object_uid, DiskTrail(event.object_uid, event.volume))
            trail.owner = event.volume
            trail.note(event)
    for trail in found.values():
        trail.close(now)
        yield trail


def _compared(period: Period, entry: Entry, uid: str) -> Iterator[Finding]:
    found = _charged(entry, uid)
    if found != period.micro:
        yield Finding(
            fault=Fault.CHARGE, expected=f"{dollars(period.micro)} {_words(period)}", found=f"{dollars(found)} (entry {entry.id})"
        )
    if not period.begins <= entry.time <= period.ends or entry.time.astimezone(UTC).month != period.begins.astimezone(UTC).month:
        dated = f"dated {format_time(entry.time)} (entry {entry.id})"
        yield Finding(fault=Fault.MISPLACED, expected=f"a date {_words(period)}", found=dated)


def _charged(entry: Entry, uid: str) -> int:
    return sum(posting.amount.micro for posting in entry.postings if posting.account == f"charged:{uid}")


def _words(period: Period) -> str:
    return f"from {format_time(period.begins)} to {format_time(period.ends)}"


def _month(moment: datetime, later: int) -> datetime:
    """The first moment of the UTC month around a moment, or of one that many ``later``."""
    there = moment.astimezone(UTC)
    years, month = divmod(there.month - 1 + later, 12)
    return datetime(there.year + years, month + 1, 1, tzinfo=UTC)
