"""``budgets`` and ``credits`` on the command line, and a Budget as ``get`` and a plan show it."""

from __future__ import annotations

import json

import pytest
from support.commands import CommandLine

from nodusctl.base.exits import ExitCode

BUDGET = """\
apiVersion: nodus.dev/v1
kind: Budget
metadata: {name: team}
spec: {limitUSD: "LIMIT", scope: {selector: {matchLabels: {team: ml}}}}
---
apiVersion: nodus.dev/v1
kind: Workspace
metadata: {name: train, labels: {team: ml}}
spec: {image: nodus/workspace-cpu, resources: {cpu: 4, memory: 16Gi}, ephemeral: true, idleTimeout: 0s, tools: [SSH]}
"""


@pytest.fixture
def team(cli: CommandLine) -> CommandLine:
    """A Budget over one running Workspace of two."""
    cli.write("team.yaml", BUDGET.replace("LIMIT", "10.00"))
    assert cli("apply", "--yes").code == ExitCode.DONE
    return cli


def test_budgets_show_what_is_spent_held_and_left_and_what_they_bind(team: CommandLine) -> None:
    head, line, *_ = team("budgets").out.splitlines()
    assert head.split() == ["NAME", "LIMIT", "PERIOD", "ACTION", "SPENT", "HELD", "LEFT", "USED", "BINDS", "SCOPE"]
    assert line.split() == ["team", "$10.00", "Monthly", "Block", "$0.00", "$1.603333", "$8.396667", "16", "%", "1", "team=ml"]
    shown = json.loads(team("budgets", "team", "--json").out.splitlines()[-2])
    assert (shown["budgets"][0]["binds"], shown["budgets"][0]["status"]["percentUsed"]) == (1, 16)


def test_budgets_know_no_other_names(team: CommandLine) -> None:
    assert team("budgets", "other").code == ExitCode.ERROR
    assert team("budgets", "workspace/train").code == ExitCode.USAGE


def test_get_shows_what_is_left_and_wide_its_thresholds(team: CommandLine) -> None:
    assert "8.396667" in team("get", "budget").out
    wide = team("get", "budget", "-o", "wide").out
    assert "50,80,100" in wide and "PERIOD ENDS" in wide
    assert team("get", "budget/team", "-o", "jsonpath={.status.heldUSD}").out == "1.603333\n"


def test_a_plan_says_what_lowering_a_budget_does(team: CommandLine) -> None:
    team.write("team.yaml", BUDGET.replace("LIMIT", "1.00"))
    shown = team("plan").out
    said = "1 running Workspace holds $1.603333; nothing stops at once, no start and no renewal beyond $1.00 a month"
    assert said in shown


def test_credits_are_nothing_before_the_first_grant_and_a_balance_after_it(team: CommandLine) -> None:
    assert "no balance is checked" in team("credits", "show").out
    granted = team("credits", "grant", "5", "--memo", "for March")
    assert granted.code == ExitCode.DONE
    assert "for March" in granted.out and "Of $5.00 granted $1.79333" in granted.out
    shown = json.loads(team("credits", "show", "--json").out.splitlines()[-2])
    assert (shown["isPrepaid"], shown["grantedUSD"], len(shown["grants"])) == (True, "5.00", 1)
    assert "Of $5.00 granted" in team("budgets").out


@pytest.mark.parametrize("amount", ["-1", "ten", "1.1234567"])
def test_a_grant_takes_an_amount_only(cli: CommandLine, amount: str) -> None:
    assert cli("credits", "grant", "--", amount).code == ExitCode.USAGE


def test_a_crossed_threshold_stands_among_the_budgets_events(team: CommandLine) -> None:
    team.write("team.yaml", BUDGET.replace("LIMIT", "1.70"))
    assert team("apply", "--yes").code == ExitCode.DONE
    shown = team("describe", "budget/team").out
    assert "80 % reached (2026-" in shown
