"""Reading price files."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from nodusctl.base.money import Money
from nodusctl.pricing.rows import COLUMNS, parse_rows

HEADER = "provider,offering_id,on_demand_usd_hour,observed_at"


@pytest.mark.parametrize("price", ["0", "0.00", "NaN", "-1", "1e309", '"2,50"', "inf", "$2.50", "2.5000001"])
def test_a_bad_price_is_rejected_with_file_and_line_and_the_others_are_kept(price: str) -> None:
    text = f"{HEADER}\nsim,l4-24g-x1-us,1.10,2026-07-20\nsim,l4-24g-x1-eu,{price},2026-07-20\n"
    rows, (fault,) = parse_rows(text, "book.csv")
    assert [row.offering_id for row in rows] == ["l4-24g-x1-us"]
    assert str(fault.span) == "book.csv:3:3"
    assert fault.field == "on_demand_usd_hour"
    assert "empty" in fault.fix


def test_an_empty_price_is_unknown() -> None:
    (row,), faults = parse_rows(f"{HEADER}\nsim,l4-24g-x1-us,,2026-07-20\n", "book.csv")
    assert (row.on_demand, row.spot, faults) == (None, None, ())


def test_defaults_are_per_second_billing_and_thirty_days() -> None:
    (row,), _ = parse_rows(f"{HEADER}\nsim,l4-24g-x1-us,1.10,2026-07-20\n", "book.csv")
    assert (row.on_demand, row.increment_seconds, row.minimum_seconds, row.ttl) == (Money.parse("1.10"), 1, 0, timedelta(hours=720))
    assert row.observed_at == datetime(2026, 7, 20, tzinfo=UTC)


def test_every_fault_of_every_row_is_reported_at_once() -> None:
    text = f"{HEADER}\nsim,a,0,yesterday\n,b,1,2026-07-20\nsim,c,1\n"
    rows, faults = parse_rows(text, "book.csv")
    assert rows == ()
    assert [str(fault.span) for fault in faults] == ["book.csv:2:3", "book.csv:2:4", "book.csv:3:1", "book.csv:4:1"]


def test_a_header_with_a_misspelt_a_missing_or_a_double_column_stops_the_file() -> None:
    rows, faults = parse_rows("provider,providr,provider\nx,y,z\n", "book.csv")
    assert rows == ()
    assert [fault.code for fault in faults] == ["Invalid", "Duplicate", "FieldValueRequired"]
    assert "provider" in faults[0].fix


def test_an_empty_file_is_a_fault_and_blank_lines_and_a_byte_order_mark_are_not() -> None:
    assert parse_rows("", "book.csv")[1]
    rows, faults = parse_rows(f"\ufeff{HEADER}\n\nsim,a,1,2026-07-20\n\n", "book.csv")
    assert (len(rows), faults) == (1, ())


def test_all_columns_are_read_into_the_row() -> None:
    values = {name: name for name in COLUMNS} | {
        "gpu_count": "8",
        "increment_seconds": "60",
        "minimum_seconds": "120",
        "observed_at": "2026-07-20T10:00:00+02:00",
        "ttl": "24h",
        "on_demand_usd_hour": "1",
        "spot_usd_hour": "2",
        "stopped_usd_hour": "3",
        "storage_usd_gib_month": "4",
    }
    (row,), faults = parse_rows(",".join(COLUMNS) + "\n" + ",".join(values[name] for name in COLUMNS) + "\n", "b.csv")
    assert faults == ()
    assert (row.on_demand, row.spot, row.stopped, row.storage) == tuple(Money.parse(str(n)) for n in (1, 2, 3, 4))
    assert (row.gpu_count, row.increment_seconds, row.minimum_seconds) == (8, 60, 120)
    assert (row.native_amount, row.rate_to_usd, row.source, row.licence) == ("native_amount", "rate_to_usd", "source", "licence")
    assert row.observed_at == datetime(2026, 7, 20, 8, tzinfo=UTC)
