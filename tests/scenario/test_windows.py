"""lifecycle.md, "Windows": an opening is used once, on time, late or not at all, and the clock alone decides; each rule by a test.

The world begins on Monday 2 March 2026 at 09:00 UTC. Windows here are in UTC where the zone doesn't matter.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from pathlib import Path

from support.world import HOME_YAML, LAB, START, World, workspace_yaml

from nodusctl.attempts.events import OccurrenceUsed
from nodusctl.base.exits import ExitCode
from nodusctl.base.money import Money
from nodusctl.engine.inspect_status import workspace_status
from nodusctl.plan.actions import Verb
from nodusctl.state.status import Phase

NOON = "daily 12:00-17:00 UTC"
MINUTE = timedelta(minutes=1)
BUDGET_YAML = """\
apiVersion: nodus.dev/v1
kind: Budget
metadata: {name: small}
spec: {limitUSD: "0.50", period: Total, action: Block}
"""


def at(hour: int, minute: int = 0, *, day: int = 2) -> datetime:
    """A moment of that week of March."""
    return datetime(2026, 3, day, hour, minute, tzinfo=UTC)


def admitted(world: World, windows: str = NOON, marks: Mapping[str, str] | None = None, **spec: object) -> World:
    """The Workspace, applied; without ``windows`` it has only what ``spec`` says."""
    annotations = {**({"windows": windows} if windows else {}), **(marks or {})}
    world.write(HOME_YAML, workspace_yaml(annotations=annotations, **{"idleTimeout": "0s", **spec}))
    assert world.apply().exit_code is ExitCode.DONE
    return world


def go(world: World, moment: datetime, *, ticks: int = 1) -> None:
    """On to that moment, with ticks there, a minute apart."""
    world.pass_time(moment - world.clock.now())
    world.tick(times=ticks, every=MINUTE)


def used(world: World) -> list[tuple[str, str, str]]:
    """What became of each opening: when it was wanted, how it went, why it was passed over."""
    return [
        (event.occurrence[8:16], event.outcome, event.reason) for event in world.events(OccurrenceUsed) if isinstance(event, OccurrenceUsed)
    ]


def status_document(world: World) -> dict[str, object]:
    """The status as ``get -o yaml`` prints it."""
    stored = world.state.journal.load(world.standing().record.uid)
    assert stored is not None
    return workspace_status(stored, world.state.journal.snapshot(), now=world.clock.now(), lead=world.rules.window_lead)


def test_admitted_outside_every_window_it_is_stopped_without_an_attempt_and_without_a_hold(world: World) -> None:
    admitted(world)
    assert (world.status().phase, world.attempts(), world.held()) == (Phase.STOPPED, (), Money(0))
    assert world.count("create") == 0
    assert status_document(world)["nextScheduledStartTime"] == "2026-03-02T11:45:00Z"


def test_a_window_opens_its_lead_ahead_closes_at_its_end_and_is_used_once(world: World) -> None:
    admitted(world)
    go(world, at(11, 44))
    assert world.count("create") == 0
    go(world, at(11, 45), ticks=2)
    assert world.status().phase is Phase.RUNNING
    assert world.machines()[0].armed_until == at(17)
    go(world, at(17), ticks=4)
    assert (world.status().phase, world.status().stop_reason) == (Phase.STOPPED, "Schedule")
    assert world.attempt().timings.finished_at == at(17)
    go(world, at(17, 30), ticks=2)
    assert used(world) == [("02T12:00", "started", "")]
    assert world.count("create") == 1
    world.check_quiet()


def test_a_window_that_is_noticed_up_to_thirty_minutes_late_begins_late_and_ends_on_time(world: World) -> None:
    admitted(world)
    go(world, at(12, 30), ticks=2)
    assert used(world) == [("02T12:00", "started-late", "")]
    assert world.machines()[0].armed_until == at(17)


def test_a_window_that_is_noticed_later_is_one_recorded_skip_and_the_next_one_opens(world: World) -> None:
    admitted(world)
    world.pass_time(at(12, 31) - world.clock.now())
    assert [(one.code, one.after) for one in world.tick().moved] == [("MissedWindow", "Stopped")], "the pass says so, once"
    assert world.tick(times=2).moved == ()
    assert used(world) == [("02T12:00", "skipped", "MissedWindow")]
    assert world.count("create") == 0
    assert world.status().windows is not None and world.status().windows.skip_reason == "MissedWindow"
    go(world, at(11, 45, day=3), ticks=2)
    assert used(world)[1:] == [("03T12:00", "started", "")]


def test_with_late_start_a_window_begins_however_late_and_ends_on_time(world: World) -> None:
    admitted(world, marks={"late-start": "true"})
    go(world, at(16), ticks=2)
    assert used(world) == [("02T12:00", "started-late", "")]
    assert world.machines()[0].armed_until == at(17)


def test_windows_that_nobody_looked_after_for_days_are_a_skip_each_and_start_nothing(world: World) -> None:
    admitted(world)
    go(world, at(18, day=4))
    assert used(world) == [(f"0{day}T12:00", "skipped", "MissedWindow") for day in (2, 3, 4)]
    assert world.count("create") == 0


def test_windows_that_overlap_are_one_session_until_the_last_end(world: World) -> None:
    admitted(world, "daily 12:00-14:00 UTC; daily 13:00-17:00 UTC")
    assert [(one.start, one.end) for one in world.plan().timetables[0].openings][:1] == [(at(12), at(17))]
    go(world, at(11, 45), ticks=2)
    assert world.machines()[0].armed_until == at(17)
    go(world, at(14))
    assert world.status().phase is Phase.RUNNING
    go(world, at(17), ticks=5)
    assert used(world) == [("02T12:00", "started", "")]
    assert world.count("create") == 1


def test_two_windows_a_day_are_two_sessions(world: World) -> None:
    admitted(world, "Mon 12:00-13:00 UTC; Mon 15:00-16:00 UTC")
    for hour in (11, 14):
        go(world, at(hour, 45), ticks=2)
        go(world, at(hour + 2), ticks=5)
    assert used(world) == [("02T12:00", "started", ""), ("02T15:00", "started", "")]
    assert [one.timings.finished_at for one in world.attempts()] == [at(13), at(16)]


def test_a_window_close_after_another_gets_its_own_end_though_its_machine_starts_before_that_ends(world: World) -> None:
    admitted(world, "Mon 12:00-13:00 UTC; Mon 13:10-15:00 UTC")
    go(world, at(12, 57), ticks=2)
    assert used(world) == [("02T12:00", "skipped", "MissedWindow"), ("02T13:10", "started", "")]
    assert world.machines()[0].armed_until == at(15)
    go(world, at(13, 5))
    assert world.status().phase is Phase.RUNNING


def test_a_stop_inside_a_window_ends_it_and_the_next_window_still_opens(world: World) -> None:
    admitted(world)
    go(world, at(11, 45), ticks=2)
    world.stop()
    assert (world.status().phase, world.standing().record.spec["state"]) == (Phase.STOPPED, "Running")
    go(world, at(13), ticks=2)
    assert world.count("create") == 1
    go(world, at(11, 45, day=3), ticks=2)
    assert world.status().phase is Phase.RUNNING


def test_a_session_its_owner_began_and_ended_inside_a_window_uses_it_up(world: World) -> None:
    world.pass_time(timedelta(hours=3, minutes=5))
    admitted(world)
    assert world.status().phase is Phase.RUNNING, "it was applied while its window was open"
    world.stop()
    go(world, at(12, 20), ticks=2)
    assert (world.status().phase, world.count("create")) == (Phase.STOPPED, 1)


def test_an_owners_stop_while_a_window_is_being_made_ready_ends_that_window(world: World) -> None:
    admitted(world)
    world.start()
    world.pass_time(at(11, 50) - world.clock.now())
    world.stop()
    go(world, at(12, 5), ticks=2)
    assert (world.status().phase, world.count("create")) == (Phase.STOPPED, 1)


def test_a_parked_workspace_opens_nothing_says_so_and_a_start_lets_its_windows_act_again(world: World) -> None:
    admitted(world)
    world.stop(parks=True)
    document = status_document(world)
    assert (document["reason"], document.get("nextScheduledStartTime")) == ("Parked", None)
    assert world.plan().timetables[0].is_parked
    go(world, at(12), ticks=2)
    assert (world.count("create"), used(world)) == (0, [])
    world.start()
    world.stop()
    go(world, at(11, 45, day=3), ticks=2)
    assert world.status().phase is Phase.RUNNING


def test_an_opening_that_went_by_while_parked_is_no_missed_window(world: World) -> None:
    admitted(world)
    world.stop(parks=True)
    go(world, at(13))
    world.start()
    world.stop()
    go(world, at(13, 30))
    assert used(world) == []


def test_after_a_money_stop_windows_are_recorded_skips_and_a_raised_cap_starts_nothing_by_itself(world: World) -> None:
    admitted(world, maxCostUSD="0.50")
    go(world, at(11, 45), ticks=2)
    go(world, at(16), ticks=5)
    assert (world.status().phase, world.status().stop_reason) == (Phase.STOPPED, "MaxCostReached")
    go(world, at(11, 50, day=3), ticks=2)
    assert used(world)[1:] == [("03T12:00", "skipped", "MaxCostReached")]
    world.write(HOME_YAML, workspace_yaml(annotations={"windows": NOON}, idleTimeout="0s", maxCostUSD="5.00"))
    assert world.apply().exit_code is ExitCode.DONE
    go(world, at(12, 5, day=3), ticks=2)
    assert (world.status().phase, world.count("create")) == (Phase.STOPPED, 1)
    go(world, at(11, 45, day=4), ticks=2)
    assert world.status().phase is Phase.RUNNING


def test_a_window_that_no_budget_has_room_for_is_a_recorded_skip(world: World) -> None:
    world.write(HOME_YAML, BUDGET_YAML, workspace_yaml(annotations={"windows": NOON}, idleTimeout="0s"))
    assert world.apply().exit_code is ExitCode.DONE
    go(world, at(11, 45), ticks=2)
    assert used(world) == [("02T12:00", "skipped", "BudgetExceeded")]
    assert (world.count("create"), world.held()) == (0, Money(0))


def test_a_window_above_its_ceiling_is_a_recorded_skip_and_the_plan_shows_the_price_to_approve(world: World) -> None:
    admitted(world, placement={"offerings": ["cpu-4c-16g-us"]})
    world.fault("price", "price 0.30", "cpu-4c-16g-us")
    go(world, at(11, 45), ticks=2)
    assert used(world) == [("02T12:00", "skipped", "PriceMoved")]
    windows = world.status().windows
    assert windows is not None
    assert windows.skip_message.startswith("cpu-4c-16g-us was $0.20/h when it was approved and is $0.30/h now (+50 %)")
    assert (world.count("create"), world.held()) == (0, Money(0))
    plan = world.plan()
    (action,) = plan.actions
    assert (action.verb, action.address) == (Verb.UPDATE, LAB)
    assert [(one.path, one.before, one.after, one.note) for one in action.changes] == [("approved rate", "$0.20/h", "$0.30/h", "+50.0 %")]
    assert plan.timetables[0].skip_reason == "PriceMoved"
    assert world.apply(plan).exit_code is ExitCode.DONE
    assert not world.plan().has_changes
    go(world, at(12, 10), ticks=2)
    assert world.count("create") == 0, "the window that was passed over stays passed over"
    go(world, at(11, 45, day=3), ticks=2)
    assert world.status().phase is Phase.RUNNING


def test_a_window_that_never_got_a_machine_is_a_recorded_skip_and_was_never_started(world: World) -> None:
    admitted(world, "daily 12:00-13:00 UTC", placement={"offerings": ["cpu-4c-16g-us"]})
    world.fault("create", "error CapacityUnavailable")
    go(world, at(11, 45))
    world.tick_until(at(13, 20), every=timedelta(minutes=20))
    assert (world.status().phase, world.status().stop_reason) == (Phase.STOPPED, "Schedule")
    assert used(world) == [("02T12:00", "skipped", "CapacityUnavailable")]
    world.heal()
    go(world, at(11, 45, day=3), ticks=2)
    assert used(world)[1:] == [("03T12:00", "started", "")]
    world.check_books()


def test_a_window_that_waited_for_its_machine_is_started_late_once_it_gets_one(world: World) -> None:
    admitted(world, placement={"offerings": ["cpu-4c-16g-us"]})
    world.fault("create", "error CapacityUnavailable", times=2)
    go(world, at(11, 45))
    world.tick_until(at(12, 45), every=timedelta(minutes=20))
    assert used(world) == [("02T12:00", "started-late", "")]


def test_a_price_that_came_back_under_its_ceiling_needs_no_approval(world: World) -> None:
    admitted(world, placement={"offerings": ["cpu-4c-16g-us"]})
    world.fault("price", "price 0.30", "cpu-4c-16g-us")
    go(world, at(11, 45))
    world.heal()
    assert not world.plan().has_changes


def test_readyby_starts_fifteen_minutes_ahead_whatever_the_lead_of_windows_and_stopat_ends_it(tmp_path: Path) -> None:
    world = with_lead(tmp_path, "0s")
    admitted(world, "", schedule={"readyBy": "2026-03-02T12:00:00Z", "stopAt": "2026-03-02T14:00:00Z"})
    assert world.status().phase is Phase.STOPPED
    go(world, at(11, 44))
    assert world.count("create") == 0
    go(world, at(11, 45), ticks=2)
    assert world.status().phase is Phase.RUNNING
    go(world, at(14), ticks=5)
    assert (world.status().phase, world.status().stop_reason) == (Phase.STOPPED, "Schedule")


def test_stopat_acts_once_on_the_session_that_began_before_it(world: World) -> None:
    admitted(world, "", schedule={"stopAt": "2026-03-02T10:00:00Z"})
    assert world.status().phase is Phase.RUNNING
    go(world, at(10), ticks=5)
    assert world.status().stop_reason == "Schedule"
    world.start()
    go(world, at(11))
    assert world.status().phase is Phase.RUNNING
    assert world.machines()[0].armed_until > at(17)


def test_schedule_and_windows_add_up(world: World) -> None:
    admitted(world, "Mon 15:00-16:00 UTC", schedule={"readyBy": "2026-03-02T12:00:00Z", "stopAt": "2026-03-02T13:00:00Z"})
    starts = [one.start for one in world.plan().timetables[0].openings]
    assert starts == [at(12), at(15), at(15, day=9)]


def test_the_lead_of_windows_is_a_setting_of_the_project(tmp_path: Path) -> None:
    world = with_lead(tmp_path, "0s")
    admitted(world)
    go(world, at(11, 59))
    assert world.count("create") == 0
    go(world, at(12), ticks=2)
    assert world.status().phase is Phase.RUNNING


def test_editing_only_the_schedule_starts_no_machine(world: World) -> None:
    """coder/coder#2773."""
    admitted(world, "daily 20:00-21:00 UTC")
    go(world, at(12, 10))
    admitted(world, "daily 12:00-17:00 UTC")
    go(world, at(12, 15), ticks=2)
    assert (world.status().phase, world.count("create")) == (Phase.STOPPED, 0)
    go(world, at(11, 45, day=3), ticks=2)
    assert world.status().phase is Phase.RUNNING


def test_it_stops_at_a_date_and_time_not_only_after_some_hours(world: World) -> None:
    """coder/coder#5600."""
    admitted(world, "", schedule={"stopAt": "2026-03-02T14:37:00Z"})
    assert world.machines()[0].armed_until == at(14, 37)


def test_a_window_that_a_spring_night_swallows_is_a_recorded_skip(tmp_path: Path) -> None:
    """On 28 March 2027 Madrid's clocks go from 02:00 to 03:00, so 02:30 and 03:30 are one moment there."""
    world = World(tmp_path / "project", now=datetime(2027, 3, 28, 0, 30, tzinfo=UTC))
    admitted(world, "daily 02:30-03:30 Europe/Madrid")
    assert world.plan().timetables[0].openings[0].start == datetime(2027, 3, 29, 0, 30, tzinfo=UTC)
    go(world, datetime(2027, 3, 28, 1, 20, tzinfo=UTC), ticks=2)
    assert used(world) == [("28T01:30", "skipped", "WindowTooShort")]
    assert world.count("create") == 0


def test_a_window_over_an_autumn_night_ends_by_the_wall_clock_an_hour_later(tmp_path: Path) -> None:
    """On 25 October 2026 Madrid has two hours from 02:00 to 03:00; 23:00 to 06:00 is eight hours long."""
    world = World(tmp_path / "project", now=datetime(2026, 10, 24, 20, 0, tzinfo=UTC))
    admitted(world, "Sat 23:00-06:00 Europe/Madrid")
    go(world, datetime(2026, 10, 24, 20, 45, tzinfo=UTC), ticks=2)
    assert world.status().phase is Phase.RUNNING
    world.tick_until(datetime(2026, 10, 25, 5, 0, tzinfo=UTC), every=timedelta(minutes=30))
    go(world, datetime(2026, 10, 25, 5, 1, tzinfo=UTC), ticks=4)
    assert (world.status().stop_reason, world.attempt().timings.finished_at) == ("Schedule", datetime(2026, 10, 25, 5, 0, tzinfo=UTC))


def test_with_passes_a_quarter_of_an_hour_apart_a_good_machine_still_gets_ready(world: World) -> None:
    admitted(world)
    world.tick_until(at(12, 30), every=timedelta(minutes=15))
    assert (world.status().phase, world.count("create")) == (Phase.RUNNING, 1)


def test_another_process_that_passes_at_the_same_moment_starts_nothing_more(world: World) -> None:
    admitted(world)
    world.pass_time(at(11, 45) - START)
    world.tick()
    world.again().tick()
    assert world.count("create") == 1
    assert used(world) == [("02T12:00", "started", "")]


def with_lead(folder: Path, lead: str) -> World:
    """A world whose project says how long ahead of a window its machine starts."""

    class Led(World):
        project_yaml = f"{World.project_yaml}windowLead: {lead}\n"

    return Led(folder / "project")
