"""The world file: the default world, what may be changed, and how faults in it are said."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from nodus_providers.simulated.settings import read_settings
from nodus_providers.simulated.world import World
from nodus_providers.simulated.worldfile import load_world, world_text
from nodusctl.base.exits import UserError
from nodusctl.base.money import Money
from nodusctl.provider.offers import Availability, OfferQuery
from nodusctl.provider.replies import Refused, Scope
from nodusctl.testing.provider_conformance import done


def test_without_a_file_the_world_is_the_default_one(tmp_path: Path) -> None:
    assert load_world(tmp_path / "world.yaml", "world.yaml") == World()


def test_the_written_default_world_reads_back_equal(tmp_path: Path) -> None:
    path = tmp_path / "world.yaml"
    path.write_text(world_text(World()))
    assert load_world(path, "world.yaml") == World()


def test_an_empty_file_is_the_default_world(tmp_path: Path) -> None:
    path = tmp_path / "world.yaml"
    path.write_text("# nothing yet\n")
    assert load_world(path, "world.yaml") == World()


def test_the_default_offers_are_those_of_the_documentation(sim) -> None:
    offers = done(sim.provider.offers(OfferQuery()))
    rates = {(offer.id, offer.is_interruptible): str(offer.quote.rate_usd_per_hour) for offer in offers}
    assert rates == {
        ("cpu-4c-16g-us", False): "0.20",
        ("cpu-8c-32g-us", False): "0.40",
        ("l4-24g-x1-us", False): "1.10",
        ("h100-sxm-80g-x1-us", False): "4.40",
        ("h100-sxm-80g-x1-us", True): "1.76",
        ("h100-sxm-80g-x8-us", False): "35.20",
        ("h100-sxm-80g-x8-eu", False): "38.72",
    }
    assert {offer.zone for offer in offers} == {"us-1a", "us-1b", "eu-1a"}
    first = offers[0]
    assert (first.vcpu_milli, first.memory_bytes) == (4000, 16 * 2**30)
    assert first.quote.observed_at == sim.clock.now()
    assert (first.startup_p50, first.startup_p90) == (timedelta(seconds=45), timedelta(seconds=60))
    assert (first.increment_seconds, first.minimum_seconds) == (1, 60)
    assert first.storage_usd_per_gib_month == Money.parse("0.10")


def test_a_query_narrows_offers_by_family_and_location(sim) -> None:
    query = OfferQuery(accelerator_families=("h100",), locations=("simulated/eu-1a",))
    assert [offer.id for offer in done(sim.provider.offers(query))] == ["h100-sxm-80g-x8-eu"]


def test_every_fault_of_a_world_file_has_its_place(tmp_path: Path) -> None:
    path = tmp_path / "world.yaml"
    path.write_text("times:\n  bootP50: soon\n  sav: 20s\noffers:\n- id: x\n  memory: 010\nmanner: {}\n")
    with pytest.raises(UserError) as caught:
        load_world(path, "world.yaml")
    places = {(diagnostic.field, str(diagnostic.span)) for diagnostic in caught.value.diagnostics}
    assert {
        ("times.bootP50", "world.yaml:2:12"),
        ("times.sav", "world.yaml:3:3"),
        ("manner", "world.yaml:7:1"),
        ("offers[0].memory", "world.yaml:6:11"),
    } <= places
    fixes = {diagnostic.field: diagnostic.fix for diagnostic in caught.value.diagnostics}
    assert fixes["times.sav"] == "Did you mean save?"
    assert fixes["manner"] == "Did you mean manners?"


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("zones: [{name: a, region: r, regionClass: us}]\n", "which isn't under zones"),
        ("billing: {selfStop: ends-billing, endsAt: terminated}\n", "can't end billing"),
        ('billing: {storageUSDPerGiBMonth: "0"}\n', "0 is not a price"),
        ("billing: {storageUSDPerGiBMonth: 0.10}\n", "decimal string"),
        ("times: {save: 20}\n", "a duration is text"),
    ],
)
def test_a_world_that_contradicts_itself_is_refused(tmp_path: Path, text: str, said: str) -> None:
    path = tmp_path / "world.yaml"
    path.write_text(text)
    with pytest.raises(UserError) as caught:
        load_world(path, "world.yaml")
    assert said in caught.value.diagnostics[0].detail


def test_a_broken_world_file_is_a_diagnostic_with_a_place(tmp_path: Path) -> None:
    path = tmp_path / "world.yaml"
    path.write_text("times: {save: 20s\n")
    with pytest.raises(UserError) as caught:
        load_world(path, "world.yaml")
    assert caught.value.diagnostics[0].span is not None


def test_an_unknown_setting_is_refused_by_name() -> None:
    with pytest.raises(UserError) as caught:
        read_settings("sim", {"type": "simulated", "wrld": "x"})
    assert caught.value.diagnostics[0].field == "providers.sim.wrld"


def test_an_offer_without_a_rate_is_offered_without_a_quote(make_sim: Callable) -> None:
    sim = make_sim("offers: [{id: h100-sxm-80g-x8-eu, instanceType: t, zones: [eu-1a], cpu: 4, memory: 16Gi}]\n")
    (offer,) = done(sim.provider.offers(OfferQuery()))
    assert offer.quote is None


def test_capacity_sells_out_zone_by_zone(make_sim: Callable) -> None:
    line = 'offers: [{id: one, instanceType: t, zones: [us-1a, us-1b], cpu: 4, memory: 16Gi, rateUSDPerHour: "1", capacity: 1}]\n'
    sim = make_sim(line)
    sim.launch(offer_id="one", instance_type="t")
    assert [offer.availability for offer in done(sim.provider.offers(OfferQuery()))] == [Availability.SOLD_OUT, Availability.AVAILABLE]
    reply = sim.provider.launch(sim.launch_request(offer_id="one", instance_type="t"))
    assert isinstance(reply, Refused)
    assert (reply.code, reply.scope) == ("CapacityUnavailable", Scope.ZONE)
    sim.launch(offer_id="one", instance_type="t", zone="us-1b")


def test_the_account_quota_speaks_for_the_account(make_sim: Callable) -> None:
    sim = make_sim("quotas: {machines: 1, disks: 0}\n")
    machine = sim.launch()
    reply = sim.provider.launch(sim.launch_request())
    assert isinstance(reply, Refused)
    assert (reply.code, reply.scope) == ("QuotaExceeded", Scope.ACCOUNT)
    sim.release(machine.id)
    sim.launch()


def test_another_account_sees_nothing_of_the_first(make_sim: Callable) -> None:
    first = make_sim()
    machine = first.launch()
    second = make_sim("account: other\n")
    assert second.provider.describe().account == "other"
    assert done(second.provider.list()).machines == ()
    assert second.seen(machine.id).state == "gone"
    assert [seen.id for seen in second.provider.simulated_machines("", include_ended=False)] == [machine.id]


def test_initialise_writes_the_file_once_and_sets_the_clock(sim) -> None:
    now = datetime(2030, 1, 1, tzinfo=UTC)
    assert sim.provider.initialise(now) == str(sim.world_path)
    assert sim.clock.now() == now
    sim.world_path.write_text("account: mine\n")
    sim.provider.initialise(None)
    assert sim.world_path.read_text() == "account: mine\n"
    assert sim.provider.describe().account == "mine"


def test_an_untouched_world_can_begin_in_the_past(sim) -> None:
    past = datetime(2020, 1, 1, tzinfo=UTC)
    sim.provider.initialise(past)
    assert sim.clock.now() == past
    sim.launch()
    with pytest.raises(UserError):
        sim.provider.initialise(datetime(2019, 1, 1, tzinfo=UTC))


def test_check_notes_a_missing_file_and_scripted_faults(sim) -> None:
    assert [finding.code for finding in sim.provider.check()] == ["DefaultWorld"]
    sim.provider.initialise(None)
    assert sim.provider.check() == ()
    sim.fault("get", "gone", times=1)
    (finding,) = sim.provider.check()
    assert finding.code == "FaultsScripted"
    assert not finding.is_error
