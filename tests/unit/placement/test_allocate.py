"""Who gets which exclusive unit."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Any

from nodusctl.placement.allocate import DeviceBusy, NoOffer, NotViable, Placed, Queued, Seat, Seating, unit_sets
from nodusctl.placement.allocate import allocate as allocation_of
from nodusctl.placement.rank import rank
from nodusctl.placement.request import CapacityRequest
from nodusctl.provider.offers import Availability, Unit
from tests.unit.placement.offer_makers import priced

FIVE_PAST_FIVE = datetime(2026, 10, 26, 17, 5, tzinfo=UTC)


def allocate(seats: Sequence[Seat], **named: Any) -> tuple[Seating, ...]:
    return allocation_of(seats, **named).answers


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
    (answer,) = allocate([seat("workspace/a", card(1, holder="workspace/z"))], ends={"workspace/z": FIVE_PAST_FIVE})
    assert isinstance(answer, Queued)
    assert answer.free_from == FIVE_PAST_FIVE
    (answer,) = allocate([seat("workspace/a", card(1, holder="domain other"))], ends={"workspace/z": FIVE_PAST_FIVE})
    assert isinstance(answer, DeviceBusy), "nobody knows when the other lets go"


def test_enough_of_several_held_cards_is_when_the_last_one_needed_is_let_go_of() -> None:
    cards = (card(1, holder="workspace/y"), card(2, holder="workspace/z"), card(3, holder="domain other"))
    later = FIVE_PAST_FIVE.replace(hour=19)
    (answer,) = allocate([seat("workspace/a", *cards, offering="l4-24g-x2-us")], ends={"workspace/y": later, "workspace/z": FIVE_PAST_FIVE})
    assert isinstance(answer, Queued)
    assert answer.free_from == later


def sets(wanting: Seat, *before: Seat, **named: Any) -> list[list[int]]:
    """The numbers of the cards of each set a start of ``wanting`` may try, in order; ``before`` are objects seated ahead of it."""
    allocation = allocation_of([*before, wanting], **named)
    answer, (choice, *_) = allocation.answers[-1], wanting.ranked
    seated = answer.units if isinstance(answer, Placed) else ()
    return [[int(unit.id.rpartition("-")[2]) for unit in one] for one in unit_sets(wanting, choice, allocation.holders, seated)]


def test_a_start_may_try_every_card_the_free_ones_first_and_those_of_the_plan_and_of_strangers_last() -> None:
    cards = (card(1), card(2, holder="domain other"), card(3), card(4, holder="workspace/z"), card(5))
    ends = {"workspace/z": FIVE_PAST_FIVE}
    assert sets(seat("workspace/a", *cards), ends=ends) == [[1], [3], [5], [4], [2]]
    assert sets(seat("workspace/b", *cards), seat("workspace/a", *cards), ends=ends) == [[3], [5], [4], [1], [2]]


def test_a_card_that_can_not_be_used_is_in_no_set() -> None:
    assert sets(seat("workspace/a", card(1, is_viable=False), card(2))) == [[2]]
    assert sets(seat("workspace/a", card(1, is_viable=False))) == []


def test_sets_of_several_cards_share_nothing_where_they_can_and_else_do_without_each_card_once() -> None:
    cards = [card(number) for number in range(1, 6)]
    assert sets(seat("workspace/a", *cards, offering="l4-24g-x2-us")) == [[1, 2], [3, 4], [2, 3], [1, 3]]
    assert sets(seat("workspace/a", *cards[:3], offering="l4-24g-x2-us")) == [[1, 2], [2, 3], [1, 3]]


def test_an_offer_without_units_has_no_sets() -> None:
    assert sets(seat("workspace/a", offering="cpu-4c-16g-us")) == []


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
