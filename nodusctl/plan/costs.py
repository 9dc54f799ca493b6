"""What one object would cost, as a plan prints it: three columns (p50, p90, at most), the rate, and how old the price is."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any

from nodusctl.base.ids import Address
from nodusctl.base.money import Money


@dataclass(frozen=True, slots=True, kw_only=True)
class CostLine:
    """One line of the cost table.

    Amounts are for ``horizon`` ("until the cap", "per 730 h"); None means unknown. ``at_most`` is None with ``has_limit`` False where
    nothing bounds it. ``cap_after`` is how long a session runs at the rate before its cap ends it, None where that isn't what ends it.
    ``storage_usd_per_gib_month`` is the price of a Volume's disk, None where unknown and on every other line.
    ``estimate`` is the seeds' ``status.estimate`` as JSON. ``funnel`` tells how many offers each constraint left.
    """

    address: Address
    offering: str = ""
    offer_key: str = ""
    rate_usd_per_hour: Money | None = None
    p50_usd: Money | None = None
    p90_usd: Money | None = None
    at_most_usd: Money | None = None
    has_limit: bool = True
    is_at_least: bool = False
    horizon: str = ""
    hold_usd: Money | None = None
    price_source: str = ""
    price_origin: str = ""
    price_observed_at: datetime | None = None
    price_age: str = ""
    valid_until: datetime | None = None
    band_source: str = ""
    cap_after: timedelta | None = None
    stops_at: datetime | None = None
    storage_usd_per_gib_month: Money | None = None
    lines: tuple[str, ...] = ()
    funnel: tuple[tuple[str, int], ...] = ()
    warnings: tuple[tuple[str, str], ...] = ()
    estimate: Mapping[str, Any] = field(default_factory=dict)
