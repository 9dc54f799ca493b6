"""How a platform rounds the time it bills: a fact of the offer, needed to rank by cost and to charge."""

from __future__ import annotations

from fractions import Fraction


def billed_seconds(seconds: int | Fraction, increment_seconds: int, minimum_seconds: int) -> int:
    """``seconds`` rounded up to the increment once, and at least the minimum; 0 where nothing was allocated (money.md, Ledger).

    ValueError for negative seconds, an increment under 1 or a negative minimum.
    """
    if seconds < 0 or increment_seconds < 1 or minimum_seconds < 0:
        raise ValueError("billed time needs seconds >= 0, an increment >= 1 and a minimum >= 0")
    if seconds == 0:
        return 0
    increments = -(-Fraction(seconds) // increment_seconds)
    return max(increments * increment_seconds, minimum_seconds)
