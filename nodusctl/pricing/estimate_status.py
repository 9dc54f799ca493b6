"""An estimate in the shape of ``status.estimate``: the seeds' field names, amounts as decimal text, durations as Go text.

A field that is unknown or not of this kind is left out.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from nodusctl.base.durations import format_duration
from nodusctl.base.money import Money
from nodusctl.base.timestamps import format_time
from nodusctl.pricing.bands import DurationBand, MoneyBand
from nodusctl.pricing.estimate import EstimateFigures


def estimate_status(
    figures: EstimateFigures, blocking_reasons: Sequence[Mapping[str, str]] = (), *, explain: Mapping[str, object] | None = None
) -> dict[str, object]:
    """The ``status.estimate`` mapping. ``blocking_reasons`` are ``{code, message, fix}``, the plan's own; ``explain`` is why this offer."""
    preview = figures.placement_preview
    fields: dict[str, object | None] = {
        "costUSD": _money_band(figures.cost),
        "overheadUSD": _money_band(figures.overhead),
        "holdUSD": _amount(figures.hold),
        "concurrentHoldUSD": _amount(figures.concurrent_hold),
        "gangHoldUSD": _amount(figures.gang_hold),
        "assemblyBoundUSD": _amount(figures.assembly_bound),
        "minimumChargeUSD": _amount(figures.minimum_charge),
        "rateUSDPerHour": _amount(figures.rate),
        "startup": {
            key: band
            for key, band in (("cold", _duration_band(figures.startup_cold)), ("warm", _duration_band(figures.startup_warm)))
            if band is not None
        },
        "placementPreview": {
            "offering": preview.offering,
            "regionClass": preview.region_class,
            "interruptible": preview.is_interruptible,
            "warmReuse": preview.is_warm_reuse,
            "explain": dict(explain or {}),
        },
        "pricebookVersion": figures.pricebook_version,
        "validUntil": format_time(figures.valid_until),
        "blockingReasons": [dict(reason) for reason in blocking_reasons],
        "warnings": [{"code": one.code, "message": one.message} for one in figures.warnings],
    }
    return {name: value for name, value in fields.items() if value is not None}


def _amount(amount: Money | None) -> str | None:
    return None if amount is None else str(amount)


def _money_band(band: MoneyBand | None) -> dict[str, str] | None:
    return None if band is None else {"p50": str(band.p50), "p90": str(band.p90)}


def _duration_band(band: DurationBand | None) -> dict[str, str] | None:
    return None if band is None else {"p50": format_duration(band.p50), "p90": format_duration(band.p90)}
