"""A Workspace left alone: a week of windows over a night in which clocks change, a cap on a dear machine, a loss, and a lost reply."""

from __future__ import annotations

import csv
import io
import json
from datetime import UTC, datetime, timedelta
from pathlib import Path
from zoneinfo import ZoneInfo

import pytest
from support.commands import LAB as LAB_YAML
from support.commands import CommandLine
from support.world import HOME_YAML, LAB, World, workspace_yaml

from nodusctl.attempts.events import Interrupted, Recovered
from nodusctl.base.exits import ExitCode
from nodusctl.base.money import ZERO, Money, total
from nodusctl.engine.inspect_receipts import list_receipts
from nodusctl.engine.inspect_status import workspace_status
from nodusctl.ledger.entries import charged
from nodusctl.lifecycle.money import charge_of
from nodusctl.render.plan_text import plan_text
from nodusctl.render.style import Style
from nodusctl.state.status import Phase

MINUTE, HOUR = timedelta(minutes=1), timedelta(hours=1)
MADRID = ZoneInfo("Europe/Madrid")
OFFICE = LAB_YAML.replace("labels: {team: vision}", 'annotations: {nodus.dev/windows: "Mon-Fri 09:00-17:00 Europe/Madrid"}').replace(
    '  idleTimeout: 1h\n  maxCostUSD: "5.00"\n', "  idleTimeout: 0s\n"
)


def local(text: str) -> str:
    """A time of a receipt on Madrid's clocks, to the minute."""
    return f"{datetime.fromisoformat(text).astimezone(MADRID):%a %d %H:%M}"


@pytest.mark.slow
def test_a_week_of_office_hours_over_the_night_of_25_october_is_five_sessions_and_five_receipts(empty_cli: CommandLine) -> None:
    empty_cli.write("nodusctl.yaml", "project: lab\nproviders:\n  sim: {type: simulated}\n")
    empty_cli.write("ws.yaml", OFFICE)
    assert empty_cli("sim", "init", "--now", "2026-10-22T18:00:00Z").code is ExitCode.DONE
    assert empty_cli("apply", "--yes").code is ExitCode.DONE
    assert empty_cli("sim", "advance", "168h", "--tick", "5m").code is ExitCode.DONE
    rows = list(csv.DictReader(io.StringIO(empty_cli("receipts", "--csv").out)))
    days = ("Fri 23", "Mon 26", "Tue 27", "Wed 28", "Thu 29")
    assert [local(row["requested"]) for row in rows] == [f"{day} 08:45" for day in days]
    assert [local(row["end"]) for row in rows] == [f"{day} 17:00" for day in days]
    assert {row["state"] for row in rows} == {"final"}
    verified = empty_cli("receipts", "--verify")
    amount = total(Money.parse(row["charge_usd"]) for row in rows)
    assert (verified.code, verified.out.splitlines()[-1]) == (ExitCode.DONE, f"5 receipts verified, {amount.shown}.")
    assert json.loads(empty_cli("get", "ws/lab", "-o", "json").out)["status"]["stopReason"] == "Schedule"


# A cap of $0.50 on a machine of $4.40 an hour


def dear(cap: str = "0.50") -> str:
    return workspace_yaml(resources={"gpu": "H100"}, idleTimeout="0s", maxCostUSD=cap)


@pytest.mark.parametrize("has_ticker", [True, False])
def test_a_cap_on_a_dear_machine_holds_whether_anybody_ticks_or_not(world: World, has_ticker: bool) -> None:
    """paperclipai/paperclip#11276: one session would cost ten times the cap."""
    world.write(HOME_YAML, dear())
    plan = world.plan()
    line = next(one for one in plan.costs if one.address == LAB)
    assert line.rate_usd_per_hour == Money.parse("4.40") and line.stops_at is not None
    assert f"{line.stops_at:%Y-%m-%dT%H:%M}" in plan_text(plan, Style())
    assert world.apply(plan).exit_code is ExitCode.DONE
    if has_ticker:
        world.tick(times=12, every=5 * MINUTE)
    else:
        world.pass_time(timedelta(days=1))
        world.tick(times=3, every=MINUTE)
    stored = world.state.journal.load(world.standing().record.uid)
    assert stored is not None
    status = workspace_status(stored, world.state.journal.snapshot(), now=world.clock.now())
    assert (status["phase"], status["stopReason"]) == ("Stopped", "MaxCostReached")
    assert Money.parse("0.40") <= Money.parse(status["cost"]["totalUSD"]) <= Money.parse("0.50")
    assert (status["cost"]["final"], status["cost"]["heldUSD"]) == (True, "0.00")
    assert world.home().revision == 1 and world.condition("StateSaved") == "True"
    world.check_quiet()


def test_a_cap_below_the_least_charge_is_refused_in_the_plan(world: World) -> None:
    """aixplain/aiXplain#1100: a millionth of a dollar isn't "enforced" later."""
    plan = world.write(HOME_YAML, dear("0.000001")).plan()
    assert [reason.code for reason in plan.reasons] == ["CapTooSmall"] and plan.exit_code(is_detailed=False) is ExitCode.BLOCKED


# A machine that is lost


def test_a_killed_machine_is_two_receipts_of_which_the_second_restores_and_never_two_that_bill(world: World) -> None:
    world.write(HOME_YAML, workspace_yaml(idleTimeout="0s"))
    world.apply()
    world.pass_time(20 * MINUTE)
    disk_id = world.home().disk_id
    world.cloud.kill(world.machines()[0].id)
    phases = []
    for _ in range(3):
        world.pass_time(MINUTE)
        world.tick()
        phases.append(world.status().phase)
        assert len(world.machines()) <= 1
    assert phases[0] is Phase.RECOVERING and phases[-1] is Phase.RUNNING and world.status().epoch == 2
    assert world.home().disk_id == disk_id
    (lost,), (found,) = world.events(Interrupted), world.events(Recovered)
    assert (lost.trigger, lost.lost_seconds > 0, found.recovery_seconds > 0) == ("killed", True, True)  # type: ignore[attr-defined]
    world.stop()
    first, second = list_receipts(None, journal=world.state.journal, now=world.clock.now())
    assert first.segments.restore == ZERO < first.segments.boot
    assert second.segments.boot == ZERO < second.segments.restore
    ended, began = first.attempt.timings.finished_at, second.attempt.timings.billing_started_at
    assert ended is not None and began is not None and ended <= began
    world.check_quiet()


# Case 27


def test_case_27_with_a_release_that_fails_twice_nothing_is_doubled_and_every_second_is_charged(world: World) -> None:
    """skypilot-org/skypilot#4392: the reply of a create is lost, lists show its machine after 45 s, and ending it fails twice."""
    world.write(HOME_YAML, workspace_yaml(idleTimeout="0s"))
    world.fault("create", "accept-then-drop", times=1)
    world.fault("create", "visible-after 45s", times=1)
    world.fault("delete", "error Unavailable retry-after 60s message try again in 60 s", times=2)
    assert world.apply(timeout=timedelta(seconds=30)).exit_code is not ExitCode.DONE
    (perhaps,) = world.plan().burning
    assert (perhaps.machine_id, perhaps.rate_usd_per_hour.shown) == ("", "$0.20")
    assert "workspace/lab: perhaps a machine, $0.20/h since 2026-03-02" in plan_text(world.plan(), Style())
    for _ in range(5):
        world.pass_time(MINUTE)
        world.tick()
        assert len(world.machines()) == 1
    assert world.status().phase is Phase.RUNNING and world.plan().burning == ()
    world.stop()
    (attempt,) = world.attempts()
    assert world.count("create") == 1 and world.count("delete") >= 3 and world.machines() == ()
    machine = world.cloud.simulated_machines("", include_ended=True)[0]
    assert attempt.timings.billing_started_at == machine.billing_started_at
    assert machine.ended_at is not None and attempt.timings.finished_at == machine.ended_at
    ours = total(entry.moved(charged(attempt.uid)) for entry in world.entries())
    assert ours == charge_of(attempt, machine.ended_at)
    world.check_quiet()


def test_a_create_that_hangs_for_ten_minutes_delays_no_other_stop_at(tmp_path: Path) -> None:
    """The hang is the platform's, after it accepted: whoever waits for it holds ``a`` and nothing else."""
    now = datetime(2026, 3, 2, 9, 0, tzinfo=UTC)
    world = World(tmp_path / "project", now=now)
    b = workspace_yaml("b", volume="", ephemeral=True, idleTimeout="0s", schedule={"stopAt": "2026-03-02T10:00:00Z"})
    world.write(b)
    world.apply()
    world.write(b, workspace_yaml("a", volume="", ephemeral=True, idleTimeout="0s"))
    world.fault("create", "hang 10m", "workspace/a")
    world.apply(outside=world.outside(call_limit=timedelta(seconds=1)), timeout=timedelta(seconds=1))
    world.pass_time(now + HOUR - world.clock.now())
    world.tick(times=2, every=MINUTE)
    (ended,) = [one for one in world.attempts() if one.owner.name == "b"]
    assert ended.timings.stop_asked_at is not None and ended.timings.stop_asked_at - (now + HOUR) < MINUTE
    assert ended.timings.finished_at is not None and abs(ended.timings.finished_at - (now + HOUR)) < MINUTE
    world.heal()
    world.tick(times=3, every=MINUTE)
    assert len(world.machines("workspace/a")) == 1
