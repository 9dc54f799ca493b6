"""What a launch was expected to cost and to take, read back from the terms it froze: the estimate of that moment, kept nowhere else.

The plan's estimate counts the time until something ends the machine, plus half the stop bound (p50) or all of it (p90). Both are in the
terms and in the edge the launch carried, so nothing more has to be stored to ask later whether it was right.
"""

from __future__ import annotations

from datetime import timedelta

from nodusctl.base.money import Money
from nodusctl.pricing.bands import DurationBand, MoneyBand
from nodusctl.pricing.charge import charge, elapsed_seconds
from nodusctl.state.terms import Terms


def predicted_cost(terms: Terms, runs_for: timedelta) -> MoneyBand:
    """The estimate of a session that runs until its edge, ``runs_for`` after the launch."""
    return MoneyBand(p50=_cost(terms, runs_for + terms.stop_bound / 2), p90=_cost(terms, runs_for + terms.stop_bound))


def _cost(terms: Terms, span: timedelta) -> Money:
    return charge(elapsed_seconds(span), terms.rate_usd_per_hour, terms.increment_seconds, terms.minimum_seconds)


def predicted_start(terms: Terms) -> DurationBand:
    """How long the launch was expected to take until its tools answer."""
    return DurationBand(p50=terms.startup_p50, p90=terms.startup_p90)
