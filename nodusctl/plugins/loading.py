"""From a live plugin instance to a LoadedProvider: described once, capabilities found once, every call behind the wrapper."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from nodusctl.plugins.safety import SafeAgent, SafeCalls, SafeCheck, SafeConsole, SafePriceList, SafePruning, SafeVerification, SafeVolumes
from nodusctl.ports.providers import LoadedProvider
from nodusctl.provider.contract import (
    CanAnswerAgent,
    CanCheck,
    CanConsole,
    CanHoldVolumes,
    CanPostPrices,
    CanPruneRevisions,
    CanSimulate,
    CanVerifyRevisions,
    Description,
    Provider,
    ProviderContext,
)


def loaded(instance: str, plugin: Provider, context: ProviderContext | None = None) -> LoadedProvider:
    """Wrap ``plugin``. What its ``describe`` raises passes through: an instance nobody can describe can't be used.

    Where it has limits its calls take their turn, if ``context`` says where the account's bucket is. A simulated world's time isn't ours.

    ``simulation`` is the instance itself, because its verbs belong to a person at a keyboard who should see their faults.
    """
    description = plugin.describe()
    paced = _in_turn(plugin, description, context)
    return LoadedProvider(
        instance=instance,
        description=description,
        calls=SafeCalls(paced, description),
        volumes=SafeVolumes(paced) if isinstance(plugin, CanHoldVolumes) else None,
        pruning=SafePruning(paced) if isinstance(plugin, CanPruneRevisions) else None,
        verification=SafeVerification(paced) if isinstance(plugin, CanVerifyRevisions) else None,
        agent=SafeAgent(plugin) if isinstance(plugin, CanAnswerAgent) else None,
        check=SafeCheck(instance, plugin) if isinstance(plugin, CanCheck) else None,
        console=SafeConsole(plugin) if isinstance(plugin, CanConsole) else None,
        price_list=SafePriceList(plugin) if isinstance(plugin, CanPostPrices) else None,
        simulation=plugin if isinstance(plugin, CanSimulate) else None,
    )


def _in_turn(plugin: Provider, description: Description, context: ProviderContext | None) -> Any:
    if context is None or not description.rate_limits or isinstance(plugin, CanSimulate):
        return plugin
    from nodusctl.plugins.throttle import Paced, Throttle

    return Paced(plugin, Throttle(Path(context.data_dir) / "rates", description, context.wall))
