"""A card that somebody took after the plan: the next set of the same offer, never a start without a card, never a second machine."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from datetime import datetime, timedelta
from pathlib import Path

import pytest
from support.world import START, World, context_of, outcome, workspace_yaml

from nodus_providers.simulated.provider import SimulatedProvider
from nodusctl.base.clock import Clock
from nodusctl.base.exits import ExitCode
from nodusctl.base.ids import Address
from nodusctl.base.timestamps import format_time
from nodusctl.provider.contract import Provider
from nodusctl.provider.machines import Machine
from nodusctl.provider.offers import Offer, OfferQuery, Unit
from nodusctl.provider.replies import Done, Refused, Reply, Scope
from nodusctl.provider.requests import LaunchRequest
from nodusctl.state.status import Phase

A, B = Address("workspace", "a"), Address("workspace", "b")
CARDS = ("g1", "g2")


class CardHost(SimulatedProvider):
    """The simulated cloud whose L4s are two cards of one host. ``strangers`` has what somebody else runs on, by card."""

    def __init__(self, *arguments: object) -> None:
        super().__init__(*arguments)  # type: ignore[arg-type]
        self.strangers: dict[str, str] = {}
        self.asked: list[tuple[str, ...]] = []
        self._ours: dict[str, tuple[str, str]] = {}

    def offers(self, query: OfferQuery) -> Reply[tuple[Offer, ...]]:
        reply = super().offers(query)
        held = self._holders()
        units = tuple(Unit(id=one, devices=(f"0000:0{one[1]}:00.0",), holder=held.get(one, "")) for one in CARDS)
        if not isinstance(reply, Done):
            return reply
        sold = (one for one in reply.value if one.zone == "us-1a" and not one.is_interruptible)
        return Done(tuple(replace(one, units=units) if one.gpu_count == 1 else one for one in sold))

    def launch(self, request: LaunchRequest) -> Reply[Machine]:
        self.asked.append(request.unit_ids)
        busy = [f"{one} held by {holder}" for one, holder in self._holders().items() if one in request.unit_ids]
        if busy:
            return Refused("DeviceBusy", Scope.DEVICE, "; ".join(busy))
        reply = super().launch(request)
        if isinstance(reply, Done):
            self._ours |= dict.fromkeys(request.unit_ids, (reply.value.id, request.tags["nodus-address"]))
        return reply

    def _holders(self) -> dict[str, str]:
        living = {machine.id for machine in self.simulated_machines("", include_ended=False)}
        ours = {one: address for one, (machine_id, address) in self._ours.items() if machine_id in living}
        return {**ours, **self.strangers}


class CardWorld(World):
    """A project on such a host."""

    cards: CardHost

    def _open(self, now: datetime | None) -> tuple[Mapping[str, Provider], Clock]:
        self.cloud = self.cards = CardHost.open(context_of(self.folder, "sim", self.wall), {})  # type: ignore[assignment]
        if now is not None:
            self.cloud.initialise(now)
        return {"sim": self.cloud}, self.cloud.simulated_clock()


def one_card(name: str, **spec: object) -> str:
    return workspace_yaml(name, volume="", ephemeral=True, resources={"gpu": "L4"}, idleTimeout="8h", **spec)


@pytest.fixture
def world(tmp_path: Path) -> CardWorld:
    made = CardWorld(tmp_path / "project")
    made.write(one_card("a"))
    return made


def test_a_card_taken_after_the_plan_is_followed_by_the_other_card_of_the_offer(world: CardWorld) -> None:
    plan = world.plan()
    world.cards.strangers["g1"] = "domain other"
    assert world.apply(plan).exit_code is ExitCode.DONE
    attempt = world.attempt()
    assert attempt.terms is not None
    assert (world.cards.asked, attempt.terms.unit_ids) == ([("g1",), ("g2",)], ("g2",))
    assert [(one.code, one.unit_ids) for one in attempt.refusals] == [("DeviceBusy", ("g1",))]
    assert len(world.attempts()) == len(world.machines()) == 1
    world.check_quiet()


def test_with_both_cards_taken_it_waits_and_starts_on_the_one_that_is_let_go_of(world: CardWorld) -> None:
    plan = world.plan()
    world.cards.strangers |= {"g1": "domain other", "g2": "domain other"}
    result = world.apply(plan, timeout=timedelta(seconds=30))
    assert result.exit_code is not ExitCode.DONE
    assert (world.status(A).phase, world.status(A).reason, world.machines()) == (Phase.PENDING, "DeviceBusy", ())
    del world.cards.strangers["g2"]
    world.tick(times=3)
    assert world.status(A).phase is Phase.RUNNING
    assert [machine.tags["nodus-address"] for machine in world.machines()] == ["workspace/a"]
    assert world.cards.asked[-1] == ("g2",)
    assert () not in world.cards.asked, "a start without a card was asked for"
    world.check_quiet()


def test_a_session_starts_again_on_another_card_than_its_plan_chose(world: CardWorld) -> None:
    """The approval outlives the plan: what was taken while it was stopped doesn't strand it."""
    world.apply()
    world.stop(A)
    world.cards.strangers["g1"] = "domain other"
    assert world.start(A).exit_code is ExitCode.DONE
    assert world.status(A).phase is Phase.RUNNING
    assert world.cards.asked == [("g1",), ("g1",), ("g2",)]


def test_a_card_whose_holder_stops_by_its_times_is_waited_for_until_then(world: CardWorld) -> None:
    stop_at = START + timedelta(hours=2)
    world.cards.strangers["g2"] = "domain other"
    world.write(one_card("a", schedule={"stopAt": format_time(stop_at)}))
    world.apply()
    world.write(one_card("b"), name="b.yaml")
    plan = world.plan()
    assert plan.reasons == ()
    (line,) = plan.costs
    assert ("Queued", "Ready about 11:00 UTC: its devices are held until then.") in line.warnings
    result = world.apply(plan, timeout=timedelta(seconds=10))
    assert (outcome(result, B).phase, world.status(B).reason) == (Phase.PENDING, "DeviceBusy")
    world.tick_until(stop_at + timedelta(minutes=20))
    assert (world.status(A).phase, world.status(B).phase) == (Phase.STOPPED, Phase.RUNNING)
    assert () not in world.cards.asked


def test_a_card_whose_holder_has_nothing_but_a_lease_blocks_the_plan(world: CardWorld) -> None:
    """A lease is renewed as long as somebody wants the machine, so it is no end."""
    world.cards.strangers["g2"] = "domain other"
    world.apply()
    world.write(one_card("b"), name="b.yaml")
    (reason,) = world.plan().reasons
    assert (reason.code, reason.address) == ("DeviceBusy", B)
    assert "held by workspace/a" in reason.message
