"""Rules of machines: what launch, find, observe, list and release promise (rules R2, R4, R5, R9, R10, R15 of the provider contract)."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from datetime import timedelta

import pytest

from nodusctl.provider.contract import BillingEnd, CanPostPrices, Provider, SelfStop
from nodusctl.provider.machines import Machine, MachineState, ReleaseState
from nodusctl.provider.offers import OfferQuery
from nodusctl.provider.replies import Done, Refused, Scope, Unknown
from nodusctl.provider.requests import LaunchRequest, ReleaseRequest
from nodusctl.testing.conformance_hooks import ConformanceHooks, done

ALIVE = (MachineState.PENDING, MachineState.RUNNING)
OVER = (MachineState.TERMINATED, MachineState.GONE)


class DescriptionRules(ConformanceHooks):
    """What a provider says about itself and sells."""

    def test_a_description_is_sane_and_stable(self, provider: Provider) -> None:
        """Two descriptions are equal, and none contradicts itself."""
        description = provider.describe()
        assert description == provider.describe()
        assert description.type == provider.type_name
        assert description.account, "an instance has an account identity (rule R12)"
        assert description.list_lag_bound >= timedelta(0)
        assert description.stop_bound > timedelta(0)
        assert description.size_granularity_bytes >= 1
        assert description.boot_limit_bytes is None or description.boot_limit_bytes > 0
        assert "SSH" in description.tools
        ends_billing = description.self_stop is SelfStop.ENDS_BILLING
        assert not (ends_billing and description.billing_ends_at is BillingEnd.TERMINATED), "a self-stop can't end billing there"

    def test_settings_have_a_schema(self, provider: Provider) -> None:
        """The schema of the settings describes an object."""
        assert provider.settings_schema()["type"] == "object"

    def test_offers_are_well_formed(self, provider: Provider) -> None:
        """Offers have unique keys, a place, a shape, priors in order, and no price of zero where the hardware isn't ours."""
        offers = done(provider.offers(OfferQuery()))
        assert offers
        assert len({offer.key for offer in offers}) == len(offers)
        for offer in offers:
            assert offer.id, offer
            assert offer.zone, offer
            assert offer.location, offer
            assert offer.region_class, offer
            assert offer.vcpu_milli > 0, offer
            assert offer.memory_bytes > 0, offer
            assert timedelta(0) <= offer.startup_p50 <= offer.startup_p90, offer
            assert offer.increment_seconds >= 1, offer
            assert offer.minimum_seconds >= 0, offer
            assert (offer.accelerator is None) == (offer.gpu_count == 0), offer
            assert offer.quote is None or offer.is_own_hardware or offer.quote.rate_usd_per_hour.micro > 0, offer
            assert offer.quote is None or offer.quote.observed_at.tzinfo is not None, offer

    def test_a_published_price_list_says_what_the_offers_say(self, provider: Provider) -> None:
        """Where there is one: read without a call, it has every offer at the same quote."""
        if not isinstance(provider, CanPostPrices):
            pytest.skip("this provider publishes no price list")
        quoted = {offer.key: offer.quote and offer.quote.rate_usd_per_hour for offer in done(provider.offers(OfferQuery()))}
        assert quoted.items() <= {offer.key: offer.quote and offer.quote.rate_usd_per_hour for offer in provider.posted()}.items()


class LaunchRules(ConformanceHooks):
    """One token, at most one machine."""

    def test_a_launched_machine_is_found_by_its_token(self, provider: Provider) -> None:
        """What launch made is what find answers."""
        request = self.a_launch(provider)
        machine = done(provider.launch(request))
        assert machine.state in ALIVE
        found = done(provider.find(request.token))
        assert isinstance(found, Machine)
        assert found.id == machine.id

    def test_a_machine_comes_to_run(self, provider: Provider) -> None:
        """A launched machine runs, has times of the provider's own, and times that agree with each other."""
        machine = self.running(provider)
        assert machine.created_at is not None
        assert machine.created_at.tzinfo is not None
        assert machine.billing_started_at is None or machine.billing_started_at >= machine.created_at
        assert machine.ended_at is None
        jump = machine.ssh.jump if machine.ssh is not None else None
        assert jump is None or len(jump.host_key.split()) == 2, "a host on the way has its key pinned, never one seen on the way"

    def test_the_same_token_twice_is_one_machine(self, provider: Provider) -> None:
        """Repeating a launch finds the machine it made."""
        if not provider.describe().create_is_idempotent:
            pytest.skip("creates are not idempotent here")
        request = self.a_launch(provider)
        first, second = done(provider.launch(request)), done(provider.launch(request))
        assert first.id == second.id
        assert len(self._made_by(provider, request.token)) == 1

    def test_a_token_with_another_request_never_makes_a_second_machine(self, provider: Provider) -> None:
        """The second request is refused or answered with the first machine."""
        if not provider.describe().create_is_idempotent:
            pytest.skip("creates are not idempotent here")
        request = self.a_launch(provider)
        machine = done(provider.launch(request))
        reply = provider.launch(replace(request, edge_seconds=request.edge_seconds + 60, name=f"{request.name}-b"))
        assert isinstance(reply, Refused) or done(reply).id == machine.id
        assert len(self._made_by(provider, request.token)) == 1

    def test_an_unknown_token_finds_nothing(self, provider: Provider) -> None:
        """Find answers None, not a refusal."""
        assert done(provider.find(self.new_token())) is None

    def test_a_second_instance_sees_the_same_machines(self, provider: Provider) -> None:
        """A machine belongs to the platform, not to the process that launched it."""
        request = self.a_launch(provider)
        machine = done(provider.launch(request))
        another = self.make_provider(self._tmp_path)
        found = done(another.find(request.token))
        assert isinstance(found, Machine)
        assert found.id == machine.id
        assert machine.id in [listed.id for listed in done(another.list()).machines]

    def test_launches_in_parallel_make_one_machine_each(self, provider: Provider) -> None:
        """Distinct tokens in as many threads make as many machines."""
        requests = [self.a_launch(provider, f"lab-{number}") for number in range(self.parallel_launches)]
        with ThreadPoolExecutor(len(requests)) as pool:
            machines = [done(reply) for reply in pool.map(provider.launch, requests)]
        assert len({machine.id for machine in machines}) == len(requests)
        assert {machine.id for machine in done(provider.list()).machines} == {machine.id for machine in machines}

    def test_one_token_in_parallel_makes_one_machine(self, provider: Provider) -> None:
        """The same request from several threads at once makes one machine."""
        if not provider.describe().create_is_idempotent:
            pytest.skip("creates are not idempotent here")
        request = self.a_launch(provider)
        with ThreadPoolExecutor(4) as pool:
            replies = list(pool.map(provider.launch, [request] * 4))
        ids = {reply.value.id for reply in replies if isinstance(reply, Done)}
        assert len(ids) == 1, replies
        assert len(self._made_by(provider, request.token)) == 1

    def test_names_and_tags_survive_any_spelling(self, provider: Provider) -> None:
        """A name of 63 characters and an owner outside ASCII come back as they were given."""
        name = "n" * 50
        ownership = self.ownership(name)
        tags = dict(ownership.tags()) | {"nodus-owner": "Zoë ☃ 山田 'quoted' \"twice\""}
        request = replace(self.a_launch(provider, name), tags=tags, name=ownership.machine_name[:63])
        machine = done(provider.launch(request))
        assert dict(self.seen(provider, machine.id).tags).items() >= tags.items()

    def _made_by(self, provider: Provider, token: str) -> list[Machine]:
        return [machine for machine in done(provider.list()).machines if machine.token == token]


class RefusalRules(ConformanceHooks):
    """A wrong request is an answer, never an exception, and makes nothing."""

    @pytest.mark.parametrize(
        "wrong",
        [
            pytest.param(lambda request, rules: replace(request, zone=rules.unknown_zone), id="unknown zone"),
            pytest.param(lambda request, rules: replace(request, offer_id="no-such-offer"), id="unknown offer"),
            pytest.param(lambda request, rules: replace(request, edge_seconds=0), id="no edge ahead"),
        ],
    )
    def test_a_wrong_launch_is_refused_and_makes_nothing(
        self, provider: Provider, wrong: Callable[[LaunchRequest, ConformanceHooks], LaunchRequest]
    ) -> None:
        """The refusal is Invalid and speaks of this request only."""
        request = wrong(self.a_launch(provider), self)
        reply = provider.launch(request)
        assert isinstance(reply, Refused), reply
        assert (reply.code, reply.scope) == ("Invalid", Scope.REQUEST)
        assert reply.message
        assert done(provider.list()).machines == ()
        assert done(provider.find(request.token)) is None

    def test_nonsense_is_answered(self, provider: Provider) -> None:
        """Empty and strange ids and tokens get one of the three answers."""
        for text in ("", "../../etc", "x" * 300, "☃"):
            replies = (
                provider.find(text),
                provider.observe([text]),
                provider.release(ReleaseRequest(token=self.new_token(), machine_id=text)),
            )
            assert all(isinstance(reply, (Done, Refused, Unknown)) for reply in replies), text


class ObserveRules(ConformanceHooks):
    """What is shown, and whose."""

    def test_observe_keeps_the_order_and_calls_an_unknown_id_gone(self, provider: Provider) -> None:
        """One answer an id, in order; an id that isn't there is gone."""
        first, second = self.launched(provider, "first"), self.launched(provider, "second")
        seen = done(provider.observe([second.id, "no-such-machine", first.id]))
        assert [machine.id for machine in seen] == [second.id, "no-such-machine", first.id]
        assert [machine.state in ALIVE for machine in seen] == [True, False, True]
        assert seen[1].state is MachineState.GONE

    def test_observing_nothing_is_an_empty_answer(self, provider: Provider) -> None:
        """No ids, no machines."""
        assert done(provider.observe([])) == ()

    def test_list_shows_every_tagged_machine_whatever_its_state(self, provider: Provider) -> None:
        """Machines of another state are listed too, each with all tags it was made with (rules R9, R15)."""
        ours = self.ownership("ours").tags()
        theirs = replace(self.ownership("theirs"), state_id="another-state").tags()
        ids = {self.launched(provider, "ours", tags=ours).id: ours, self.launched(provider, "theirs", tags=theirs).id: theirs}
        listed = {machine.id: machine for machine in done(provider.list()).machines}
        assert listed.keys() == ids.keys()
        for machine_id, tags in ids.items():
            assert dict(listed[machine_id].tags).items() >= dict(tags).items()


class ReleaseRules(ConformanceHooks):
    """Released means that the provider said so."""

    def test_a_release_is_confirmed_and_stays_confirmed(self, provider: Provider) -> None:
        """Asking again confirms; then the machine is over, not listed and not found."""
        request = self.a_launch(provider)
        machine = self.in_state(provider, done(provider.launch(request)).id, MachineState.RUNNING)
        release = self.released(provider, machine.id)
        assert release.ended_at is None or machine.created_at is None or release.ended_at >= machine.created_at
        again = done(provider.release(ReleaseRequest(token=self.new_token("delete"), machine_id=machine.id)))
        assert again.state is ReleaseState.GONE
        assert again.ended_at == release.ended_at
        assert self.seen(provider, machine.id).state in OVER
        assert [listed.id for listed in done(provider.list()).machines if listed.state not in OVER] == []
        assert done(provider.find(request.token)) is None

    def test_a_booting_machine_can_be_released(self, provider: Provider) -> None:
        """A release needs no running machine, and the boot that was under way doesn't bring it back."""
        machine = self.launched(provider)
        self.released(provider, machine.id)
        self.let_time_pass(provider)
        assert self.seen(provider, machine.id).state in OVER

    def test_an_id_never_shown_is_not_found(self, provider: Provider) -> None:
        """A release of what this account never had is refused as NotFound: it proves nothing (rule R5)."""
        reply = provider.release(ReleaseRequest(token=self.new_token("delete"), machine_id="no-such-machine"))
        assert isinstance(reply, Refused), reply
        assert reply.code == "NotFound"


class EdgeRules(ConformanceHooks):
    """The armed edge (rule R10)."""

    def test_a_machine_stops_itself_at_its_edge(self, provider: Provider) -> None:
        """Nobody renews, and the machine ends by itself within the stop bound; it can still be released."""
        machine = self.launched(provider, edge_seconds=self.short_edge_seconds)
        over = self.in_state(provider, machine.id, MachineState.STOPPED, *OVER)
        description = provider.describe()
        if description.self_stop is SelfStop.ENDS_MACHINE:
            assert over.state in OVER
        if over.ended_at is not None and over.created_at is not None:
            lasted = over.ended_at - over.created_at
            startup = self.an_offer(provider).startup_p90
            bound = timedelta(seconds=self.short_edge_seconds) + startup + description.stop_bound
            assert timedelta(seconds=self.short_edge_seconds - 2) <= lasted <= bound
        self.released(provider, machine.id)


class MachineRules(DescriptionRules, LaunchRules, RefusalRules, ObserveRules, ReleaseRules, EdgeRules):
    """All rules of machines."""
