"""Who gets which exclusive unit."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

from nodusctl.placement.allocate import DeviceBusy, NoOffer, NotViable, Placed, Queued, Seat, allocate
from nodusctl.placement.rank import rank
from nodusctl.placement.request import CapacityRequest
from nodusctl.provider.offers import Availability, Unit
from tests.unit.placement.offer_makers import priced

FIVE_PAST_FIVE = datetime(2026, 10, 26, 17, 5, tzinfo=UTC)


def card(number: int, **changes: Any) -> Unit:
    return Unit(id=f"group-{number}", devices=(f"0000:0{number}:00.0", f"0000:0{number}:00.1"), **changes)


def seat(address: str, *units: Unit, offering: str = "l4-24g-x1-us", **changes: Any) -> Seat:
    ranked = rank(CapacityRequest(gpu_count=1), [priced(offering, "1.10", units=units, is_own_hardware=True)])
    return Seat(address=address, ranked=ranked, **changes)


def test_two_objects_that_want_the_only_card_leave_the_second_busy_and_name_the_first() -> None:
    first, second = allocate([seat("workspace/a", card(1)), seat("workspace/b", card(1))])
    assert isinstance(first, Placed)
    assert [unit.id for unit in first.units] == ["group-1"]
    assert isinstance(second, DeviceBusy)
    assert second.message == "1 GPU needed, 0 free; 0000:01:00.0, 0000:01:00.1 held by workspace/a"


def test_two_objects_get_different_cards_where_there_are_two() -> None:
    answers = allocate([seat("workspace/a", card(1), card(2)), seat("workspace/b", card(1), card(2))])
    assert [answer.units[0].id for answer in answers if isinstance(answer, Placed)] == ["group-1", "group-2"]


def test_a_card_held_until_a_known_time_queues() -> None:
    (answer,) = allocate([seat("workspace/a", card(1, holder="workspace/z", free_from=FIVE_PAST_FIVE))])
    assert isinstance(answer, Queued)
    assert answer.free_from == FIVE_PAST_FIVE


def test_a_card_the_object_itself_holds_is_free_for_it() -> None:
    (answer,) = allocate([seat("workspace/a", card(1, holder="uid-a"), own_names=frozenset({"uid-a"}))])
    assert isinstance(answer, Placed)


def test_four_cards_asked_and_three_free_is_busy_with_the_holder() -> None:
    cards = [card(1), card(2), card(3), card(4, holder="domain other")]
    (answer,) = allocate([seat("workspace/a", *cards, offering="l4-24g-x4-us")])
    assert isinstance(answer, DeviceBusy)
    assert (answer.needed, answer.free) == (4, 3)
    assert [one.holder for one in answer.held] == ["domain other"]


def test_a_group_that_is_not_viable_is_reported_with_all_its_addresses() -> None:
    (answer,) = allocate([seat("workspace/a", card(1, is_viable=False, why_not="0000:01:00.1 is bound to snd_hda_intel"))])
    assert isinstance(answer, NotViable)
    assert answer.reasons == ("0000:01:00.0, 0000:01:00.1: 0000:01:00.1 is bound to snd_hda_intel",)


def test_units_that_share_a_device_exclude_each_other() -> None:
    pair = Unit(id="pair", devices=(*card(1).devices, *card(2).devices), gpu_count=2)
    first, second = allocate([seat("workspace/a", pair, offering="l4-24g-x2-us"), seat("workspace/b", card(2))])
    assert isinstance(first, Placed)
    assert isinstance(second, DeviceBusy)


def test_a_busy_card_falls_through_to_the_next_offer() -> None:
    here = priced("l4-24g-x1-us", "0.10", units=(card(1, holder="domain other"),), is_own_hardware=True)
    cloud = priced("l4-24g-x1-us", "1.10", zone="us-1b")
    (answer,) = allocate([Seat(address="workspace/a", ranked=rank(CapacityRequest(gpu_count=1), [here, cloud]))])
    assert isinstance(answer, Placed)
    assert answer.choice.candidate.offer.zone == "us-1b"


def test_sold_out_everywhere_is_queued_without_an_end() -> None:
    ranked = rank(CapacityRequest(), [priced("cpu-4c-16g-us", "0.20", availability=Availability.SOLD_OUT)])
    (answer,) = allocate([Seat(address="workspace/a", ranked=ranked)])
    assert isinstance(answer, Queued)
    assert (answer.free_from, answer.why) == (None, "sold out")


def test_a_cloud_offer_seats_any_number_of_objects() -> None:
    ranked = rank(CapacityRequest(), [priced("cpu-4c-16g-us", "0.20")])
    answers = allocate([Seat(address=f"workspace/{n}", ranked=ranked) for n in range(20)])
    assert all(isinstance(answer, Placed) for answer in answers)


def test_an_object_without_an_offer_is_said_so() -> None:
    assert allocate([Seat(address="workspace/a", ranked=())]) == (NoOffer(address="workspace/a"),)


def test_units_near_each_other_go_together_where_they_suffice_and_the_tightest_place_is_taken() -> None:
    cards = [card(1, near="numa-0"), card(2, near="numa-1"), card(3, near="numa-1"), card(4, near="numa-1"), card(5, near="numa-0")]
    (pair,) = allocate([seat("workspace/a", *cards, offering="l4-24g-x2-us")])
    (four,) = allocate([seat("workspace/a", *cards, offering="l4-24g-x4-us")])
    assert isinstance(pair, Placed) and isinstance(four, Placed)
    assert [unit.id for unit in pair.units] == ["group-1", "group-5"]
    assert [unit.id for unit in four.units] == ["group-1", "group-2", "group-3", "group-4"], "no place has four"


def test_what_frees_a_held_or_stuck_unit_comes_with_it_and_not_for_a_holder_inside_the_plan() -> None:
    held = card(1, holder="domain other", fix="virsh shutdown other")
    (busy,) = allocate([seat("workspace/a", held)])
    assert isinstance(busy, DeviceBusy) and [one.fix for one in busy.held] == ["virsh shutdown other"]
    _, second = allocate([seat("workspace/a", card(1, fix="never shown")), seat("workspace/b", card(1, fix="never shown"))])
    assert isinstance(second, DeviceBusy) and [one.fix for one in second.held] == [""]
    (stuck,) = allocate([seat("workspace/a", card(1, is_viable=False, why_not="bound", fix="virsh nodedev-detach x"))])
    assert isinstance(stuck, NotViable) and stuck.fixes == ("virsh nodedev-detach x",)
