"""A plan's faces: the text a person reads, the JSON a program reads, and that both say what the exit code says."""

from __future__ import annotations

import json
from dataclasses import replace

from support.planning import LAB, NOW, OFFERS, WS, applied, document, market, plan, running, with_disk, workspace
from syrupy.assertion import SnapshotAssertion

from nodusctl.base.money import Money
from nodusctl.plan.plan import AllowFlags
from nodusctl.planner.world import Policy
from nodusctl.render.comment import plan_markdown
from nodusctl.render.plan_difference import plan_difference_text
from nodusctl.render.plan_json import plan_document
from nodusctl.render.plan_text import plan_text
from nodusctl.render.style import PLAIN, Style

SECRET = document("Secret", "wandb", "stringData: {token: abcdefgh}")
FUNCTION = document("Function", "embed", 'code: {module: m, qualname: q}, python: "3.11", scaling: {minWorkers: 2}, resources: {gpu: L4}')


def test_a_first_plan(snapshot: SnapshotAssertion) -> None:
    assert plan_text(plan(WS, SECRET, workspace("gpu", 'ephemeral: true, resources: {gpu: "H100:8"}')), PLAIN) == snapshot


def test_changes_moves_and_removals(snapshot: SnapshotAssertion) -> None:
    state = running(with_disk(applied(WS, workspace("a"), workspace("b"), SECRET), saved_at=NOW), LAB)
    moved = workspace("a2", metadata="annotations: {nodus.dev/moved-from: a}")
    changed = workspace("b", "ephemeral: true, idleTimeout: 2h, resources: {gpu: L4}, env: [{name: A, value: x}]")
    assert plan_text(plan(moved, changed, snapshot=state), PLAIN) == snapshot


def test_every_reason_at_once(snapshot: SnapshotAssertion) -> None:
    unpriced = [replace(one, quote=None) if one.id.endswith("-eu") else one for one in OFFERS]
    made = plan(
        WS.replace("5.00", "0.000001"),
        FUNCTION,
        workspace("far", 'ephemeral: true, resources: {gpu: "H100:8"}, placement: {regions: [eu]}'),
        workspace("none", "ephemeral: true, resources: {gpu: {type: [H100], count: 8, minMemory: 100Gi}}"),
        document("Budget", "team", 'limitUSD: "1.00"'),
        workspace("open"),
        markets=(market(*unpriced),),
        policy=Policy(max_monthly_usd=Money.parse("100.00")),
    )
    assert plan_text(made, PLAIN) == snapshot


def test_no_changes(snapshot: SnapshotAssertion) -> None:
    assert plan_text(plan(WS, snapshot=running(applied(WS), LAB)), PLAIN) == snapshot


def test_markdown(snapshot: SnapshotAssertion) -> None:
    assert plan_markdown(plan(WS, FUNCTION)) == snapshot


def test_json_holds_the_whole_plan_with_money_as_text(snapshot: SnapshotAssertion) -> None:
    shown = plan_document(plan(WS), stale="It was applied.")
    assert json.loads(json.dumps(shown)) == snapshot


def test_meaning_never_hangs_on_colour() -> None:
    made = plan(WS, snapshot=applied(workspace("old")))
    painted = plan_text(made, Style(has_colour=True))
    assert "\x1b[" in painted
    without = painted
    for code in ("1", "2", "31", "32", "33", "34", "35", "36", "31;1", "32;1", "33;1", "34;1", "35;1", "36;1", "0"):
        without = without.replace(f"\x1b[{code}m", "")
    assert without == plan_text(made, PLAIN)


def test_a_change_that_is_refused_is_no_free_one() -> None:
    """Beside it stands that it blocks; a change of the same object that doesn't keeps its consequence. The comment says the same."""
    made = plan(
        workspace(spec='ephemeral: true, maxCostUSD: "2.00", idleTimeout: 2h'),
        snapshot=applied(workspace(spec='ephemeral: true, maxCostUSD: "5.00", idleTimeout: 1h')),
    )
    for text in (plan_text(made, PLAIN), plan_markdown(made)):
        (cap,) = [line for line in text.splitlines() if "spec.maxCostUSD  " in line]
        (idle,) = [line for line in text.splitlines() if "spec.idleTimeout  " in line]
        assert (cap.rpartition("  ")[2], idle.rpartition("  ")[2]) == ("[blocked]", "[free]")


def test_a_price_that_is_missing_shows_no_minus_and_the_total_says_at_least() -> None:
    unpriced = [replace(one, quote=None) if one.id.endswith("-eu") else one for one in OFFERS]
    text = plan_text(
        plan(
            workspace(spec='ephemeral: true, resources: {gpu: "H100:8"}, placement: {regions: [eu]}'),
            WS.replace("lab", "l2"),
            markets=(market(*unpriced),),
        ),
        PLAIN,
    )
    assert "at least $" in text and "-$" not in text and "$-" not in text


def test_the_difference_of_two_plans_names_the_field_and_the_price_line() -> None:
    dearer = [replace(one, quote=replace(one.quote, rate_usd_per_hour=one.quote.rate_usd_per_hour * 2)) for one in OFFERS if one.quote]
    text = plan_difference_text(plan(WS), plan(WS.replace("idleTimeout: 1h", "idleTimeout: 2h"), markets=(market(*dearer),)))
    assert "workspace/lab spec.idleTimeout: 1h -> 2h" in text
    price = "$0.20/h (at most $0.22/h) -> $0.40/h (at most $0.44/h), +100.0 %"
    assert f"workspace/lab price of sim/us-1a/cpu-4c-16g-us: {price}" in text


def test_what_was_allowed_is_part_of_the_difference() -> None:
    text = plan_difference_text(plan(WS), plan(WS, allow=AllowFlags(max_deletes=9)))
    assert text == "allow.maxDeletes: 3 -> 9"
