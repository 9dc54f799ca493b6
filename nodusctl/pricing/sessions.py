"""What one session of known length costs: the likely amounts at the rate, and the most it can come to at the ceiling.

The same arithmetic serves the cost line of a plan, each opening it lists, and a session that is to be longer. It knows terms and a span,
not where they came from.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta

from nodusctl.base.money import Money
from nodusctl.pricing.bands import MoneyBand
from nodusctl.pricing.caps import BillingTerms
from nodusctl.pricing.charge import at_rate, elapsed_seconds
from nodusctl.state.terms import Terms


@dataclass(frozen=True, slots=True, kw_only=True)
class SessionFigures:
    """Three columns of one session: median, 90th percentile, at most."""

    cost: MoneyBand
    at_most: Money


def session_cost(terms: BillingTerms, runs_for: timedelta, remaining: Money | None) -> MoneyBand:
    """Until it ends, plus half the stop bound (p50) or all of it (p90); never more than what is left under its cap."""
    p50, p90 = terms.charge(runs_for + terms.stop_bound / 2), terms.charge(runs_for + terms.stop_bound)
    return MoneyBand(p50=p50, p90=p90) if remaining is None else MoneyBand(p50=min(p50, remaining), p90=min(p90, remaining))


def session_most(terms: BillingTerms, span: timedelta, *, allocations: int, remaining: Money | None) -> Money:
    """The whole span at the rate of ``terms`` (a ceiling), with the stop bound and the larger of increment and minimum an allocation."""
    rounding = timedelta(seconds=max(terms.increment_seconds, terms.minimum_seconds))
    whole = max(span, timedelta(0)) + allocations * (terms.stop_bound + rounding)
    most = at_rate(elapsed_seconds(whole), terms.rate_usd_per_hour)
    return most if remaining is None else min(most, remaining)


def session_figures(terms: Terms, span: timedelta, *, recoveries: int = 0, remaining: Money | None = None) -> SessionFigures:
    """A session of ``span`` on approved terms. ``recoveries`` is how often a lost machine may be replaced in it."""
    return SessionFigures(
        cost=session_cost(_at(terms, terms.rate_usd_per_hour), span, remaining),
        at_most=session_most(_at(terms, terms.ceiling_usd_per_hour), span, allocations=1 + recoveries, remaining=remaining),
    )


def _at(terms: Terms, rate: Money) -> BillingTerms:
    return BillingTerms(
        rate_usd_per_hour=rate,
        increment_seconds=terms.increment_seconds,
        minimum_seconds=terms.minimum_seconds,
        stop_bound=terms.stop_bound,
    )
