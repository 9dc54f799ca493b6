"""Comparing a rate with the one a reviewer saw (money.md, Binding a plan to its prices). The bound itself is ``state.terms.ceiling``."""

from __future__ import annotations

from fractions import Fraction

from nodusctl.base.money import Money
from nodusctl.state.terms import ceiling


def is_within(rate: Money, planned: Money) -> bool:
    """True if ``rate`` is at or under the planned rate x 1.10."""
    return rate <= ceiling(planned)


def shown_change(planned: Money, rate: Money) -> str:
    """``+12.5 %``, ``-3.0 %``; ``from $0.00`` where there is nothing to compare with."""
    if not planned:
        return f"from {planned.shown}"
    tenths = round(Fraction(rate.micro - planned.micro, planned.micro) * 1000)
    sign = "-" if tenths < 0 else "+"
    return f"{sign}{abs(tenths) // 10}.{abs(tenths) % 10} %"
