"""The price book: rows as they were observed, never rewritten; a refresh appends, so that old receipts can be recomputed.

The surprise: an empty price is unknown, which is a fact of its own. It is never 0 and never enters a sum.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from types import MappingProxyType

from nodusctl.base.canonical import digest
from nodusctl.base.money import Money
from nodusctl.provider.offers import Offer


@dataclass(frozen=True, slots=True)
class PriceRow:
    """What one instance type costs in one place, before tax. Positional on purpose: thousands are made in one go.

    ``provider`` is a provider type or an instance's name; an empty ``instance_type`` prices every offer of ``offering_id`` there.
    Prices are USD per hour (storage: USD per GiB-month), None where unknown. ``native_amount`` in ``native_currency`` became the
    on-demand price at ``rate_to_usd`` of ``rate_date``. GPU memory and host memory are nominal GiB, as decimal text.
    """

    provider: str
    instance_type: str
    region: str
    zone: str
    region_class: str
    offering_id: str
    gpu_family: str
    gpu_form: str
    gpu_memory_gib: str
    gpu_count: int
    vcpu: str
    memory_gib: str
    disk_gib: str
    on_demand: Money | None
    spot: Money | None
    stopped: Money | None
    storage: Money | None
    increment_seconds: int
    minimum_seconds: int
    capacity_hint: str
    native_amount: str
    native_currency: str
    rate_to_usd: str
    rate_date: str
    observed_at: datetime
    ttl: timedelta
    source: str
    licence: str

    def compute_rate(self, is_interruptible: bool) -> Money | None:
        """USD per hour for on-demand or interruptible capacity."""
        return self.spot if is_interruptible else self.on_demand


_NO_ROWS: Mapping[tuple[str, str], tuple[PriceRow, ...]] = MappingProxyType({})


@dataclass(frozen=True, slots=True)
class PriceBook:
    """All rows in use. ``version`` (``2026-07-20.ab12cd34``) names the newest observation and the content it was made from."""

    version: str
    rows: tuple[PriceRow, ...]
    _index: Mapping[tuple[str, str], tuple[PriceRow, ...]] = field(default_factory=lambda: _NO_ROWS, compare=False, repr=False)

    @classmethod
    def of(cls, version: str, rows: Iterable[PriceRow]) -> PriceBook:
        """A book with an index; later rows of one shape and place supersede earlier ones."""
        kept = tuple(rows)
        index: defaultdict[tuple[str, str], list[PriceRow]] = defaultdict(list)
        for row in kept:
            index[row.provider, row.instance_type or row.offering_id].append(row)
        return cls(version, kept, MappingProxyType({key: tuple(found) for key, found in index.items()}))

    def row_for(self, offer: Offer, provider_type: str = "") -> PriceRow | None:
        """The row that prices this offer: the newest of its zone, else of its region, its class, or of any place.

        A place whose newest row doesn't know the price gives way to a wider one that does.
        """
        newest: dict[int, PriceRow] = {}
        for row in self._rows_about(offer, provider_type):
            closeness = _closeness(row, offer)
            if closeness is not None and (closeness not in newest or row.observed_at >= newest[closeness].observed_at):
                newest[closeness] = row
        by_closeness = [newest[closeness] for closeness in sorted(newest, reverse=True)]
        priced = (row for row in by_closeness if row.compute_rate(offer.is_interruptible) is not None)
        return next(priced, by_closeness[0] if by_closeness else None)

    def _rows_about(self, offer: Offer, provider_type: str) -> Iterator[PriceRow]:
        for provider in dict.fromkeys((provider_type, offer.provider)):
            for shape in dict.fromkeys((offer.id, offer.instance_type)):
                yield from self._index.get((provider, shape), ())


def book_version(newest: datetime | None, content_digests: Iterable[str]) -> str:
    """``<date of the newest row>.<8 hex digits>`` over the digests of what the book was read from; ``empty`` without a row."""
    if newest is None:
        return "empty"
    return f"{newest:%Y-%m-%d}.{digest(sorted(content_digests))[:8]}"


EMPTY_BOOK = PriceBook.of("empty", ())


def _closeness(row: PriceRow, offer: Offer) -> int | None:
    """How specifically a row's place is the offer's; None where it is another place."""
    if row.zone:
        return 3 if row.zone == offer.zone else None
    if row.region:
        return 2 if row.region == offer.region else None
    if row.region_class:
        return 1 if row.region_class == offer.region_class else None
    return 0
