"""What everything costs while it runs, now and after a plan."""

from __future__ import annotations

from dataclasses import replace

from support.planning import HOME, LAB, NOW, OFFERS, WS, applied, document, market, plan, running, with_disk, workspace

from nodusctl.base.ids import Address
from nodusctl.base.money import Money
from nodusctl.plan.comparison import CostChange
from nodusctl.plan.encoding import as_json, from_json
from nodusctl.plan.plan import Plan
from nodusctl.render.plan_comparison import comparison_lines, shown_change


def sides(made: Plan) -> tuple[str, str, str, str]:
    """Rates and months, now and after."""
    compared = made.comparison
    assert compared is not None
    now, after = compared.now, compared.after
    return str(now.rate_usd_per_hour), str(after.rate_usd_per_hour), str(now.monthly_usd), str(after.monthly_usd)


def of(made: Plan, address: Address) -> CostChange:
    assert made.comparison is not None
    return next(one for one in made.comparison.changes if one.address == address)


def test_a_first_plan_costs_its_rate_and_its_disk_more() -> None:
    made = plan(WS)
    assert sides(made) == ("0.00", "0.20", "0.00", "151.00")
    assert shown_change(of(made, LAB).now, of(made, LAB).after) == "+$0.20/h, +$146.00 a month"
    assert shown_change(of(made, HOME).now, of(made, HOME).after) == "+$5.00 a month"


def test_what_does_not_change_counts_on_both_sides_and_is_no_change() -> None:
    made = plan(WS, workspace("new"), snapshot=with_disk(running(applied(WS), LAB)))
    assert sides(made) == ("0.20", "0.40", "151.00", "297.00")
    assert made.comparison is not None and [one.address.name for one in made.comparison.changes] == ["new"]


def test_another_machine_is_the_difference_of_its_rates() -> None:
    before, after = (workspace("gpu", f"ephemeral: true, resources: {{gpu: {gpu}}}") for gpu in ("L4", '"H100:8"'))
    made = plan(after, snapshot=applied(before))
    assert sides(made)[:2] == ("1.10", "35.20") and made.comparison is not None
    (line,) = comparison_lines(made.comparison)
    assert "$1.10/h -> $35.20/h (+$34.10/h)" in line and "(+$24,893.00)" in line


def test_what_is_removed_saves_its_rate_and_a_destroyed_disk_its_storage() -> None:
    scratch = WS.replace("size: 50Gi", "size: 50Gi, deletionPolicy: Delete")
    made = plan(workspace("other"), snapshot=with_disk(running(applied(scratch, workspace("other")), LAB), saved_at=NOW))
    assert sides(made) == ("0.40", "0.20", "297.00", "146.00")
    assert shown_change(of(made, HOME).now, of(made, HOME).after) == "-$5.00 a month"


def test_a_kept_disk_goes_on_costing() -> None:
    made = plan(workspace("other"), snapshot=with_disk(running(applied(WS, workspace("other")), LAB)))
    assert sides(made)[3] == "151.00" and made.comparison is not None
    assert HOME not in [one.address for one in made.comparison.changes]


def test_a_parked_workspace_costs_nothing_and_starting_it_costs_its_rate() -> None:
    parked, started = workspace("a", "ephemeral: true, state: Stopped"), workspace("a", "ephemeral: true, state: Running")
    assert sides(plan(parked))[1] == "0.00"
    assert sides(plan(started, snapshot=applied(parked)))[:2] == ("0.00", "0.20")
    assert sides(plan(parked, snapshot=running(applied(started), Address("workspace", "a"))))[:2] == ("0.20", "0.00")


def test_a_move_is_no_change() -> None:
    state = running(applied(workspace("a")), Address("workspace", "a"))
    made = plan(workspace("b", metadata="annotations: {nodus.dev/moved-from: a}"), snapshot=state)
    assert made.comparison is not None and made.comparison.changes == () and sides(made)[:2] == ("0.20", "0.20")
    assert list(comparison_lines(made.comparison)) == []


def test_an_unknown_price_is_unknown_and_never_a_saving() -> None:
    unpriced = [replace(one, quote=None) if one.id.endswith("-eu") else one for one in OFFERS]
    us, eu = (
        workspace("big", f'ephemeral: true, resources: {{gpu: "H100:8"}}, placement: {{regions: [{region}]}}') for region in ("us", "eu")
    )
    made = plan(eu, WS, snapshot=applied(us), markets=(market(*unpriced),))
    assert made.comparison is not None and made.comparison.after.lacks_rate
    assert shown_change(of(made, Address("workspace", "big")).now, of(made, Address("workspace", "big")).after) == "unknown"
    (line,) = comparison_lines(made.comparison)
    assert "$35.20/h -> at least $0.20/h." in line and "-$" not in line and "+$" not in line


def test_a_disk_without_a_price_makes_the_month_a_lower_bound_and_leaves_the_rate() -> None:
    unpriced = [replace(one, storage_usd_per_gib_month=None) for one in OFFERS]
    made = plan(WS, markets=(market(*unpriced),))
    assert made.comparison is not None and not made.comparison.after.lacks_rate and made.comparison.after.lacks_storage
    (line,) = comparison_lines(made.comparison)
    assert "$0.00/h -> $0.20/h (+$0.20/h)" in line and "$0.00 -> at least $146.00." in line


def test_what_apply_leaves_out_stays_as_it_is() -> None:
    function = document(
        "Function", "embed", 'code: {module: m, qualname: q}, python: "3.11", scaling: {minWorkers: 2}, resources: {gpu: L4}'
    )
    assert sides(plan(function, workspace("a")))[1] == "0.20"


def test_nothing_is_compared_offline_or_without_a_change() -> None:
    assert plan(WS, is_offline=True, markets=()).comparison is None
    assert plan(WS, snapshot=running(applied(WS), LAB)).comparison is None


def test_it_is_kept_in_the_plan_file_with_money_as_text() -> None:
    made = plan(WS)
    document_of = as_json(made)
    assert document_of["comparison"]["after"] == {"rateUSDPerHour": "0.20", "monthlyUSD": "151.00"}
    assert from_json(Plan, document_of) == made
    assert Money.parse("151.00") == from_json(Plan, document_of).comparison.after.monthly_usd  # type: ignore[union-attr]
