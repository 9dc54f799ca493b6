"""Where a frozen rate came from: found again among the rows of the price book, as far as the book still has them.

Rows are never rewritten, so a rate from the book stays traceable while the file with its row is here. A quote, a setting and free
hardware have no row; for them only what must hold in any case is checked.

The surprise: a book rate may differ from its row. Apply asks every price again and goes on within ten per cent, so what is required is
that the ceiling is the row's rate plus ten per cent, and that the rate stays under it.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from fractions import Fraction
from math import floor

from nodusctl.engine.findings import Fault, Finding
from nodusctl.pricing.book import PriceBook, PriceRow
from nodusctl.state.terms import Terms


class Trace(StrEnum):
    """How far back a rate can be followed."""

    ROW = "traced to its price row"
    MOVED = "moved within its ceiling since its price row"
    NO_ROW = "from a price row this book no longer has"
    QUOTED = "quoted by the provider"
    CONFIGURED = "set in the project"
    FREE = "free"


@dataclass
class RateOrigins:
    """Judges frozen terms against a book. ``types`` gives each provider instance's type; the book is read at the first need."""

    book: Callable[[], PriceBook]
    types: Mapping[str, str]
    _rows: dict[str, list[PriceRow]] | None = field(default=None, init=False, repr=False)
    _version: str = field(default="", init=False, repr=False)
    _judged: dict[tuple[object, ...], tuple[Trace, tuple[Finding, ...]]] = field(default_factory=dict, init=False, repr=False)

    def judge(self, terms: Terms) -> tuple[Trace, tuple[Finding, ...]]:
        """The trace of one rate and what is wrong with it; remembered, because thousands of Attempts share their terms."""
        key = (
            terms.offer_key,
            terms.rate_usd_per_hour,
            terms.ceiling_usd_per_hour,
            terms.price_origin,
            terms.price_source,
            terms.price_observed_at,
            terms.book_version,
        )
        if key not in self._judged:
            trace, findings = self._judge(terms)
            self._judged[key] = (trace, (*_bounds(terms), *findings))
        return self._judged[key]

    def _judge(self, terms: Terms) -> tuple[Trace, tuple[Finding, ...]]:
        match terms.price_origin:
            case "book":
                return self._by_row(terms)
            case "quoted":
                return Trace.QUOTED, ()
            case "configured":
                return Trace.CONFIGURED, ()
            case "free":
                return Trace.FREE, ()
            case other:
                return Trace.NO_ROW, (_differs("an origin: quoted, book, configured or free", other or "none"),)

    def _by_row(self, terms: Terms) -> tuple[Trace, tuple[Finding, ...]]:
        about = [row for row in self._about(terms) if row.compute_rate(terms.is_interruptible) is not None]
        named = [row for row in about if row.source == terms.price_source and row.observed_at == terms.price_observed_at]
        if not named:
            if terms.book_version != self._version:
                return Trace.NO_ROW, ()
            return Trace.NO_ROW, (_differs(f"a row of book {self._version}", f"none from {terms.price_source}"),)
        rates = [rate.micro for row in about if (rate := row.compute_rate(terms.is_interruptible)) is not None]
        if terms.rate_usd_per_hour.micro in rates:
            return Trace.ROW, ()
        if any(terms.ceiling_usd_per_hour.micro == _ceiling(rate) for rate in rates):
            return Trace.MOVED, ()
        known = named[0].compute_rate(terms.is_interruptible)
        return Trace.NO_ROW, (_differs(f"{known.shown if known else 'unknown'}/h ({terms.price_source})", _rate(terms)),)

    def _about(self, terms: Terms) -> Iterator[PriceRow]:
        """Rows of this shape, here or in a wider place."""
        if self._rows is None:
            book, rows = self.book(), defaultdict(list)
            for row in book.rows:
                rows[row.instance_type or row.offering_id].append(row)
            self._rows, self._version = rows, book.version
        providers = {terms.provider, self.types.get(terms.provider, "")}
        for shape in {terms.instance_type, terms.offering}:
            for row in self._rows.get(shape, ()):
                places = ((row.zone, terms.zone), (row.region, terms.region), (row.region_class, terms.region_class))
                if row.provider in providers and all(theirs in {"", ours} for theirs, ours in places):
                    yield row


def _bounds(terms: Terms) -> Iterator[Finding]:
    rate, ceiling = terms.rate_usd_per_hour, terms.ceiling_usd_per_hour
    if rate > ceiling:
        yield Finding(fault=Fault.CEILING, expected=f"at most {ceiling.shown}/h", found=_rate(terms))
    if rate.micro < 0 or (rate.micro == 0) is not (terms.price_origin == "free"):
        yield _differs("a rate above $0.00, or free own hardware", f"{_rate(terms)}, {terms.price_origin}")


def _differs(expected: str, found: str) -> Finding:
    return Finding(fault=Fault.RATE, expected=expected, found=found)


def _rate(terms: Terms) -> str:
    return f"{terms.rate_usd_per_hour.shown}/h"


def _ceiling(micro: int) -> int:
    return floor(Fraction(micro * 110, 100) + Fraction(1, 2))
