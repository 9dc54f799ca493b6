"""``cost``: charges of the ledger, summed by object, day, offering or label. Pure over entries and Attempts, which may be streams.

A charge stands at the day its entry is dated: the end of a session, a renewal, the end of a UTC month. What still runs is held, not yet
charged, and shown beside it; a hold belongs to no day, so a period has none. So it is with storage that isn't posted yet.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from enum import StrEnum
from sys import intern

from nodusctl.attempts.attempt import Attempt
from nodusctl.base.ids import Address
from nodusctl.base.money import ZERO, Money, total
from nodusctl.ledger.entries import Entry, charged, held
from nodusctl.ledger.storage import accrued_among, is_unpriced, stretches_of
from nodusctl.state.snapshot import Snapshot

NOT_LABELLED = "(no such label)"
REMOVED = "(removed objects)"
STORAGE = "storage"
"""Where disks stand among offerings."""


class GroupBy(StrEnum):
    """``--by``; a label's key is named apart."""

    OBJECT = "object"
    DAY = "day"
    OFFERING = "offering"
    LABEL = "label"


@dataclass(frozen=True, slots=True, kw_only=True)
class Period:
    """``since`` <= time < ``until``; None is open to that side."""

    since: datetime | None = None
    until: datetime | None = None

    def __contains__(self, moment: datetime) -> bool:
        return (self.since is None or moment >= self.since) and (self.until is None or moment < self.until)

    @property
    def is_always(self) -> bool:
        """True for no period at all."""
        return self.since is None and self.until is None


ALWAYS = Period()


@dataclass(frozen=True, slots=True, kw_only=True)
class CostGroup:
    """One line. ``held_usd`` is what open sessions have set aside: at most that much may still be charged."""

    name: str
    charged_usd: Money
    held_usd: Money
    attempts: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Spending:
    """Groups, dearest first, days in order. ``held_usd`` is what is held now; a hold belongs to no day.

    ``storage_so_far_usd`` is what disks have cost since their last charge; ``unpriced`` are Volumes with a disk of
    which no price was written down.
    """

    by: GroupBy
    label: str
    groups: tuple[CostGroup, ...]
    held_usd: Money = ZERO
    period: Period = ALWAYS
    storage_so_far_usd: Money = ZERO
    unpriced: tuple[Address, ...] = ()

    @property
    def charged_usd(self) -> Money:
        """All charges."""
        return total(group.charged_usd for group in self.groups)


def spending_of(
    entries: Iterable[Entry],
    attempts: Iterable[Attempt],
    snapshot: Snapshot,
    *,
    by: GroupBy,
    label: str = "",
    only: Address | None = None,
    period: Period = ALWAYS,
    now: datetime | None = None,
) -> Spending:
    """Sum the ledger. ``only`` keeps one object, also a removed one; its uid decides where it stands in the state.

    ``attempts`` are looked at for offerings alone. ``now`` is until when disks have cost something; None leaves that out.
    """
    offerings = _offerings(attempts) if by is GroupBy.OFFERING else {}
    standing = snapshot.get(only) if only is not None else None
    name_of = _naming(by, label, offerings, snapshot)
    held_now = ZERO
    sums: defaultdict[str, list[Money]] = defaultdict(lambda: [ZERO, ZERO])
    members: defaultdict[str, set[str]] = defaultdict(set)
    for entry in entries:
        is_wanted = entry.bearer and entry.time in period
        if not is_wanted or not _counts(entry, only, standing.record.uid if standing is not None else ""):
            continue
        name = name_of(entry)
        sums[name][0] += entry.moved(charged(entry.bearer))
        moved = entry.moved(held(entry.bearer)) if period.is_always else ZERO
        held_now += moved
        sums[name][1] += ZERO if by is GroupBy.DAY else moved
        members[name] |= {entry.attempt_uid} if entry.attempt_uid else set()
    groups = [
        CostGroup(name=name, charged_usd=amounts[0], held_usd=amounts[1], attempts=len(members[name])) for name, amounts in sums.items()
    ]
    kept = [group for group in groups if group.charged_usd or (period.is_always and by is not GroupBy.DAY)]
    order: Callable[[CostGroup], tuple[int, str]] = (
        (lambda group: (0, group.name)) if by is GroupBy.DAY else (lambda group: (-group.charged_usd.micro, group.name))
    )
    disks = [one for one in snapshot if one.status.volume is not None and only in (None, one.record.address)]
    return Spending(
        by=by,
        label=label,
        groups=tuple(sorted(kept, key=order)),
        held_usd=held_now,
        period=period,
        storage_so_far_usd=accrued_among(stretches_of(disks), None, now) if now is not None and period.is_always else ZERO,
        unpriced=tuple(one.record.address for one in disks if period.is_always and is_unpriced(one.status.volume)),
    )


def _counts(entry: Entry, only: Address | None, uid: str) -> bool:
    return only is None or entry.object_address == str(only) or (bool(uid) and entry.object_uid == uid)


def _offerings(attempts: Iterable[Attempt]) -> Mapping[str, str]:
    return {attempt.uid: intern(attempt.terms.offering) for attempt in attempts if attempt.terms is not None}


def _naming(by: GroupBy, label: str, offerings: Mapping[str, str], snapshot: Snapshot) -> Callable[[Entry], str]:
    present = {one.record.uid: one.record for one in snapshot}

    def by_label(entry: Entry) -> str:
        record = present.get(entry.object_uid)
        if record is None:
            return REMOVED
        if label:
            return f"{label}={record.labels[label]}" if label in record.labels else NOT_LABELLED
        return ",".join(f"{key}={text}" for key, text in sorted(record.labels.items())) or NOT_LABELLED

    match by:
        case GroupBy.DAY:
            return lambda entry: f"{entry.time.astimezone(UTC):%Y-%m-%d}"
        case GroupBy.OFFERING:
            return lambda entry: STORAGE if entry.is_storage else offerings.get(entry.attempt_uid, "unknown")
        case GroupBy.LABEL:
            return by_label
        case GroupBy.OBJECT:
            return lambda entry: str(present[entry.object_uid].address) if entry.object_uid in present else entry.object_address
