"""Offers, funnels, prices and who gets a device: what a plan says of capacity."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from support.planning import (
    HOME,
    LAB,
    NOW,
    OFFERS,
    WS,
    applied,
    codes,
    document,
    market,
    offer,
    plan,
    running,
    shown,
    with_disk,
    with_live,
    with_status,
    workspace,
)

from nodusctl.base.diagnostics import error
from nodusctl.base.ids import Address
from nodusctl.base.money import ZERO, Money
from nodusctl.plan.changes import ChangeClass
from nodusctl.plan.plan import AllowFlags
from nodusctl.planner.world import OutsideFacts
from nodusctl.provider.contract import SelfStop
from nodusctl.provider.offers import Availability, Offer, Unit
from nodusctl.state.status import Phase


def test_a_start_carries_the_ordered_offers_with_their_ceilings() -> None:
    action = next(one for one in plan(WS).actions if one.address == LAB)
    assert action.change_class is ChangeClass.STARTS
    assert [terms.offer_key for terms in action.terms][:2] == ["sim/us-1a/cpu-4c-16g-us", "sim/us-1b/cpu-4c-16g-us"]
    assert [str(terms.ceiling_usd_per_hour) for terms in action.terms][:2] == ["0.22", "0.22"]


def test_an_object_admitted_stopped_is_approved_and_starts_nothing() -> None:
    (action,) = plan(workspace(spec="ephemeral: true, state: Stopped")).actions
    assert action.change_class is ChangeClass.FREE and action.terms
    state = applied(workspace(spec="ephemeral: true, state: Stopped"))
    assert state.standings[LAB].status.phase is Phase.STOPPED
    assert state.standings[LAB].record.approval is not None


def test_an_approval_keeps_the_estimate_it_was_given_on() -> None:
    """What ``status.estimate`` shows: the plan's, but for the reasons of its choice, which the Attempt says of itself."""
    text = workspace(spec='ephemeral: true, maxCostUSD: "0.50"')
    shown_by_plan = next(line for line in plan(text).costs if line.address == LAB).estimate
    approval = applied(text).standings[LAB].record.approval
    assert approval is not None
    assert {name: approval.estimate[name] for name in ("rateUSDPerHour", "costUSD", "holdUSD")} == {
        name: shown_by_plan[name] for name in ("rateUSDPerHour", "costUSD", "holdUSD")
    }
    assert approval.estimate["placementPreview"]["offering"] == shown_by_plan["placementPreview"]["offering"]
    assert "explain" in shown_by_plan["placementPreview"] and "explain" not in approval.estimate["placementPreview"]


def test_the_offers_of_a_home_with_data_lie_where_its_disk_is() -> None:
    snapshot = with_disk(with_status(with_live(applied(WS), LAB, state="Stopped"), LAB, phase=Phase.STOPPED), holder=LAB)
    text = WS.replace("idleTimeout", "state: Running\n  idleTimeout")
    action = next(one for one in plan(text, snapshot=snapshot).actions if one.address == LAB)
    assert {terms.zone for terms in action.terms} == {"us-1a"}


def test_nothing_fitting_is_told_with_the_funnel_and_the_smallest_change() -> None:
    made = plan(workspace(spec="ephemeral: true, resources: {gpu: {type: [H100], count: 8, minMemory: 100Gi}}"))
    (reason,) = made.reasons
    assert reason.code == "CapacityUnavailable"
    assert "memory 0" in reason.message and "minMemory 80Gi" in reason.fix
    (line,) = made.costs
    assert line.funnel[0] == ("offers", 7) and line.funnel[-1] == ("memory", 0)


def test_an_unknown_price_blocks_with_the_nearest_priced_offers_and_enters_no_sum() -> None:
    offers = [replace(one, quote=None) if one.id.endswith("x8-eu") else one for one in OFFERS]
    text = workspace("big", "ephemeral: true, resources: {gpu: H100:8}, placement: {regions: [%s]}")
    snapshot = applied(text % "us")
    made = plan(text % "eu", WS, snapshot=snapshot, markets=(market(*offers),))
    assert codes(made) == ["PriceUnknown"]
    assert "h100-sxm-80g-x8-us at $35.20/h" in made.reasons[0].fix
    assert made.totals is not None and made.totals.is_at_least


def test_an_unreachable_provider_blocks_what_needs_it() -> None:
    made = plan(WS, markets=(market(why_not="connection refused"),))
    assert codes(made) == ["ProviderNotReady"] and made.reasons[0].address == LAB


def test_an_unreachable_provider_blocks_objects_that_live_there_even_without_a_change() -> None:
    made = plan(WS, snapshot=running(applied(WS), LAB), markets=(market(why_not="connection refused"),))
    assert shown(made) == {} and codes(made) == ["ProviderNotReady"]


def test_a_provider_that_misses_a_program_blocks_a_start_with_the_command_and_keeps_the_price() -> None:
    missing = error("ProviderNotReady", "sshd is not installed.", fix="apt-get install openssh-server")
    made = plan(WS, markets=(replace(market(*OFFERS), lacks=(missing,)),))
    (reason,) = made.reasons
    assert (reason.code, reason.address, reason.fix) == ("ProviderNotReady", LAB, "apt-get install openssh-server")
    assert "sshd is not installed" in reason.message
    assert made.totals is not None and made.totals.p90_usd > ZERO


def test_what_a_provider_misses_blocks_nothing_that_starts_no_machine() -> None:
    lacking = replace(market(*OFFERS), lacks=(error("ProviderNotReady", "sshd is not installed."),))
    assert codes(plan(workspace(spec="ephemeral: true, state: Stopped"), markets=(lacking,))) == []
    assert codes(plan(WS, snapshot=running(applied(WS), LAB), markets=(lacking,))) == []
    elsewhere = [replace(one, provider="far") for one in OFFERS]
    assert codes(plan(workspace(), markets=(lacking, market(*elsewhere, instance="far")))) == []


def test_another_provider_that_fits_is_enough() -> None:
    made = plan(workspace(), markets=(market(why_not="down", instance="far"), market(*OFFERS)))
    assert codes(made) == []


def test_a_function_is_priced_and_not_run() -> None:
    text = document(
        "Function",
        "embed",
        'code: {module: m, qualname: q, cls: {name: C, methods: [embed, rank]}}, python: "3.11", '
        "scaling: {minWorkers: 2}, resources: {gpu: L4}",
    )
    made = plan(text, WS)
    assert codes(made) == ["Unsupported"]
    line = next(one for one in made.costs if one.address.kind == "function")
    assert "warm capacity 2 x $1.10/h = $1,606.00 per 730 h" in line.lines
    assert made.totals is not None and made.totals.p90_usd == Money.parse("10.00")


def test_a_written_tool_no_offer_serves_is_unsupported_and_a_default_one_is_left_out() -> None:
    made = plan(workspace(spec="ephemeral: true, tools: [Jupyter]"))
    assert codes(made) == ["Unsupported"] and made.reasons[0].field == "spec.tools"
    default = plan(workspace())
    assert codes(default) == [] and "sim doesn't serve Jupyter; left out" in default.actions[0].notes


def test_egress_that_nobody_enforces_is_unsupported() -> None:
    made = plan(workspace(spec="ephemeral: true, network: {egress: {policy: Deny}}"))
    assert codes(made) == ["Unsupported"] and made.reasons[0].field == "spec.network.egress.policy"


def test_an_own_image_needs_a_provider_that_runs_one() -> None:
    text = workspace(spec="ephemeral: true, image: registry.example/team/x")
    assert codes(plan(text)) == ["Unsupported"]
    assert codes(plan(text, markets=(market(*OFFERS, takes_own_images=True),))) == []


def test_sold_out_everywhere_is_a_warning_and_no_reason() -> None:
    gone = [replace(one, availability=Availability.SOLD_OUT) for one in OFFERS]
    made = plan(workspace(), markets=(market(*gone),))
    assert codes(made) == []
    assert "Queued" in {code for code, _ in made.costs[0].warnings}


def test_two_objects_of_one_plan_want_one_card() -> None:
    card = offer("l4-24g-x1-us", "1.10", units=(Unit(id="g1", devices=("0000:01:00.0",)),))
    a, b = (workspace(name, "ephemeral: true, resources: {gpu: L4}") for name in ("a", "b"))
    made = plan(a, b, markets=(market(card),))
    assert codes(made) == ["DeviceBusy"] and made.reasons[0].address == Address("workspace", "b")
    assert made.actions[0].terms[0].unit_ids == ("g1",)


def cards(count: int, offering: str = "l4-24g-x1-us", **first: Any) -> Offer:
    units = (Unit(id=f"g{number}", devices=(f"0000:0{number}:00.0",), **(first if number == 1 else {})) for number in range(1, count + 1))
    return offer(offering, "1.10", units=tuple(units))


def test_an_approval_names_every_set_of_cards_of_every_offer() -> None:
    far = replace(cards(2), zone="us-1b", location="sim/us-1b")
    made = plan(workspace("a", "ephemeral: true, resources: {gpu: L4}"), markets=(market(cards(3, holder="domain other"), far),))
    assert codes(made) == []
    (action,) = made.actions
    assert [(one.zone, one.unit_ids, one.spare_unit_ids) for one in action.terms] == [
        ("us-1a", ("g2",), (("g3",), ("g1",))),
        ("us-1b", ("g1",), (("g2",),)),
    ]


def test_an_offer_whose_cards_can_not_be_used_is_not_fallen_back_to() -> None:
    stuck = replace(cards(1, is_viable=False, why_not="bound to snd_hda_intel"), zone="us-1b", location="sim/us-1b")
    made = plan(workspace("a", "ephemeral: true, resources: {gpu: L4}"), markets=(market(cards(1), stuck),))
    assert [one.zone for one in made.actions[0].terms] == ["us-1a"], "a start there would have no card"


def test_a_card_held_by_an_object_whose_end_is_known_is_waited_for_and_the_plan_says_until_when() -> None:
    holder = Address("workspace", "z")
    text, markets = workspace("a", "ephemeral: true, resources: {gpu: L4}"), (market(cards(1, holder=str(holder))),)
    assert codes(plan(text, markets=markets)) == ["DeviceBusy"]
    made = plan(text, markets=markets, outside=OutsideFacts(ends={holder: NOW.replace(hour=17, minute=5)}))
    assert codes(made) == []
    assert ("Queued", "Ready about 17:05 UTC: its devices are held until then.") in made.costs[0].warnings
    assert made.actions[0].terms[0].unit_ids == ("g1",), "the start that comes then asks for the card, not for none"


def test_two_running_workspaces_can_not_share_a_home() -> None:
    other = workspace("other", "volume: lab-home")
    made = plan(WS, other)
    assert codes(made) == ["VolumeBusy"] and made.reasons[0].address == Address("workspace", "other")


def test_a_home_held_by_another_object_is_busy() -> None:
    other = Address("workspace", "old")
    snapshot = with_disk(applied(document("Volume", "lab-home"), workspace("old", "volume: lab-home")), holder=other)
    made = plan(WS, workspace("old", "volume: lab-home"), snapshot=running(snapshot, other))
    assert ("VolumeBusy", LAB) in [(reason.code, reason.address) for reason in made.reasons]
    assert HOME in snapshot.standings


def test_an_idle_edit_asks_for_no_capacity() -> None:
    snapshot = running(applied(workspace()), LAB)
    made = plan(workspace(spec="ephemeral: true, idleTimeout: 2h"), snapshot=snapshot, markets=(market(),))
    assert codes(made) == [] and not made.actions[0].terms
    kept = applied(workspace(spec="ephemeral: true, idleTimeout: 2h"), snapshot=snapshot)
    assert kept.standings[LAB].record.approval == snapshot.standings[LAB].record.approval


def test_a_restart_asked_for_is_an_action_without_a_diff() -> None:
    snapshot = running(applied(workspace()), LAB)
    made = plan(workspace(), snapshot=snapshot, allow=AllowFlags(max_deletes=3, restarts=(LAB,)))
    assert shown(made) == {"workspace/lab": "restart"} and made.actions[0].terms
    state = applied(workspace(), snapshot=snapshot, allow=AllowFlags(max_deletes=3, restarts=(LAB,)))
    assert "nodus.dev/restart-requested-at" in state.standings[LAB].record.annotations
    assert shown(plan(workspace(), snapshot=state)) == {}


def test_a_restart_of_what_does_not_run_is_only_a_hint() -> None:
    made = plan(
        workspace(), snapshot=with_status(applied(workspace()), LAB, phase=Phase.STOPPED), allow=AllowFlags(max_deletes=3, restarts=(LAB,))
    )
    assert shown(made) == {} and any("nothing to restart" in hint for hint in made.hints)


def test_what_a_provider_says_of_its_machines_is_a_hint_where_one_would_start_there() -> None:
    markets = (market(*OFFERS, notes=("Machines are not isolated.",)),)
    assert "sim: Machines are not isolated." in plan(workspace(), markets=markets).hints
    assert not any("isolated" in hint for hint in plan(workspace(), snapshot=applied(workspace()), markets=markets).hints)


@pytest.mark.parametrize(("cap", "expected"), [('"5.00"', ["NoHardEdge"]), (None, [])])
def test_a_machine_that_bills_on_after_its_own_shutdown_has_no_hard_edge(cap: str | None, expected: list[str]) -> None:
    spec = "ephemeral: true" + (f", maxCostUSD: {cap}" if cap else "")
    made = plan(workspace(spec=spec), markets=(market(*OFFERS, self_stop=SelfStop.KEEPS_BILLING),))
    assert codes(made) == expected
    assert ("NoHardEdge", "A machine that shuts itself down goes on billing there: $4.80 for a day nobody looks.") in made.costs[0].warnings


def test_an_offline_plan_asks_nobody_and_says_so() -> None:
    made = plan(WS, markets=(), is_offline=True)
    assert codes(made) == []
    assert "planned offline: no offer was asked for" in next(one for one in made.actions if one.address == LAB).notes


def test_a_changed_cap_shows_its_cost_and_leaves_the_approved_offers_as_they_were() -> None:
    snapshot = running(applied(WS), LAB)
    made = plan(WS.replace("5.00", "6.00"), snapshot=snapshot)
    assert [line.address for line in made.costs] == [LAB, HOME] and not made.actions[0].terms
