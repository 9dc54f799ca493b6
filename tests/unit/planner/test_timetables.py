"""What a plan says of time: the next openings with their cost, the horizon of an estimate, what is due, prices to approve anew."""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime, timedelta
from fractions import Fraction

import pytest
from support.planning import LAB, NOW, OFFERS, applied, market, plan, with_live, with_status, workspace

from nodusctl.base.money import Money
from nodusctl.lifecycle.windows import windows_digest
from nodusctl.plan.actions import Verb
from nodusctl.plan.changes import ChangeClass
from nodusctl.plan.encoding import as_json, from_json
from nodusctl.plan.hashing import plan_hash
from nodusctl.plan.timetables import Timetable
from nodusctl.planner.world import Market
from nodusctl.render.plan_text import plan_text
from nodusctl.render.style import PLAIN
from nodusctl.state.snapshot import Snapshot
from nodusctl.state.status import Phase, SessionStanding, WindowsStanding

HOUR = timedelta(hours=1)
OFFICE = "annotations: {nodus.dev/windows: 'Mon-Fri 09:00-17:00 Europe/Madrid'}"
SMALL = "ephemeral: true, image: nodus/workspace-cpu, resources: {cpu: 4, memory: 16Gi}"
SPEC = workspace(spec=SMALL, metadata=OFFICE)


def resting(text: str = SPEC, *, now: datetime = NOW, **windows: object) -> Snapshot:
    """Applied on Monday at 08:00 in Madrid, stopped, with its windows settled then."""
    snapshot = applied(text)
    record = snapshot.standings[LAB].record
    standing = WindowsStanding(digest=windows_digest(record.spec, record.annotations), through=now, **windows)
    return with_status(snapshot, LAB, phase=Phase.STOPPED, observed_generation=1, windows=standing)


def test_a_new_workspace_with_windows_lists_the_next_three_with_the_cost_of_each() -> None:
    made = plan(SPEC)
    (table,) = made.timetables
    assert [(one.start, one.due, one.end, one.zone) for one in table.openings] == [
        (NOW + HOUR + day * 24 * HOUR, NOW + HOUR * 3 / 4 + day * 24 * HOUR, NOW + 9 * HOUR + day * 24 * HOUR, "Europe/Madrid")
        for day in range(3)
    ]
    line = next(one for one in made.costs if one.address == LAB)
    opening = table.openings[0]
    assert (line.horizon, line.has_limit) == ("next window", True)
    assert (opening.p50_usd, opening.p90_usd, opening.at_most_usd) == (line.p50_usd, line.p90_usd, line.at_most_usd)
    assert opening.p50_usd == Money.parse("1.651667"), "8 h 15 min and half a minute at $0.20"
    assert opening.at_most_usd == Money.parse("1.822333"), "at the ceiling, with stop bound and minimum"


def test_an_unchanged_workspace_lists_them_too_at_its_approved_rate_and_changes_nothing() -> None:
    made = plan(SPEC, snapshot=resting())
    assert not made.has_changes
    assert [one.p50_usd for one in made.timetables[0].openings] == [Money.parse("1.651667")] * 3


def test_a_plan_offline_lists_openings_without_prices() -> None:
    made = plan(SPEC, is_offline=True, markets=())
    assert [one.p50_usd for one in made.timetables[0].openings] == [None] * 3


def test_a_home_that_may_be_recovered_counts_in_at_most() -> None:
    home = "apiVersion: nodus.dev/v1\nkind: Volume\nmetadata: {name: home}\nspec: {size: 1Gi}\n"
    made = plan(home, workspace(spec=SMALL.replace("ephemeral: true", "volume: home"), metadata=OFFICE))
    assert made.timetables[0].openings[0].at_most_usd == Money.parse("1.844333"), "three more machines may take the place of lost ones"


def test_the_cost_of_an_opening_ends_with_its_cap() -> None:
    capped = workspace(spec=f"{SMALL}, maxCostUSD: '1.00'", metadata=OFFICE)
    assert plan(capped).timetables[0].openings[0].at_most_usd == Money.parse("1.00")


def test_openings_move_with_the_clock_and_no_plan_hash_moves_with_them() -> None:
    snapshot = resting()
    first, later = plan(SPEC, snapshot=snapshot), plan(SPEC, snapshot=snapshot, now=NOW + 26 * HOUR)
    assert first.timetables != later.timetables
    assert plan_hash(first) == plan_hash(later)


def test_a_parked_workspace_lists_what_is_held_back_and_says_so() -> None:
    made = plan(SPEC, snapshot=with_live(resting(), LAB, state="Stopped"))
    assert made.timetables[0].is_parked and made.timetables[0].openings
    assert "workspace/lab: Parked: spec.state is Stopped, so none of them opens. To let them: nodusctl start lab" in plan_text(made, PLAIN)


def test_the_last_opening_that_was_passed_over_is_told_with_its_reason() -> None:
    skipped = {"skipped": "2026-10-23T07:00:00Z", "skip_reason": "MissedWindow", "skip_message": "nothing looked after it in time"}
    text = plan_text(plan(SPEC, snapshot=resting(**skipped)), PLAIN)
    assert "workspace/lab: Fri 23 Oct 09:00 Europe/Madrid was passed over, MissedWindow: nothing looked after it in time" in text


def test_text_shows_local_time_and_utc() -> None:
    text = plan_text(plan(SPEC), PLAIN)
    assert "Mon 26 Oct 09:00-17:00 Europe/Madrid  2026-10-26T08:00:00Z/2026-10-26T16:00:00Z  15m before" in text


def test_a_timetable_survives_a_plan_file() -> None:
    table = plan(SPEC).timetables[0]
    assert from_json(Timetable, as_json(table)) == table


def test_what_is_being_removed_and_what_has_no_times_lists_nothing() -> None:
    assert plan(workspace(spec=SMALL)).timetables == ()
    assert plan(workspace("other", SMALL), snapshot=resting()).timetables == ()


class TestHorizon:
    """money.md: a Workspace's horizon is its window, else the time until its cap, else a month."""

    def line(self, text: str, **changes: object) -> tuple[str, Money | None]:
        made = plan(text, **changes)
        found = next(one for one in made.costs if one.address == LAB)
        return found.horizon, found.p50_usd

    def test_a_window_that_is_open_counts_from_now_to_its_end(self) -> None:
        horizon, p50 = self.line(SPEC, now=NOW + 5 * HOUR)
        assert (horizon, p50) == ("next window", Money.parse("0.801667"))

    def test_a_schedule_is_one_window(self) -> None:
        text = workspace(spec=f"{SMALL}, schedule: {{readyBy: '2026-10-26T09:00:00Z', stopAt: '2026-10-26T11:00:00Z'}}")
        assert self.line(text) == ("window", Money.parse("0.451667"))

    def test_a_stopat_that_has_passed_ends_nothing(self) -> None:
        assert self.line(workspace(spec=f"{SMALL}, schedule: {{stopAt: '2026-10-26T06:00:00Z'}}"))[0] == "730 h a month"

    def test_new_windows_show_what_they_cost(self) -> None:
        snapshot = resting()
        made = plan(SPEC.replace("17:00", "18:00"), snapshot=snapshot)
        line = next(one for one in made.costs if one.address == LAB)
        assert (line.horizon, line.p50_usd) == ("next window", Money.parse("1.851667"))
        assert made.actions[0].terms == (), "nothing needs to be approved for it"


class TestDue:
    """A section of its own: what the next tick would do, and no change."""

    def due(self, now: datetime, snapshot: Snapshot) -> list[tuple[str, str]]:
        made = plan(SPEC, snapshot=snapshot, now=now)
        assert not made.has_changes
        return [(one.what, one.because) for one in made.due]

    def test_before_its_lead_nothing_is_due(self) -> None:
        assert self.due(NOW + HOUR / 2, resting()) == []

    def test_a_window_whose_time_has_come_is_to_be_started(self) -> None:
        assert self.due(NOW + HOUR, resting()) == [("start", "its window of 2026-10-26T08:00:00Z is due")]

    def test_a_window_that_nobody_looked_after_is_to_be_recorded(self) -> None:
        assert self.due(NOW + 2 * HOUR, resting()) == [("record a skip", "its window of 2026-10-26T08:00:00Z was missed")]

    def test_a_session_past_its_end_is_to_be_stopped(self) -> None:
        session = SessionStanding(began_at=NOW + HOUR, trigger="window", occurrence="2026-10-26T08:00:00Z")
        running = with_status(resting(), LAB, phase=Phase.RUNNING, session=session)
        assert self.due(NOW + 10 * HOUR, running) == [("stop", "its time was over at 2026-10-26T16:00:00Z")]
        assert self.due(NOW + 8 * HOUR, running) == []


class TestPricesToApprove:
    """An unattended start that was passed over for its price leaves a price to approve in the plan."""

    def dearer(self, tenths: int) -> Market:
        """Every offer at so many tenths of its price."""
        quoted = [(one, one.quote) for one in OFFERS if one.quote is not None]
        dear = [replace(quote, rate_usd_per_hour=quote.rate_usd_per_hour.scaled(Fraction(tenths, 10))) for _, quote in quoted]
        return market(*(replace(one, quote=quote) for (one, _), quote in zip(quoted, dear, strict=True)))

    def passed_over(self) -> Snapshot:
        return resting(skipped="2026-10-26T08:00:00Z", skip_reason="PriceMoved", skip_message="it rose")

    def test_the_plan_shows_the_old_and_the_new_rate_and_applying_it_empties_the_next_one(self) -> None:
        markets, snapshot = (self.dearer(15),), self.passed_over()
        made = plan(SPEC, snapshot=snapshot, markets=markets)
        (action,) = made.actions
        assert (action.verb, action.change_class) == (Verb.UPDATE, ChangeClass.REPRICES)
        (change,) = action.changes
        assert (change.path, change.before, change.after, change.note) == ("approved rate", "$0.20/h", "$0.30/h", "+50.0 %")
        assert action.terms[0].rate_usd_per_hour == Money.parse("0.30")
        assert not plan(SPEC, snapshot=applied(SPEC, snapshot=snapshot, markets=markets), markets=markets).has_changes

    @pytest.mark.parametrize("tenths", [10, 11])
    def test_inside_the_ceiling_there_is_nothing_to_approve(self, tenths: int) -> None:
        assert not plan(SPEC, snapshot=self.passed_over(), markets=(self.dearer(tenths),)).has_changes

    def test_another_reason_asks_for_no_approval(self) -> None:
        missed = resting(skipped="2026-10-26T08:00:00Z", skip_reason="MissedWindow", skip_message="late")
        assert not plan(SPEC, snapshot=missed, markets=(self.dearer(15),)).has_changes
