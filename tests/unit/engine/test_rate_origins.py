"""A frozen rate is followed back to its price row: as long as the book has the row, the two must fit."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest
from support.history import START, terms_of

from nodusctl.base.money import ZERO, Money
from nodusctl.engine.findings import Fault
from nodusctl.engine.rate_origins import RateOrigins, Trace
from nodusctl.pricing.book import PriceBook, PriceRow
from nodusctl.state.terms import Terms, ceiling

RATE = Money.parse("2.00")


def row(rate: str | None = "2.00", **changes: Any) -> PriceRow:
    """A price of ``h100`` at the provider type ``cloud`` in its region ``us-1``, spot at half."""
    made = PriceRow(
        provider="cloud",
        instance_type="h100",
        region="us-1",
        zone="",
        region_class="us",
        offering_id="h100-x1-us",
        gpu_family="H100",
        gpu_form="",
        gpu_memory_gib="80",
        gpu_count=1,
        vcpu="8",
        memory_gib="64",
        disk_gib="",
        on_demand=Money.parse(rate) if rate else None,
        spot=Money.parse("1.00"),
        stopped=None,
        storage=None,
        increment_seconds=1,
        minimum_seconds=60,
        capacity_hint="",
        native_amount="",
        native_currency="",
        rate_to_usd="",
        rate_date="",
        observed_at=START,
        ttl=timedelta(days=30),
        source="list",
        licence="",
    )
    return replace(made, **changes)


def frozen(rate: Money = RATE, **changes: Any) -> Terms:
    """Terms whose price came from that row."""
    fields: dict[str, Any] = {
        "provider": "east",
        "instance_type": "h100",
        "offering": "h100-x1-us",
        "rate_usd_per_hour": rate,
        "ceiling_usd_per_hour": ceiling(rate),
        "price_origin": "book",
        "price_source": "list",
        "price_observed_at": START,
        "book_version": "v1",
    }
    return terms_of(**{**fields, **changes})


def judged(terms: Terms, *rows: PriceRow, version: str = "v1") -> tuple[Trace, list[Fault]]:
    trace, findings = RateOrigins(lambda: PriceBook.of(version, rows), {"east": "cloud"}).judge(terms)
    return trace, [one.fault for one in findings]


def test_a_rate_that_stands_in_its_row_is_traced_by_the_type_of_its_instance() -> None:
    assert judged(frozen(), row()) == (Trace.ROW, [])


def test_a_later_row_beside_it_takes_nothing_away() -> None:
    assert judged(frozen(), row(), row("2.50", observed_at=START + timedelta(days=1))) == (Trace.ROW, [])


def test_a_spot_rate_is_looked_for_among_spot_prices() -> None:
    assert judged(frozen(Money.parse("1.00"), is_interruptible=True), row()) == (Trace.ROW, [])


def test_a_rate_that_moved_within_its_ceiling_before_the_launch_is_told_apart() -> None:
    assert judged(frozen(Money.parse("2.15"), ceiling_usd_per_hour=ceiling(RATE)), row()) == (Trace.MOVED, [])


def test_a_rate_that_neither_row_nor_ceiling_explain_is_found() -> None:
    assert judged(frozen(Money.parse("1.50")), row()) == (Trace.NO_ROW, [Fault.RATE])


def test_a_row_this_book_no_longer_has_is_no_fault() -> None:
    assert judged(frozen(), version="v2") == (Trace.NO_ROW, [])


def test_a_row_that_the_very_same_book_never_had_is_one() -> None:
    assert judged(frozen(price_source="another list"), row()) == (Trace.NO_ROW, [Fault.RATE])
    assert judged(frozen(), row(region="eu-1")) == (Trace.NO_ROW, [Fault.RATE])
    assert judged(frozen(), row(None)) == (Trace.NO_ROW, [Fault.RATE])


@pytest.mark.parametrize(
    ("origin", "rate", "trace", "faults"),
    [
        ("quoted", RATE, Trace.QUOTED, []),
        ("configured", RATE, Trace.CONFIGURED, []),
        ("free", ZERO, Trace.FREE, []),
        ("free", RATE, Trace.FREE, [Fault.RATE]),
        ("quoted", ZERO, Trace.QUOTED, [Fault.RATE]),
    ],
)
def test_what_has_no_row_must_still_be_possible(origin: str, rate: Money, trace: Trace, faults: list[Fault]) -> None:
    assert judged(frozen(rate, price_origin=origin)) == (trace, faults)
