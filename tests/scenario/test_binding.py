"""A reviewed plan is bound to its prices: asked again before any create, the ceiling inclusive, and only its own offers are tried."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from support.commands import CommandLine
from support.world import HOME_YAML, World, workspace_yaml

from nodusctl.base.exits import ExitCode
from nodusctl.base.ids import Address
from nodusctl.base.money import Money
from nodusctl.pricing.holds import POOL_SOURCE

LAB_ADDRESS = Address("workspace", "lab")
ON_SALE = """\
zones:
  - {name: us-1a, region: us-1, regionClass: us}
  - {name: us-1b, region: us-1, regionClass: us}
offers:
  - {id: cpu-4c-16g-us, instanceType: sim.c4, zones: [us-1a, us-1b], cpu: 4, memory: 16Gi, rateUSDPerHour: "0.20"}
"""
NEWCOMER = '  - {id: cpu-4c-32g-us, instanceType: sim.r4, zones: [us-1b], cpu: 4, memory: 32Gi, rateUSDPerHour: "0.10"}\n'


def made(cli: CommandLine) -> str:
    return cli("sim", "calls", "--op", "create", "--count").out.strip()


def lab_terms(cli: CommandLine) -> list[dict[str, Any]]:
    shown = json.loads(cli("show", "p.nodusplan", "--json").out)
    terms: list[dict[str, Any]] = next(one for one in shown["actions"] if one["address"] == "workspace/lab")["terms"]
    return terms


def test_a_price_at_the_ceiling_is_applied_and_said(cli: CommandLine) -> None:
    cli("plan", "-o", "p.nodusplan")
    assert lab_terms(cli)[0]["ceilingUSDPerHour"] == "0.22"
    cli("sim", "fault", "add", "--op", "price", "--effect", "price 0.22")
    applied = cli("apply", "p.nodusplan")
    assert applied.code is ExitCode.DONE
    assert "note[PriceMoved]" in applied.err
    moved = [line for line in applied.err.splitlines() if "within the ceiling" in line]
    assert moved and len(moved) == len(set(moved)), "an offering that is sold in several places is told once"
    assert "cpu-4c-16g-us: $0.20/h is $0.22/h now (+10.0 %)" in applied.err
    assert made(cli) == "1"


def test_a_micro_dollar_above_the_ceiling_is_refused_before_anything_is_made(cli: CommandLine) -> None:
    cli("plan", "-o", "p.nodusplan")
    cli("sim", "fault", "add", "--op", "price", "--effect", "price 0.220001")
    refused = cli("apply", "p.nodusplan")
    assert refused.code is ExitCode.PRICE
    assert "$0.20/h in the plan, $0.220001/h now (+10.0 %); the plan allows up to $0.22/h" in refused.err
    assert (made(cli), cli("sim", "calls", "--op", "volume-create", "--count").out) == ("0", "0\n")
    assert not (cli.folder / ".nodus" / "state.db").exists(), "a refused plan makes no state"
    cli("sim", "fault", "clear")
    assert cli("apply", "p.nodusplan").code is ExitCode.DONE, "a refusal uses nothing up"


def test_what_is_charged_is_the_price_at_apply_and_the_ceiling_stays_the_reviewed_one(world: World) -> None:
    plan = world.write(HOME_YAML, workspace_yaml()).plan()
    world.fault("price", "price 0.21")
    world.apply(plan, is_saved_plan=True)
    (attempt,) = world.state.journal.attempts()
    assert attempt.terms is not None
    assert (str(attempt.terms.rate_usd_per_hour), str(attempt.terms.ceiling_usd_per_hour)) == ("0.21", "0.22")


def test_fallback_stays_inside_the_offers_of_the_plan(tmp_path: Path) -> None:
    """What was reviewed is sold out; a shape that came on sale since is cheaper, and nobody reviewed it, so it isn't asked for."""
    world = World(tmp_path / "project", world=ON_SALE).write(HOME_YAML, workspace_yaml(placement={"queueTimeout": "1m"}))
    plan = world.plan()
    reviewed = {terms.offer_key for action in plan.actions for terms in action.terms}
    assert reviewed == {"sim/us-1a/cpu-4c-16g-us", "sim/us-1b/cpu-4c-16g-us"}
    world.close()
    (world.folder / "world.yaml").write_text(ON_SALE + NEWCOMER)
    later = world.again()
    assert "sim/us-1b/cpu-4c-32g-us" in {terms.offer_key for action in later.plan().actions for terms in action.terms}
    later.fault("create", "error CapacityUnavailable")
    assert later.apply(plan, is_saved_plan=True).exit_code is not ExitCode.DONE
    (attempt,) = later.attempts()
    assert {one.offer_key for one in attempt.refusals} == reviewed


def test_a_person_who_was_asked_is_bound_to_the_price_they_saw(cli: CommandLine) -> None:
    """Between the printed plan and the yes some time passes; the second look at the prices is the one after the answer."""
    cli("sim", "fault", "add", "--op", "price", "--nth", "2", "--effect", "price 0.90")
    answered = cli("apply", stdin="yes\n", on_terminal=True)
    assert answered.code is ExitCode.PRICE
    assert "$0.90/h now (+350.0 %)" in answered.err
    assert made(cli) == "0"


def test_a_plan_agreed_to_beforehand_asks_its_prices_once(cli: CommandLine) -> None:
    before = int(cli("sim", "calls", "--op", "price", "--count").out)
    assert cli("apply", "--yes").code is ExitCode.DONE
    assert int(cli("sim", "calls", "--op", "price", "--count").out) == before + 1


def test_a_reason_that_is_true_only_now_blocks_a_saved_plan_and_nothing_is_made(cli: CommandLine) -> None:
    """The plan was fine; since then the project's policy says that prices may not be so old."""
    cli("plan", "-o", "p.nodusplan")
    assert "PriceStale" not in cli("show", "p.nodusplan").out
    cli.write("nodusctl.yaml", (cli.folder / "nodusctl.yaml").read_text() + "policy: {maxMonthlyUSD: '1.00'}\n")
    blocked = cli("apply", "p.nodusplan")
    assert blocked.code is ExitCode.POLICY
    assert "maxMonthlyUSD" in blocked.err
    assert made(cli) == "0"
    assert not (cli.folder / ".nodus" / "state.db").exists()


def test_a_provider_that_is_silent_now_blocks_a_saved_plan(cli: CommandLine) -> None:
    cli("plan", "-o", "p.nodusplan")
    cli("sim", "fault", "add", "--op", "price", "--effect", "error Unavailable message down")
    blocked = cli("apply", "p.nodusplan")
    assert blocked.code is ExitCode.BLOCKED
    assert "error[ProviderNotReady]" in blocked.err
    assert made(cli) == "0"


def test_what_blocks_only_objects_outside_the_plan_is_not_its_business(world: World) -> None:
    world.write(HOME_YAML, workspace_yaml())
    world.apply()
    world.write(HOME_YAML, workspace_yaml(), workspace_yaml("b", volume="", ephemeral=True))
    plan = world.plan(targets=(Address("workspace", "b"),))
    result = world.apply(plan, is_saved_plan=True)
    assert result.exit_code is ExitCode.DONE
    assert [str(one.address) for one in result.outcomes] == ["workspace/b"]


@pytest.mark.parametrize("provider_says", ["0.12", "0.90"])
def test_the_rate_of_a_pool_is_not_overwritten_by_what_its_provider_says(world: World, provider_says: str) -> None:
    """A Pool's own price was reviewed; asking the provider again must not turn it into another one, or into nothing."""
    world.write(HOME_YAML, workspace_yaml())
    plan = world.plan()
    (lab,) = (one for one in plan.actions if one.address == LAB_ADDRESS)
    pooled = replace(
        lab.terms[0], rate_usd_per_hour=Money.parse("0.50"), ceiling_usd_per_hour=Money.parse("0.55"), price_source=POOL_SOURCE
    )
    reviewed = replace(plan, actions=tuple(replace(one, terms=(pooled,)) if one is lab else one for one in plan.actions))
    world.fault("price", f"price {provider_says}")
    assert world.apply(reviewed, is_saved_plan=True).exit_code is ExitCode.DONE
    (attempt,) = world.state.journal.attempts()
    assert attempt.terms is not None
    assert str(attempt.terms.rate_usd_per_hour) == "0.50"
