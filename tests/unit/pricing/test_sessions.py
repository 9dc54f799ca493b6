"""What one session of known length costs."""

from __future__ import annotations

from datetime import timedelta

from support.situations import terms

from nodusctl.base.money import Money
from nodusctl.pricing.sessions import session_figures

HOUR = timedelta(hours=1)


def test_the_likely_amounts_are_at_the_rate_with_half_and_all_of_the_stop_bound() -> None:
    found = session_figures(terms(rate="3.60"), HOUR)
    assert (found.cost.p50, found.cost.p90) == (Money.parse("3.63"), Money.parse("3.66"))


def test_the_most_is_at_the_ceiling_with_bound_and_minimum_for_each_machine_it_may_take() -> None:
    assert session_figures(terms(rate="3.60"), HOUR).at_most == Money.parse("4.092")
    assert session_figures(terms(rate="3.60"), HOUR, recoveries=3).at_most == Money.parse("4.488")


def test_nothing_is_more_than_what_is_left_under_the_cap() -> None:
    found = session_figures(terms(rate="3.60"), HOUR, remaining=Money.parse("2.00"))
    assert {found.cost.p50, found.cost.p90, found.at_most} == {Money.parse("2.00")}
