"""Which approved offer is tried next: the approval's order, what refusals speak for, where the home lies, what was burnt."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest
from support import situations as given
from support.situations import NOW, situation

from nodusctl.attempts.attempt import Attempt, AttemptPhase, RefusedTry
from nodusctl.lifecycle.offers import HEALS, Choice, choose
from nodusctl.lifecycle.situation import Sightings
from nodusctl.state.status import Phase

SMALL_A, SMALL_B = given.terms(), given.terms(zone="us-1b")
LARGE_A, EU = given.terms("cpu-8c-32g-us"), given.terms("cpu-4c-16g-eu", zone="eu-1a")
OTHER = given.terms(provider="other", offer_key="other/us-1a/cpu-4c-16g-us")
ALL = (SMALL_A, SMALL_B, LARGE_A, EU, OTHER)


def chosen(*refusals: RefusedTry, **changes: Any) -> Choice:
    fields: dict[str, Any] = {"home": None, "record": given.record(approval=given.approval(*ALL)), **changes}
    return choose(situation(made=given.attempt(refusals=refusals), **fields))


def lost(key_of: Any, **changes: Any) -> Attempt:
    """An earlier Attempt whose machine ended before it was ready."""
    return given.launched(uid="earlier", phase=AttemptPhase.FAILED, terms=key_of, stop_reason="MachineLost", **changes)


def test_the_first_of_the_approval_is_tried_first() -> None:
    assert chosen().terms == SMALL_A


def test_a_refusal_of_a_zone_speaks_for_its_own_offer_only() -> None:
    assert chosen(given.refused(SMALL_A.offer_key)).terms == SMALL_B


def test_a_refusal_of_a_region_speaks_for_every_offer_there() -> None:
    assert chosen(given.refused(SMALL_A.offer_key, scope="region")).terms == EU


def test_a_refusal_of_an_account_speaks_for_all_of_its_provider() -> None:
    assert chosen(given.refused(SMALL_A.offer_key, code="QuotaExceeded", scope="account")).terms == OTHER


@pytest.mark.parametrize("code", sorted(HEALS))
def test_what_time_may_heal_comes_back_after_a_minute(code: str) -> None:
    refusals = tuple(given.refused(one.offer_key, code=code) for one in ALL)
    assert chosen(*refusals).back_at == NOW + timedelta(minutes=1)
    assert chosen(*refusals, now=NOW + timedelta(minutes=1)).terms == SMALL_A


def test_what_cannot_heal_never_comes_back() -> None:
    refusals = tuple(given.refused(one.offer_key, code="Invalid", scope="request") for one in ALL)
    assert chosen(*refusals) == Choice(terms=None, back_at=None, code="Invalid", message="words of the platform")


def test_pauses_double_up_to_a_quarter_of_an_hour() -> None:
    record = given.record(approval=given.approval(SMALL_A))
    pauses = [chosen(*(given.refused(),) * times, record=record).back_at for times in range(1, 7)]
    assert [(pause - NOW) // timedelta(minutes=1) for pause in pauses if pause] == [1, 2, 4, 8, 15, 15]


def test_a_longer_retry_after_of_the_platform_is_kept() -> None:
    record = given.record(approval=given.approval(SMALL_A))
    assert chosen(given.refused(retry_after=timedelta(minutes=40)), record=record).back_at == NOW + timedelta(minutes=40)


def test_a_home_with_data_is_started_only_where_it_lies() -> None:
    for held in (given.standing(revisions=(given.revision(),)), given.standing(is_newer_than_revision=True)):
        choice = chosen(given.refused(SMALL_A.offer_key), home=given.home(held))
        assert choice.terms == LARGE_A


def test_an_empty_disk_holds_nobody_to_its_place() -> None:
    assert chosen(given.refused(SMALL_A.offer_key), home=given.home(given.standing())).terms == SMALL_B


def test_the_offer_of_a_machine_lost_before_it_was_ready_is_burnt() -> None:
    assert chosen(earlier=(lost(SMALL_A),)).terms == SMALL_B


def test_an_approval_or_a_start_after_the_loss_gives_every_offer_back() -> None:
    later = NOW + timedelta(minutes=5)
    assert chosen(earlier=(lost(SMALL_A),), record=given.record(approval=given.approval(*ALL, at=later))).terms == SMALL_A
    assert chosen(earlier=(lost(SMALL_A),), status={"handled_requests": {"start": "2026-03-02T09:05:00Z"}}).terms == SMALL_A


def test_a_session_that_was_ready_gives_every_offer_back() -> None:
    ended = given.launched(ready=True, uid="later", phase=AttemptPhase.SUCCEEDED)
    assert chosen(earlier=(lost(SMALL_A), ended)).terms == SMALL_A


def test_with_every_offer_burnt_the_last_loss_is_the_reason() -> None:
    record = given.record(approval=given.approval(SMALL_A))
    choice = chosen(earlier=(lost(SMALL_A, stop_detail="the machine is terminated (HostFailed)"),), record=record)
    assert (choice.terms, choice.back_at, choice.code) == (None, None, "MachineLost")
    assert "HostFailed" in choice.message


def test_what_an_account_was_refused_in_an_earlier_pass_is_asked_again() -> None:
    refusal = given.refused(SMALL_A.offer_key, code="Unauthorized", scope="account")
    record = given.record(approval=given.approval(SMALL_A, SMALL_B))
    assert chosen(refusal, record=record).terms == SMALL_A
    this_pass = Sightings(failures={"launch": 1})
    assert chosen(refusal, record=record, sightings=this_pass).terms is None


def test_without_an_approval_there_is_nothing_to_try() -> None:
    assert choose(situation(Phase.PENDING, given.attempt(), record=given.record(approval=None))).terms is None


CARDS = given.terms("l4-24g-x1-us", unit_ids=("g1",), spare_unit_ids=(("g2",), ("g3",)))
PAIRS = given.terms("l4-24g-x2-us", unit_ids=("g1", "g2"), spare_unit_ids=(("g2", "g3"), ("g1", "g3")))


def busy(key: str, *units: str, **changes: Any) -> RefusedTry:
    return given.refused(key, code="DeviceBusy", scope="device", unit_ids=units, **changes)


def tried(*approved: Any, refusals: tuple[RefusedTry, ...] = (), **changes: Any) -> Choice:
    return chosen(*refusals, record=given.record(approval=given.approval(*approved)), **changes)


def test_a_start_freezes_one_set_of_devices_and_no_spares() -> None:
    terms = tried(CARDS).terms
    assert terms is not None
    assert (terms.unit_ids, terms.spare_unit_ids) == (("g1",), ())


def test_a_card_taken_meanwhile_leads_to_the_next_card_and_then_to_the_next_offer() -> None:
    taken: list[RefusedTry] = []
    for unit in ("g1", "g2", "g3"):
        terms = tried(CARDS, SMALL_B, refusals=tuple(taken)).terms
        assert terms is not None
        assert (terms.offer_key, terms.unit_ids) == (CARDS.offer_key, (unit,))
        taken.append(busy(CARDS.offer_key, unit))
    assert tried(CARDS, SMALL_B, refusals=tuple(taken)).terms == SMALL_B


def test_with_every_card_taken_the_first_comes_back_after_its_own_pause() -> None:
    taken = (busy(CARDS.offer_key, "g1"), busy(CARDS.offer_key, "g2", time=NOW + timedelta(seconds=5)), busy(CARDS.offer_key, "g3"))
    assert tried(CARDS, refusals=taken) == Choice(
        terms=None, back_at=NOW + timedelta(minutes=1), code="DeviceBusy", message="words of the platform"
    )
    again = tried(CARDS, refusals=taken, now=NOW + timedelta(minutes=1)).terms
    assert again is not None
    assert again.unit_ids == ("g1",)


def test_a_refused_set_speaks_for_sets_that_need_all_of_it_on_its_own_host_only() -> None:
    def units(*refusals: RefusedTry) -> tuple[str, ...]:
        terms = tried(PAIRS, CARDS, refusals=refusals).terms
        assert terms is not None
        return terms.unit_ids

    assert units(busy(PAIRS.offer_key, "g1", "g2")) == ("g2", "g3"), "which of the two is held isn't known"
    assert units(busy(CARDS.offer_key, "g1")) == ("g2", "g3"), "and what one offer was told counts for the other"
    elsewhere = given.terms("l4-24g-x1-us", "us-1b", unit_ids=("g1",))
    there = tried(CARDS, elsewhere, refusals=tuple(busy(CARDS.offer_key, unit) for unit in ("g1", "g2", "g3"))).terms
    assert there == elsewhere, "devices of another host only have the same names"


def test_a_group_that_turned_out_unusable_does_not_end_the_offer() -> None:
    refusal = given.refused(CARDS.offer_key, code="DeviceGroupNotViable", scope="device", unit_ids=("g1",))
    terms = tried(CARDS, refusals=(refusal,)).terms
    assert terms is not None
    assert terms.unit_ids == ("g2",)
    every = tuple(
        given.refused(CARDS.offer_key, code="DeviceGroupNotViable", scope="device", unit_ids=(unit,)) for unit in ("g1", "g2", "g3")
    )
    assert tried(CARDS, refusals=every).back_at is None, "and where none can be used, it never comes back"


def test_a_refusal_of_the_offer_itself_speaks_for_all_its_devices() -> None:
    assert tried(CARDS, SMALL_B, refusals=(given.refused(CARDS.offer_key, unit_ids=("g1",)),)).terms == SMALL_B
    old = given.refused(CARDS.offer_key, code="DeviceBusy", scope="device")
    assert tried(CARDS, SMALL_B, refusals=(old,)).terms == SMALL_B, "a refusal from before devices were written down"
