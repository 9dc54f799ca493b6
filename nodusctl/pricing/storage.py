"""What a disk costs: size times rate times time over a month of 730 hours, an exact fraction until it is rounded half-up, once."""

from __future__ import annotations

from datetime import timedelta
from fractions import Fraction

from nodusctl.base.money import Money
from nodusctl.pricing.charge import elapsed_seconds
from nodusctl.pricing.figures import GIB, HOURS_A_MONTH


def storage_charge(span: timedelta, size_bytes: int, usd_per_gib_month: Money) -> Money:
    """The charge for a disk of ``size_bytes`` that is there for ``span``; nothing for a span below zero."""
    return usd_per_gib_month.scaled(Fraction(size_bytes, GIB) * elapsed_seconds(span) / (HOURS_A_MONTH * 3600))
