"""Price rows from CSV text. The first line names the columns, in any order; each bad cell is reported with file and line.

A row with a bad cell is left out whole: half a price is worse than none. An empty price cell is unknown; ``0`` is refused, because
no platform gives capacity away and a zero would read as a saving.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Callable, Sequence
from datetime import datetime, timedelta
from functools import lru_cache
from typing import Any

from nodusctl.base.diagnostics import Diagnostic, Span, error
from nodusctl.base.durations import parse_duration
from nodusctl.base.money import Money
from nodusctl.base.nearest import nearest
from nodusctl.base.timestamps import parse_time
from nodusctl.pricing.book import PriceRow

COLUMNS = (
    "provider",
    "instance_type",
    "region",
    "zone",
    "region_class",
    "offering_id",
    "gpu_family",
    "gpu_form",
    "gpu_memory_gib",
    "gpu_count",
    "vcpu",
    "memory_gib",
    "disk_gib",
    "on_demand_usd_hour",
    "spot_usd_hour",
    "stopped_usd_hour",
    "storage_usd_gib_month",
    "increment_seconds",
    "minimum_seconds",
    "capacity_hint",
    "native_amount",
    "native_currency",
    "rate_to_usd",
    "rate_date",
    "observed_at",
    "ttl",
    "source",
    "licence",
)
"""The shipped format, in ``PriceRow`` order. ``provider``, ``observed_at`` and one of ``instance_type``, ``offering_id`` must be filled."""
DEFAULT_TTL = "720h"


def parse_rows(csv_text: str, file_name: str) -> tuple[tuple[PriceRow, ...], tuple[Diagnostic, ...]]:
    """Read rows and what is wrong with the others. Never raises."""
    reader = csv.reader(io.StringIO(csv_text.removeprefix("\ufeff")))
    header = next(reader, [])
    faults = _header_faults(header, file_name)
    if faults:
        return (), faults
    order = [header.index(name) if name in header else len(header) for name in COLUMNS]
    rows: list[PriceRow] = []
    diagnostics: list[Diagnostic] = []
    for cells in reader:
        if not any(cells):
            continue
        if len(cells) != len(header):
            diagnostics.append(_row_fault(file_name, reader.line_num, f"{len(cells)} cells where the header has {len(header)}"))
            continue
        cells.append("")
        values = [cells[position] for position in order]
        try:
            rows.append(_row(values))
        except ValueError:
            diagnostics += _cell_faults(values, order, file_name, reader.line_num)
    return tuple(rows), tuple(diagnostics)


def _row(values: Sequence[str]) -> PriceRow:
    if not values[0] or not (values[1] or values[5]):
        raise ValueError("a row needs a provider and an instance type or an offering id")
    cells: list[Any] = list(values)
    cells[9] = _count(values[9] or "0")
    cells[13:17] = [_price(cell) for cell in values[13:17]]
    cells[17] = _positive(values[17] or "1")
    cells[18] = _count(values[18] or "0")
    cells[24] = _moment(values[24])
    cells[25] = _ttl(values[25] or DEFAULT_TTL)
    return PriceRow(*cells)


@lru_cache(maxsize=4096)
def _price(cell: str) -> Money | None:
    if not cell:
        return None
    price = Money.parse(cell)
    if not price:
        raise ValueError("a price is never 0; leave the cell empty where it is unknown")
    return price


def _count(cell: str) -> int:
    if not (cell.isascii() and cell.isdigit()):
        raise ValueError("a count is digits only")
    return int(cell)


def _positive(cell: str) -> int:
    if _count(cell) == 0:
        raise ValueError("an increment is at least 1 second")
    return int(cell)


@lru_cache(maxsize=1024)
def _moment(cell: str) -> datetime:
    try:
        return parse_time(cell if "T" in cell else f"{cell}T00:00:00Z")
    except ValueError:
        raise ValueError("a date is YYYY-MM-DD, or RFC 3339 with an offset") from None


@lru_cache(maxsize=256)
def _ttl(cell: str) -> timedelta:
    return parse_duration(cell)


_READERS: dict[str, Callable[[str], object]] = {
    "gpu_count": lambda cell: _count(cell or "0"),
    "on_demand_usd_hour": _price,
    "spot_usd_hour": _price,
    "stopped_usd_hour": _price,
    "storage_usd_gib_month": _price,
    "increment_seconds": lambda cell: _positive(cell or "1"),
    "minimum_seconds": lambda cell: _count(cell or "0"),
    "observed_at": _moment,
    "ttl": lambda cell: _ttl(cell or DEFAULT_TTL),
}


def _cell_faults(values: Sequence[str], order: Sequence[int], file_name: str, line: int) -> list[Diagnostic]:
    """Every bad cell of a row that could not be read, or the row's own fault."""
    faults: list[Diagnostic] = []
    for name, cell, position in zip(COLUMNS, values, order, strict=True):
        try:
            _READERS.get(name, str)(cell)
        except ValueError as fault:
            span = Span(file_name, line, position + 1)
            detail = f"Column {name} holds {cell!r}: {fault}."
            fix = "Write a decimal number such as 2.50, or leave the cell empty where the price is unknown." if "usd" in name else ""
            faults.append(error("Invalid", "A cell of the price book can't be read.", detail, fix, span=span, field=name))
    return faults or [_row_fault(file_name, line, "a row needs a provider and an instance type or an offering id")]


def _row_fault(file_name: str, line: int, detail: str) -> Diagnostic:
    return error("Invalid", "A row of the price book can't be read.", detail[0].upper() + detail[1:] + ".", span=Span(file_name, line, 1))


def _header_faults(header: Sequence[str], file_name: str) -> tuple[Diagnostic, ...]:
    faults: list[Diagnostic] = []
    for position, name in enumerate(header):
        near = nearest(name, COLUMNS)
        span = Span(file_name, 1, position + 1)
        if name not in COLUMNS:
            fix = f"Did you mean {near}?" if near else ""
            faults.append(error("Invalid", "The price book has an unknown column.", f"Column {name!r}.", fix, span=span, field=name))
        elif header.index(name) != position:
            faults.append(error("Duplicate", "The price book names a column twice.", f"Column {name!r}.", span=span, field=name))
    for name in ("provider", "observed_at"):
        if name not in header:
            faults.append(
                error("FieldValueRequired", "The price book lacks a column.", f"Column {name!r}.", span=Span(file_name, 1, 1), field=name)
            )
    return tuple(faults)
