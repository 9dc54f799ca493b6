"""What happens behind the record's back, and the use cases that look at it: drift, orphans, adopt and forget, as the commands call them."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest

from nodusctl.base.exits import UserError
from nodusctl.base.ids import Address
from nodusctl.engine import adopting, forgetting, taking_up
from nodusctl.engine.applying import ApplySettings, resume
from nodusctl.engine.deleting_orphans import Deletion, delete_orphan, plan_deletion
from nodusctl.engine.drifting import DriftReport, find_drift
from nodusctl.engine.offer_rates import OfferRates
from nodusctl.engine.orphans import OrphanReport, find_orphans
from nodusctl.executor.runs import Interrupts
from nodusctl.lifecycle.differing import DriftKind
from nodusctl.provider.machines import Machine
from nodusctl.provider.replies import Done
from nodusctl.provider.requests import LaunchRequest
from support.world import LAB, World

MINUTE, NO_TIME = timedelta(minutes=1), timedelta(0)


def drift(world: World) -> DriftReport:
    return find_drift(journal=world.state.journal, passes=world.state.passes, providers=world.providers, now=world.clock.now())


def kinds(world: World) -> list[DriftKind]:
    return [one.kind for one in drift(world).differences]


def rates(world: World) -> OfferRates:
    return OfferRates(world.providers, world.prices, {})


def orphans(world: World) -> OrphanReport:
    return find_orphans(journal=world.state.journal, providers=world.providers, rates=rates(world), now=world.clock.now())


def delete(world: World, thing: str, state_id: str = "") -> Deletion:
    one = plan_deletion(thing, orphans(world), state_id)
    return delete_orphan(one, outside=world.outside(), command="test", lock_timeout=NO_TIME, timeout=30 * MINUTE)


def adopt(world: World, thing: str, *, state_id: str = "", wanted: Address | None = None) -> None:
    plan = adopting.plan_adoption(thing, orphans(world), state_id=state_id, wanted=wanted, journal=world.state.journal)
    outside = world.outside()
    taking_up.adopt(plan, outside=outside, command="test", lock_timeout=NO_TIME)
    resume(outside, (plan.address,), ApplySettings(), Interrupts())


def forget(world: World, address: Address = LAB, *, even_if_running: bool = False) -> forgetting.Forgetting:
    plan = forgetting.plan_forgetting(
        address, journal=world.state.journal, rates=rates(world), now=world.clock.now(), even_if_running=even_if_running
    )
    forgetting.forget(plan, outside=world.outside(), command="test", lock_timeout=NO_TIME)
    return plan


def refusal(act: Any, *arguments: Any, **named: Any) -> str:
    """The code of the refusal."""
    with pytest.raises(UserError) as problem:
        act(*arguments, **named)
    return problem.value.diagnostics[0].code


def launch_another(world: World, machine: Machine, token: str, **tags: str) -> Machine:
    """A second machine with the same tags, as a create that was sent twice makes it."""
    request = LaunchRequest(
        token=token,
        name=machine.name,
        offer_id=machine.offer_id,
        instance_type=machine.instance_type,
        zone=machine.zone,
        is_interruptible=False,
        image="",
        boot="",
        edge_seconds=8 * 3600,
        tags={**machine.tags, **tags},
    )
    reply = world.cloud.launch(request)
    assert isinstance(reply, Done)
    return reply.value
