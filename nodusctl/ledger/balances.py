"""Balances: a fold of entries. Nothing stores a balance, so none can be wrong while the entries are right."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from types import MappingProxyType

from nodusctl.base.money import ZERO, Money
from nodusctl.ledger.build import AttemptBalance
from nodusctl.ledger.entries import AVAILABLE, Entry, EntryKind, charged, held

_NOTHING = AttemptBalance()


@dataclass(frozen=True, slots=True, kw_only=True)
class Balances:
    """Balances after a run of entries. ``has_grant`` turns the balance check on (post-paid before the first grant)."""

    available: Money
    has_grant: bool
    by_attempt: Mapping[str, AttemptBalance]
    by_object: Mapping[str, AttemptBalance]

    def attempt(self, attempt_uid: str) -> AttemptBalance:
        """What one Attempt holds and has been charged."""
        return self.by_attempt.get(attempt_uid, _NOTHING)

    def object(self, object_uid: str) -> AttemptBalance:
        """The same over all Attempts of one object."""
        return self.by_object.get(object_uid, _NOTHING)

    def among(self, object_uids: Collection[str]) -> AttemptBalance:
        """The same over several objects (the scope of a Budget)."""
        return _summed(self.object(uid) for uid in object_uids)

    @property
    def whole(self) -> AttemptBalance:
        """The same over everything."""
        return _summed(self.by_object.values())


def balances(entries: Iterable[Entry]) -> Balances:
    """Fold entries, in any order."""
    available, has_grant = 0, False
    attempts: defaultdict[str, list[int]] = defaultdict(lambda: [0, 0])
    objects: defaultdict[str, list[int]] = defaultdict(lambda: [0, 0])
    for entry in entries:
        available += entry.moved(AVAILABLE).micro
        has_grant = has_grant or entry.kind is EntryKind.GRANT
        if entry.bearer:
            change = (entry.moved(held(entry.bearer)).micro, entry.moved(charged(entry.bearer)).micro)
            for sums in (*((attempts[entry.attempt_uid],) if entry.attempt_uid else ()), objects[entry.object_uid]):
                sums[0] += change[0]
                sums[1] += change[1]
    return Balances(
        available=Money(available),
        has_grant=has_grant,
        by_attempt=_frozen(attempts),
        by_object=_frozen(objects),
    )


def spent(
    entries: Iterable[Entry], object_uids: Collection[str] | None, since: datetime | None = None, until: datetime | None = None
) -> Money:
    """Charges of the objects (None: of all) posted in ``since`` <= time < ``until``: what a Budget's period counts."""
    total = 0
    for entry in entries:
        is_inside = (since is None or entry.time >= since) and (until is None or entry.time < until)
        if is_inside and entry.bearer and (object_uids is None or entry.object_uid in object_uids):
            total += entry.moved(charged(entry.bearer)).micro
    return Money(total)


def month_of(moment: datetime) -> tuple[datetime, datetime]:
    """The UTC month around a moment: its start and the next one's."""
    start = moment.astimezone(UTC).replace(day=1, hour=0, minute=0, second=0, microsecond=0)
    following = start.replace(year=start.year + 1, month=1) if start.month == 12 else start.replace(month=start.month + 1)
    return start, following


def _frozen(sums: Mapping[str, list[int]]) -> Mapping[str, AttemptBalance]:
    return MappingProxyType({uid: AttemptBalance(held=Money(pair[0]), charged=Money(pair[1])) for uid, pair in sums.items()})


def _summed(parts: Iterable[AttemptBalance]) -> AttemptBalance:
    held_now, charged_now = ZERO, ZERO
    for part in parts:
        held_now += part.held
        charged_now += part.charged
    return AttemptBalance(held=held_now, charged=charged_now)
