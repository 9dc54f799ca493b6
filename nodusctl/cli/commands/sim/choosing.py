"""Which simulated provider a ``sim`` command speaks to: the only one of the project, or the one ``--provider`` names."""

from __future__ import annotations

from typing import Annotated

import typer

from nodusctl.base.diagnostics import error
from nodusctl.base.exits import UserError
from nodusctl.cli.words import usage_error
from nodusctl.ports.providers import LoadedProvider, ProviderSet
from nodusctl.provider.contract import CanSimulate

ProviderOption = Annotated[
    str, typer.Option("--provider", metavar="NAME", help="The simulated provider, where the project has several.", show_default=False)
]

_HOW = """add one to nodusctl.yaml, then run sim init again:

  providers:
    sim: {type: simulated, world: world.yaml}"""


def simulation_of(providers: ProviderSet, name: str) -> CanSimulate:
    """The simulated world; UserError where there is none, 64 where there are several and none is named."""
    if name:
        return _world(providers.get(name))
    worlds = {one: loaded.simulation for one in providers.names() if (loaded := providers.get(one)).simulation is not None}
    if not worlds:
        raise UserError(
            error("NotFound", "The project has no simulated provider", "sim commands speak to a provider of type simulated.", _HOW)
        )
    if len(worlds) > 1:
        usage_error("The project has several simulated providers", f"They are {', '.join(worlds)}.", f"add --provider {next(iter(worlds))}")
    return next(world for world in worlds.values() if world is not None)


def _world(loaded: LoadedProvider) -> CanSimulate:
    if loaded.simulation is None:
        raise UserError(
            error("Unsupported", "This provider is not simulated", f"{loaded.instance} is of type {loaded.description.type}.", _HOW)
        )
    return loaded.simulation
