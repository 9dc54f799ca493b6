"""Who may start a stopped Workspace by connecting to it (lifecycle.md, "Wake")."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest

from nodusctl.attempts.attempt import Attempt, AttemptPhase, Timings
from nodusctl.base.exits import UserError
from nodusctl.base.ids import Address
from nodusctl.base.money import Money
from nodusctl.engine.waking import Lack, lack_of, wake_words, why_no_wake
from nodusctl.ports.journal import StoredObject
from nodusctl.state.records import Record
from nodusctl.state.status import ObjectStatus, Phase
from nodusctl.state.terms import Approval, Terms

NOON = datetime(2026, 10, 26, 12, tzinfo=UTC)
LAB = Address("workspace", "lab")
MINUTE = timedelta(minutes=1)
TERMS = Terms(
    offer_key="here/cpu",
    offering="cpu-4c-16g-local",
    provider="here",
    instance_type="local",
    zone="z",
    location="l",
    region_class="local",
    rate_usd_per_hour=Money.parse("0.12"),
    ceiling_usd_per_hour=Money.parse("0.132"),
    price_origin="configured",
    price_source="settings",
    price_observed_at=None,
    book_version="",
    increment_seconds=1,
    minimum_seconds=0,
    stop_bound=MINUTE,
    startup_p50=MINUTE,
    startup_p90=MINUTE,
)


def stopped(reason: str = "Idle", *, ago: timedelta = 45 * MINUTE, phase: Phase = Phase.STOPPED, state: str = "Running") -> StoredObject:
    """A Workspace whose last machine was told to stop, and was gone, that long before noon."""
    approval = Approval(terms=(TERMS,), plan_hash="h", approved_at=NOON, approved_by="me")
    record = Record(uid="u", address=LAB, generation=1, created_at=NOON, spec={"state": state, "maxCostUSD": "5.00"}, approval=approval)
    timings = Timings(queued_at=NOON - ago - MINUTE, stop_asked_at=NOON - ago, finished_at=NOON - ago)
    attempt = Attempt(uid="a", owner=LAB, owner_uid="u", name="lab-1", slot="0", epoch=1, phase=AttemptPhase.SUCCEEDED, timings=timings)
    return StoredObject(record=record, status=ObjectStatus(phase=phase, stop_reason=reason), attempts=(attempt,))


@pytest.mark.parametrize(
    ("phase", "lack"),
    [
        (Phase.RUNNING, Lack.NOTHING),
        (Phase.PENDING, Lack.WAIT),
        (Phase.STARTING, Lack.WAIT),
        (Phase.RECOVERING, Lack.WAIT),
        (Phase.STOPPED, Lack.WAKE),
        (Phase.STOPPING, Lack.WAKE),
    ],
)
def test_a_start_under_way_is_waited_for_and_a_stopped_workspace_is_started(phase: Phase, lack: Lack) -> None:
    assert lack_of(stopped(phase=phase)) is lack


@pytest.mark.parametrize("one", [stopped("Owner", state="Stopped"), stopped(phase=Phase.FAILED)])
def test_what_its_owner_stopped_or_what_failed_needs_the_owner(one: StoredObject) -> None:
    with pytest.raises(UserError) as raised:
        lack_of(one)
    assert "nodusctl start lab" in raised.value.diagnostics[0].fix


def test_rate_and_cap_are_said_before_a_start() -> None:
    assert wake_words(stopped()) == "lab is Stopped (Idle); starting it at $0.12/h, cap $5.00"


def test_a_connection_starts_what_has_been_stopped_for_thirty_minutes() -> None:
    assert why_no_wake(stopped(ago=31 * MINUTE), None, NOON) == ""
    assert "29m ago" in why_no_wake(stopped(ago=29 * MINUTE), None, NOON)


@pytest.mark.parametrize("reason", ["MaxCostReached", "BudgetExceeded", "Unfunded", "Schedule"])
def test_a_connection_never_starts_what_money_or_its_stop_time_stopped(reason: str) -> None:
    assert reason in why_no_wake(stopped(reason, ago=timedelta(days=3)), None, NOON)


def test_an_editor_that_was_connected_at_the_stop_and_retries_all_night_starts_nothing() -> None:
    night = stopped(ago=timedelta(hours=9))
    stopped_at = NOON - timedelta(hours=9)
    assert "may only be reconnecting" in why_no_wake(night, stopped_at + timedelta(seconds=2), NOON)
    assert "may only be reconnecting" in why_no_wake(night, stopped_at - timedelta(seconds=5), NOON)
    assert why_no_wake(night, stopped_at - 10 * MINUTE, NOON) == ""


def test_a_workspace_that_never_ran_may_be_started_by_a_connection() -> None:
    assert why_no_wake(replace(stopped(), attempts=()), None, NOON) == ""
