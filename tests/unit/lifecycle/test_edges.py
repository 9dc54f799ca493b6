"""The armed edge is the nearest of lease, stopAt and money; the hold covers the time to it, and never more than the cap leaves."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest
from hypothesis import given as hypothesis_given
from hypothesis import strategies as st
from support import situations as given
from support.situations import NOW, situation

from nodusctl.base.money import Money
from nodusctl.ledger import build
from nodusctl.lifecycle.edges import Bound, Edge, certain_end, edge_of, remaining_cap
from nodusctl.pricing.caps import BillingTerms
from nodusctl.state.terms import Terms

SUBJECT = build.Subject(object_address="workspace/lab", object_uid=given.LAB_UID, attempt_uid="before")
SPENT = (
    build.hold("h", NOW, SUBJECT, Money.parse("1.00")),
    build.capture("c", NOW, SUBJECT, Money.parse("0.30"), held_now=Money.parse("1.00")),
)


def edge(spec: dict[str, Any] | None = None, terms: Terms | None = None, **changes: Any) -> Edge:
    return edge_of(situation(record=given.record(spec=spec or {}), **changes), terms or given.terms())


def test_without_cap_and_stop_at_it_is_the_lease() -> None:
    assert edge() == Edge(runs_for=timedelta(hours=8), hold_usd=Money.parse("1.603333"))


def test_the_projects_lease_term_counts() -> None:
    from nodusctl.lifecycle.situation import Rules

    assert edge(rules=Rules(lease_term=timedelta(hours=2))).runs_for == timedelta(hours=2)


def test_a_nearer_stop_at_is_the_edge() -> None:
    assert edge({"schedule": {"stopAt": "2026-03-02T12:00:00+02:00"}}).runs_for == timedelta(hours=1)


def test_a_stop_at_that_has_passed_bounds_nothing() -> None:
    assert edge({"schedule": {"stopAt": "2026-03-02T08:00:00Z"}}).runs_for == timedelta(hours=8)


def test_a_cap_ends_it_a_stop_bound_before_the_money_is_gone() -> None:
    found = edge({"maxCostUSD": "0.50"})
    assert found.runs_for == timedelta(hours=2, minutes=29)
    assert found.hold_usd == Money.parse("0.50")


def test_open_holds_and_charges_of_earlier_attempts_count_against_the_cap() -> None:
    made = situation(record=given.record(spec={"maxCostUSD": "2.00"}), entries=SPENT)
    assert remaining_cap(made) == Money.parse("1.00"), "0.30 charged and 0.70 still held"


@pytest.mark.parametrize(("cap", "is_too_small"), [("0.009999", True), ("0.010000", False)])
def test_a_cap_must_pay_the_boot_a_minute_and_the_stop(cap: str, is_too_small: bool) -> None:
    """60 s of boot p90, 60 s of work and 60 s of stop bound at 0.20 an hour are 0.01."""
    assert edge({"maxCostUSD": cap}).is_too_small is is_too_small


def test_a_spot_offer_is_held_and_stopped_at_its_ceiling() -> None:
    spot = given.terms(is_interruptible=True)
    assert edge({"maxCostUSD": "0.50"}, spot).runs_for < edge({"maxCostUSD": "0.50"}).runs_for


@hypothesis_given(
    cap=st.integers(1, 10_000_000),
    rate=st.integers(1, 50_000_000),
    increment=st.sampled_from([1, 60, 3600]),
    minimum=st.sampled_from([0, 60, 3600]),
    bound_seconds=st.integers(0, 600),
)
def test_running_to_the_edge_and_stopping_within_the_bound_never_costs_more_than_the_cap(
    cap: int, rate: int, increment: int, minimum: int, bound_seconds: int
) -> None:
    terms = replace(
        given.terms(),
        rate_usd_per_hour=Money(rate),
        ceiling_usd_per_hour=Money(rate),
        increment_seconds=increment,
        minimum_seconds=minimum,
        stop_bound=timedelta(seconds=bound_seconds),
    )
    found = edge({"maxCostUSD": str(Money(cap))}, terms)
    if not found.is_too_small:
        assert BillingTerms.frozen(terms).charge(found.runs_for + terms.stop_bound) <= Money(cap)
        assert found.hold_usd <= Money(cap)


def test_a_lease_is_no_certain_end_and_what_bounds_it_is() -> None:
    def end(spec: dict[str, Any], **attempt: Any) -> Any:
        return certain_end(given.record(spec=spec), None, given.launched(**attempt), NOW)

    edge_at, stop_at = NOW + timedelta(hours=8), "2026-03-02T12:00:00Z"
    assert end({}, edge_at=edge_at, edge_bound=Bound.LEASE) is None
    assert end({}, edge_at=edge_at, edge_bound=Bound.CAP) == edge_at
    assert end({"schedule": {"stopAt": stop_at}}, edge_at=edge_at, edge_bound=Bound.LEASE) == NOW + timedelta(hours=3)
    assert end({}, edge_at=NOW - timedelta(minutes=1), edge_bound=Bound.CAP) is None, "it should be over, and nobody knows when it will be"
