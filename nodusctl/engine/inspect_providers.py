"""``providers list``: what could be used, and what this project uses. Asks no platform anything."""

from __future__ import annotations

from dataclasses import dataclass

from nodusctl.base.diagnostics import Diagnostic
from nodusctl.base.exits import UserError
from nodusctl.ports.providers import LoadedProvider, PluginFacts, ProviderSet


@dataclass(frozen=True, slots=True, kw_only=True)
class InstanceFacts:
    """One instance of the project: loaded, or the first reason why it can't be."""

    name: str
    loaded: LoadedProvider | None
    problem: Diagnostic | None


@dataclass(frozen=True, slots=True, kw_only=True)
class ProviderFacts:
    """Plugins in alphabetical order, instances in the project file's."""

    plugins: tuple[PluginFacts, ...]
    instances: tuple[InstanceFacts, ...]


def provider_facts(*, providers: ProviderSet) -> ProviderFacts:
    """Every plugin, also one whose dependency is missing, and every instance, also a broken one."""
    return ProviderFacts(plugins=providers.plugins(), instances=tuple(_instance(providers, name) for name in providers.names()))


def _instance(providers: ProviderSet, name: str) -> InstanceFacts:
    try:
        return InstanceFacts(name=name, loaded=providers.get(name), problem=None)
    except UserError as fault:
        return InstanceFacts(name=name, loaded=None, problem=fault.diagnostics[0] if fault.diagnostics else None)
