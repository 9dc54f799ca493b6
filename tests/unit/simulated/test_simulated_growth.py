"""What a call costs the world doesn't grow with how much is in it: counted in SQLite's steps, among ten things and among a hundred."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from support.effort import steps_of

from nodusctl.provider.offers import OfferQuery
from nodusctl.testing.provider_conformance import done

FEW, MANY = 10, 100
CALLS = {
    "a disk is made": lambda sim: sim.disk(),
    "a disk is asked for again": lambda sim: sim.disk(token="disk-0"),
    "a machine is launched": lambda sim: sim.launch(),
    "a machine is asked for again": lambda sim: done(sim.provider.launch(sim.launch_request(token="machine-0"))),
    "the disk of a token is looked for": lambda sim: done(sim.provider.find("disk-0")),
    "the machine of a token is looked for": lambda sim: done(sim.provider.find("machine-0")),
    "nothing of a token is found": lambda sim: done(sim.provider.find("nobody's")),
    "offers are asked for": lambda sim: done(sim.provider.offers(OfferQuery())),
}


def fill(sim, numbers: range) -> None:
    for number in numbers:
        sim.disk(token=f"disk-{number}")
        sim.launch(token=f"machine-{number}")


@pytest.mark.parametrize("call", CALLS.values(), ids=CALLS)
def test_a_call_costs_the_same_among_many(sim, call: Callable) -> None:
    fill(sim, range(FEW))
    connection = sim.provider._database._opened()
    among_few = steps_of(connection, lambda: call(sim))
    fill(sim, range(FEW, MANY))
    among_many = steps_of(connection, lambda: call(sim))
    assert among_many < among_few + MANY - FEW, "less than one step for each thing that came"
