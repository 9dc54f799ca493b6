"""``prices show``: rows of the price book as they count now, cheapest first, each with its age, source and licence.

Only the newest row of a shape and place is shown; older ones stay in the book for old receipts.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta

from nodusctl.ports.prices import PriceSource
from nodusctl.pricing.book import PriceRow


@dataclass(frozen=True, slots=True, kw_only=True)
class PriceFilter:
    """Empty parts let everything through. ``gpu`` is a family (``H100``) or an offering id's beginning, in any case."""

    gpu: str = ""
    providers: frozenset[str] = frozenset()
    region: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class SeenPrice:
    """One row now. ``is_old`` means past its time to live: the price may be used, and every plan says so."""

    row: PriceRow
    age: timedelta
    is_old: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class PriceList:
    """``total`` counts what the filter let through; ``prices`` may be fewer. ``licences`` names each licence once, with its sources."""

    prices: tuple[SeenPrice, ...]
    total: int
    book_version: str
    licences: Mapping[str, tuple[str, ...]]


def list_prices(wanted: PriceFilter, *, prices: PriceSource, now: datetime, limit: int | None) -> PriceList:
    """Read the book and choose. UserError where a price file of the project can't be read."""
    book = prices.book()
    rows = sorted((row for row in _newest(book.rows) if _is_wanted(row, wanted)), key=_by_price)
    shown = rows if limit is None else rows[:limit]
    licences: dict[str, dict[str, None]] = {}
    for row in shown:
        licences.setdefault(row.licence or "not stated", {})[row.source or "the project's own file"] = None
    return PriceList(
        prices=tuple(SeenPrice(row=row, age=now - row.observed_at, is_old=now - row.observed_at > row.ttl) for row in shown),
        total=len(rows),
        book_version=book.version,
        licences={licence: tuple(sources) for licence, sources in licences.items()},
    )


def _newest(rows: Iterable[PriceRow]) -> Iterable[PriceRow]:
    found: dict[tuple[str, ...], PriceRow] = {}
    for row in rows:
        place = (row.provider, row.instance_type, row.offering_id, row.region_class, row.region, row.zone)
        former = found.get(place)
        if former is None or row.observed_at >= former.observed_at:
            found[place] = row
    return found.values()


def _is_wanted(row: PriceRow, wanted: PriceFilter) -> bool:
    gpu = wanted.gpu.lower().partition(":")[0]
    count = wanted.gpu.partition(":")[2]
    has_gpu = not gpu or row.gpu_family.lower() == gpu or row.offering_id.lower().startswith(f"{gpu}-")
    has_count = not count or str(row.gpu_count) == count
    is_there = not wanted.region or wanted.region in {row.region_class, row.region, row.zone}
    return has_gpu and has_count and is_there and (not wanted.providers or row.provider in wanted.providers)


def _by_price(row: PriceRow) -> tuple[bool, int, str, str, str]:
    price = row.on_demand if row.on_demand is not None else row.spot
    return price is None, price.micro if price is not None else 0, row.provider, row.instance_type, row.region
