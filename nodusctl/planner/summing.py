"""Storage lines, the reasons told beside each line, and the totals of the cost table."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any

from nodusctl.base.ids import Address
from nodusctl.base.money import Money
from nodusctl.base.quantities import quantity_units, shown_bytes
from nodusctl.plan.costs import CostLine
from nodusctl.plan.plan import Totals
from nodusctl.plan.reasons import BlockingReason
from nodusctl.pricing.figures import Figure, StorageLine, storage_line, sum_figures, sum_known

STORAGE_HORIZON = "730 h a month"


def storage_costs(volumes: Iterable[tuple[Address, Mapping[str, Any], Money | None]]) -> tuple[CostLine, ...]:
    """A line for each Volume that will have a disk: ``(address, spec, USD per GiB-month or None)``."""
    lines = []
    for address, spec, rate in volumes:
        disk = storage_line(address.name, quantity_units(str(spec.get("size", "50Gi"))), rate)
        lines.append(
            CostLine(
                address=address,
                p50_usd=disk.monthly,
                p90_usd=disk.monthly,
                at_most_usd=disk.monthly,
                is_at_least=disk.monthly is None,
                horizon=STORAGE_HORIZON,
                storage_usd_per_gib_month=rate,
                lines=(_shown_storage(disk),),
            )
        )
    return tuple(lines)


def with_reasons(lines: Iterable[CostLine], reasons: Iterable[BlockingReason]) -> tuple[CostLine, ...]:
    """Each line with the reasons of its object in its estimate (seed ``blockingReasons``); one that is never made says so."""
    by_address: dict[Address | None, list[BlockingReason]] = {}
    for reason in reasons:
        by_address.setdefault(reason.address, []).append(reason)
    return tuple(_with_reasons(line, by_address.get(line.address, [])) for line in lines)


def _with_reasons(line: CostLine, own: list[BlockingReason]) -> CostLine:
    if not own:
        return line
    told = [{"code": reason.code, "message": reason.message, "fix": reason.fix} for reason in own]
    is_left_out = line.offering and any(reason.is_always_skipped for reason in own)
    remark = ("not in the total: apply leaves it out",) if is_left_out else ()
    return replace(line, lines=(*line.lines, *remark), estimate={**line.estimate, "blockingReasons": told})


def totals(lines: Iterable[CostLine]) -> Totals | None:
    """Sums of the three columns; None where there is nothing to sum. An unknown amount is left out and said ("at least")."""
    counted = tuple(lines)
    if not counted:
        return None
    most = sum_figures(_most(line) for line in counted)
    p50, p90 = sum_known(line.p50_usd for line in counted), sum_known(line.p90_usd for line in counted)
    return Totals(
        p50_usd=p50.amount,
        p90_usd=p90.amount,
        at_most_usd=most.amount,
        is_at_least=p50.is_at_least or p90.is_at_least or most.is_at_least,
        has_limit=most.has_limit,
    )


def _most(line: CostLine) -> Figure:
    amount = line.at_most_usd
    return (
        Figure(amount=amount, has_limit=line.has_limit)
        if amount is not None
        else Figure(is_at_least=line.has_limit, has_limit=line.has_limit)
    )


def _shown_storage(disk: StorageLine) -> str:
    size = shown_bytes(disk.size_bytes)
    if disk.usd_per_gib_month is None or disk.monthly is None:
        return f"storage {size}: price unknown"
    return f"storage {size} x {disk.usd_per_gib_month.shown} per GiB-month = {disk.monthly.shown} a month"
