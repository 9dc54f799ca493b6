"""Medians and 90th percentiles: from this state's own Attempts of an offering where there are at least 8, else from the offer's priors.

Percentiles are nearest-rank, so that every figure printed is one that happened.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import timedelta
from enum import StrEnum

from nodusctl.base.money import Money

ENOUGH_HISTORY = 8


class BandOrigin(StrEnum):
    """What a band was taken from."""

    HISTORY = "history"
    PRIOR = "prior"


@dataclass(frozen=True, slots=True, kw_only=True)
class DurationBand:
    """A median and a 90th percentile of a time; ``samples`` is 0 for a prior."""

    p50: timedelta
    p90: timedelta
    origin: BandOrigin = BandOrigin.PRIOR
    samples: int = 0

    @property
    def shown_origin(self) -> str:
        """``from 12 starts`` or ``prior``."""
        return f"from {self.samples} starts" if self.origin is BandOrigin.HISTORY else "prior"


@dataclass(frozen=True, slots=True, kw_only=True)
class MoneyBand:
    """A median and a 90th percentile of an amount in USD."""

    p50: Money
    p90: Money


def duration_band(history: Sequence[timedelta], prior_p50: timedelta, prior_p90: timedelta) -> DurationBand:
    """The band of ``history`` (one duration per finished Attempt of the same offering) or the priors."""
    if len(history) < ENOUGH_HISTORY:
        return DurationBand(p50=prior_p50, p90=prior_p90)
    return band_of(history)


def band_of(history: Sequence[timedelta]) -> DurationBand:
    """The band of what happened, however little; ValueError for nothing."""
    if not history:
        raise ValueError("a band of nothing says nothing")
    ordered = sorted(history)
    return DurationBand(p50=_nearest_rank(ordered, 50), p90=_nearest_rank(ordered, 90), origin=BandOrigin.HISTORY, samples=len(ordered))


def _nearest_rank(ordered: Sequence[timedelta], percent: int) -> timedelta:
    return ordered[-(-percent * len(ordered) // 100) - 1]
