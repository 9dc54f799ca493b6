"""When a Workspace with a schedule or windows will run, as a plan lists it: the next openings, each with its cost, and the last that was
passed over. Shown, never compared: time goes on between two equal plans.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from nodusctl.base.ids import Address
from nodusctl.base.money import Money


@dataclass(frozen=True, slots=True, kw_only=True)
class PlannedOpening:
    """One time to run, from ``start`` (wanted ready) to ``end`` (None: nothing but idle or lease ends it); ``due`` is its machine's start.

    Amounts are None where no price is known, or where nothing ends it.
    """

    start: datetime
    due: datetime
    end: datetime | None = None
    zone: str = ""
    p50_usd: Money | None = None
    p90_usd: Money | None = None
    at_most_usd: Money | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Timetable:
    """One Workspace's. ``is_parked``: spec.state Stopped holds its openings. ``skipped`` is the start of the last one passed over."""

    address: Address
    openings: tuple[PlannedOpening, ...] = ()
    is_parked: bool = False
    skipped: datetime | None = None
    skipped_zone: str = ""
    skip_reason: str = ""
    skip_message: str = ""
