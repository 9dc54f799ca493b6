"""Budgets and the granted balance: a hold must fit what is left, in the transaction that posts it; nothing that runs is stopped at once."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from support.world import LAB, START, World, outcome, workspace_yaml

from nodusctl.attempts.events import ThresholdCrossed
from nodusctl.base.exits import ExitCode
from nodusctl.base.ids import Address
from nodusctl.base.money import Money
from nodusctl.engine import verbs
from nodusctl.engine.applying import ApplySettings
from nodusctl.engine.budget_report import budget_report, post_grant
from nodusctl.executor.runs import Interrupts
from nodusctl.ledger.entries import EntryKind
from nodusctl.lifecycle.situation import Rules
from nodusctl.ports.journal import Change, Claim, Journal, Opening
from nodusctl.state.status import Phase

TEAM, TWO = Address("budget", "team"), Address("workspace", "two")
HOUR = timedelta(hours=1)
EIGHT_HOURS = Money.parse("1.603333")
"""The first hold at $0.20 an hour: the lease and the stop bound."""


def budget_yaml(limit: str = "10.00", name: str = "team", **spec: Any) -> str:
    fields = "\n".join(f"  {key}: {value}" for key, value in {"limitUSD": f'"{limit}"', **spec}.items())
    return f"apiVersion: nodus.dev/v1\nkind: Budget\nmetadata: {{name: {name}}}\nspec:\n{fields}\n"


def lab(name: str = "lab", label: str = "", **spec: Any) -> str:
    text = workspace_yaml(name, volume="", **{"ephemeral": True, "idleTimeout": "0s", **spec})
    return text.replace("metadata: {", f"metadata: {{labels: {{team: {label}}}, ") if label else text


def codes(world: World) -> list[str]:
    return [reason.code for reason in world.plan().reasons]


def condition(world: World, type_: str, address: Address = LAB) -> tuple[str, str]:
    return next((one.status, one.reason) for one in world.status(address).conditions if one.type == type_)


def standing_of(world: World, name: str = "team") -> dict[str, Any]:
    report = budget_report(journal=world.state.journal, project="default", now=world.clock.now(), only=Address("budget", name))
    return dict(report.budgets[0].status)


class ShortLease(World):
    """A project whose machines end themselves after two hours unless they are renewed."""

    project_yaml = "project: default\nleaseTerm: 2h\nproviders:\n  sim: {type: simulated}\n"


@pytest.fixture
def short(tmp_path: Path) -> World:
    return ShortLease(tmp_path / "project", rules=Rules(lease_term=2 * HOUR))


def test_a_budget_counts_what_is_spent_and_held_and_shows_what_is_left(world: World) -> None:
    world.write(budget_yaml("10.00"), lab())
    assert world.apply().exit_code is ExitCode.DONE
    world.pass_time(HOUR)
    world.stop()
    world.start()
    shown = standing_of(world)
    spent = Money.parse(shown["spentUSD"])
    assert spent == world.charged() > Money(0)
    assert Money.parse(shown["heldUSD"]) == EIGHT_HOURS == world.held()
    assert Money.parse(shown["remainingUSD"]) == Money.parse("10.00") - spent - EIGHT_HOURS
    assert shown["percentUsed"] == (spent + EIGHT_HOURS).micro * 100 // 10_000_000
    assert shown["currentPeriod"] == {"startTime": "2026-03-01T00:00:00Z", "endTime": "2026-04-01T00:00:00Z"}
    assert shown["conditions"][0]["status"] == "False"


def test_a_start_whose_hold_does_not_fit_its_budget_is_blocked_in_the_plan_with_the_amounts(world: World) -> None:
    world.write(budget_yaml("3.00"), lab(), lab("two"))
    reason = next(one for one in world.plan().reasons)
    assert (reason.code, reason.amounts["needed"], reason.amounts["remaining"]) == ("BudgetExceeded", "3.206666", "3.00")
    assert world.apply().exit_code is ExitCode.BLOCKED
    assert world.count("create") == 0


def test_a_start_without_a_plan_fails_when_its_budget_has_no_room(world: World) -> None:
    world.write(budget_yaml("3.00"), lab(), lab("two", state="Stopped"))
    assert world.apply().exit_code is ExitCode.DONE
    result = world.start(TWO)
    assert outcome(result, TWO).code == "BudgetExceeded"
    assert (world.status(TWO).phase, condition(world, "Funded", TWO)) == (Phase.FAILED, ("False", "BudgetExceeded"))
    assert world.count("create") == 1
    world.check_quiet()


def test_of_two_starts_in_one_pass_only_the_one_that_fits_is_launched(world: World) -> None:
    """Each alone fits. The second is decided again once the first has taken the room, and then says so itself."""
    world.write(budget_yaml("3.00"), lab(state="Stopped"), lab("two", state="Stopped"))
    assert world.apply().exit_code is ExitCode.DONE
    # What two people who plan at the same moment come to: each plan alone fits. Here one plan holds both, and no reason.
    world.write(lab(), lab("two"))
    plan = world.plan()
    kept = tuple(one for one in plan.actions if one.address.kind != "budget")
    result = world.apply(replace(plan, actions=kept, reasons=()))
    assert sorted(one.code for one in result.outcomes if one.address.kind == "workspace") == ["", "BudgetExceeded"]
    assert world.count("create") == 1
    assert world.held() == EIGHT_HOURS
    world.check_quiet()


def test_two_processes_that_race_for_the_last_dollars_make_one_machine(world: World) -> None:
    world.write(budget_yaml("3.00"), lab(state="Stopped"), lab("two", state="Stopped"))
    world.apply()
    both = ((lambda one: one.start(LAB, lock_timeout=HOUR)), (lambda one: one.start(TWO, lock_timeout=HOUR)))
    assert in_processes(world, both) == [0, 0]
    after = World(world.folder)
    assert sorted(after.status(one).reason for one in (LAB, TWO)) == ["", "BudgetExceeded"]
    assert (after.count("create"), after.held()) == (1, EIGHT_HOURS)
    after.check_quiet()


class Overtaken:
    """A Journal before whose first commit of a guarded hold somebody else acts on the state."""

    def __init__(self, journal: Journal, act: Callable[[], object]) -> None:
        self._journal, self._act = journal, [act]

    def __getattr__(self, name: str) -> Any:
        return getattr(self._journal, name)

    def commit(self, changes: Iterable[Change]) -> frozenset[Claim]:
        in_order = tuple(changes)
        if self._act and any(isinstance(change, Opening) and change.guards for change in in_order):
            self._act.pop()()
        return self._journal.commit(in_order)


def test_a_hold_that_no_longer_fits_at_its_commit_is_decided_again_and_its_machine_never_asked_for(world: World) -> None:
    world.write(budget_yaml("3.00"), lab(state="Stopped"), lab("two", state="Stopped"))
    world.apply()
    other = world.again()
    journal: Any = Overtaken(world.state.journal, lambda: other.start(TWO))
    outside = world.outside(journal=journal)
    result = verbs.start(LAB, outside=outside, command="nodusctl start", settings=ApplySettings(), interrupts=Interrupts())
    assert outcome(result).code == "BudgetExceeded"
    assert (world.status(TWO).phase, world.count("create"), world.held()) == (Phase.RUNNING, 1, EIGHT_HOURS)
    world.check_quiet()


def in_processes(world: World, commands: tuple[Callable[[World], object], ...]) -> list[int]:
    world.close()
    children = []
    for command in commands:
        child = os.fork()
        if child == 0:
            code = 99
            try:
                command(World(world.folder))
                code = 0
            finally:
                os._exit(code)
        children.append(child)
    return [os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) for child in children]


def test_a_budget_with_a_selector_binds_what_carries_its_labels_only(world: World) -> None:
    scoped = budget_yaml("2.00", scope="{selector: {matchLabels: {team: ml}}}")
    world.write(scoped, lab(label="ml"), lab("two", label="web"))
    assert world.apply().exit_code is ExitCode.DONE
    assert Money.parse(standing_of(world)["heldUSD"]) == EIGHT_HOURS
    elsewhere = budget_yaml("0.01", "elsewhere", scope="{project: another}")
    world.write(elsewhere, scoped, lab(label="ml"), lab("two", label="web"), lab("three", label="web"))
    assert codes(world) == [], "neither Budget covers it"


def test_a_notify_budget_stops_nothing_and_still_tells(world: World) -> None:
    world.write(budget_yaml("1.00", action="Notify"), lab())
    assert world.apply().exit_code is ExitCode.DONE
    assert [one.percent for one in world.events(ThresholdCrossed)] == [50, 80, 100]  # type: ignore[attr-defined]


def test_a_threshold_is_written_down_once_a_period(world: World) -> None:
    world.write(budget_yaml("3.00"), lab())
    world.apply()
    assert [(one.percent, one.period) for one in world.events(ThresholdCrossed)] == [(50, "2026-03")]  # type: ignore[attr-defined]
    world.tick(times=3)
    world.stop()
    world.start()
    assert len(world.events(ThresholdCrossed)) == 1
    world.pass_time(timedelta(days=30) - HOUR)
    world.tick()
    world.start()
    assert [one.period for one in world.events(ThresholdCrossed)] == ["2026-03", "2026-04"]  # type: ignore[attr-defined]


def test_lowering_a_budget_stops_nothing_at_once_and_the_plan_says_what_it_does(world: World) -> None:
    world.write(budget_yaml("10.00"), lab(), lab("two"))
    world.apply()
    world.write(budget_yaml("1.00"), lab(), lab("two"))
    (action,) = world.plan().actions
    said = "2 running Workspaces hold $3.206666; nothing stops at once, no start and no renewal beyond $1.00 a month"
    assert action.notes[0].startswith(said)
    assert world.apply().exit_code is ExitCode.DONE
    edges = [machine.armed_until for machine in world.machines()]
    world.tick(times=12, every=timedelta(minutes=30))
    assert [machine.armed_until for machine in world.machines()] == edges, "held is held; nothing more is"
    world.pass_time(3 * HOUR)
    world.tick(times=2)
    assert world.status().stop_reason == "BudgetExceeded"
    assert world.charged() <= EIGHT_HOURS * 2
    world.check_quiet()


def test_removing_a_budget_says_that_nothing_bounds_it_any_more(world: World) -> None:
    world.write(budget_yaml("10.00"), lab())
    world.apply()
    world.write(lab())
    (action,) = world.plan().actions
    assert action.notes == (
        "nothing bounds what it covered any more, but other Budgets and each object's own cap; 1 running Workspace holds $1.603333",
    )


def test_a_renewal_takes_what_its_budget_has_left_and_no_more(short: World) -> None:
    """The lease is 2 h; the Budget pays for about three. The machine's edge becomes the Budget's, and the reason of the stop too."""
    world = short.write(budget_yaml("0.60"), lab())
    assert world.apply().exit_code is ExitCode.DONE
    world.tick(times=14, every=timedelta(minutes=10))
    attempt = world.attempt()
    assert attempt.edge_bound == "budget"
    assert attempt.edge_at is not None
    assert timedelta(seconds=-60) <= attempt.edge_at - (START + timedelta(hours=2, minutes=59)) <= timedelta(seconds=60)
    assert condition(world, "Funded") == ("False", "BudgetExceeded")
    assert world.held() + world.charged() <= Money.parse("0.60")
    world.tick(times=8, every=timedelta(minutes=10))
    assert (world.status().phase, world.status().stop_reason) == (Phase.STOPPED, "BudgetExceeded")
    assert world.charged() <= Money.parse("0.60")
    world.check_quiet()


def test_a_raised_budget_moves_the_edge_of_what_it_bound_at_the_next_pass(short: World) -> None:
    world = short.write(budget_yaml("0.60"), lab())
    world.apply()
    world.tick(times=10, every=timedelta(minutes=15))
    assert world.attempt().edge_bound == "budget"
    world.write(budget_yaml("5.00"), lab())
    world.apply()
    world.tick()
    assert world.attempt().edge_bound == "lease"
    assert condition(world, "Funded") == ("True", "Held")


def test_nothing_granted_means_nothing_is_checked(world: World) -> None:
    world.write(lab())
    assert world.apply().exit_code is ExitCode.DONE
    assert budget_report(journal=world.state.journal, project="default", now=world.clock.now()).credits.is_prepaid is False


def test_after_the_first_grant_holds_must_fit_the_balance(world: World) -> None:
    world.write(lab(), lab("two", state="Stopped"))
    world.apply()
    granted = post_grant(Money.parse("3.00"), "for March", outside=world.outside(), command="nodusctl credits grant", lock_timeout=HOUR)
    assert (granted.granted, granted.held, granted.available) == (Money.parse("3.00"), EIGHT_HOURS, Money.parse("3.00") - EIGHT_HOURS)
    assert outcome(world.start(TWO), TWO).code == "InsufficientCredits"
    assert condition(world, "Funded", TWO) == ("False", "Unfunded")
    world.write(lab(), lab("two", state="Stopped"), lab("three"))
    reason = next(one for one in world.plan().reasons)
    assert (reason.code, reason.amounts["remaining"]) == ("InsufficientCredits", "1.396667")
    post_grant(Money.parse("1.00"), "", outside=world.outside(), command="nodusctl credits grant", lock_timeout=HOUR)
    assert codes(world) == []
    assert [entry.kind for entry in world.entries()].count(EntryKind.GRANT) == 2
    world.check_books()


def test_a_machine_whose_grants_run_out_ends_as_unfunded(short: World) -> None:
    world = short.write(lab())
    world.apply()
    post_grant(Money.parse("0.60"), "", outside=world.outside(), command="nodusctl credits grant", lock_timeout=HOUR)
    world.tick(times=20, every=timedelta(minutes=10))
    assert (world.status().phase, world.status().stop_reason) == (Phase.STOPPED, "Unfunded")
    assert world.charged() <= Money.parse("0.60")
    world.check_quiet()


@pytest.mark.parametrize("amount", [Money(0)])
def test_a_grant_is_above_zero(world: World, amount: Money) -> None:
    from nodusctl.base.exits import UserError

    with pytest.raises(UserError):
        post_grant(amount, "", outside=world.outside(), command="nodusctl credits grant", lock_timeout=HOUR)


def test_a_restart_needs_no_more_than_what_its_hold_grows_by(world: World) -> None:
    """The hold of the session that ends is given back before the next one is posted."""
    world.write(budget_yaml("2.00"), lab())
    world.apply()
    plan = world.plan(restarts=(LAB,))
    assert plan.reasons == ()
    assert world.apply(plan).exit_code is ExitCode.DONE
    assert world.count("create") == 2
    assert world.held() == EIGHT_HOURS
