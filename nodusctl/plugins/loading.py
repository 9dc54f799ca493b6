"""From a live plugin instance to a LoadedProvider: described once, capabilities found once, every call behind the wrapper."""

from __future__ import annotations

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
    Provider,
)


def loaded(instance: str, plugin: Provider) -> LoadedProvider:
    """Wrap ``plugin``. What its ``describe`` raises passes through: an instance nobody can describe can't be used.

    ``simulation`` is the instance itself, because its verbs belong to a person at a keyboard who should see their faults.
    """
    description = plugin.describe()
    return LoadedProvider(
        instance=instance,
        description=description,
        calls=SafeCalls(plugin, description),
        volumes=SafeVolumes(plugin) if isinstance(plugin, CanHoldVolumes) else None,
        pruning=SafePruning(plugin) if isinstance(plugin, CanPruneRevisions) else None,
        verification=SafeVerification(plugin) if isinstance(plugin, CanVerifyRevisions) else None,
        agent=SafeAgent(plugin) if isinstance(plugin, CanAnswerAgent) else None,
        check=SafeCheck(instance, plugin) if isinstance(plugin, CanCheck) else None,
        console=SafeConsole(plugin) if isinstance(plugin, CanConsole) else None,
        price_list=SafePriceList(plugin) if isinstance(plugin, CanPostPrices) else None,
        simulation=plugin if isinstance(plugin, CanSimulate) else None,
    )
