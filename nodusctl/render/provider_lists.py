"""``providers list`` as text and as JSON."""

from __future__ import annotations

from typing import Any

from nodusctl.engine.inspect_providers import InstanceFacts, ProviderFacts
from nodusctl.ports.providers import LoadedProvider, PluginFacts
from nodusctl.render.style import Style
from nodusctl.render.tables import table


def providers_text(facts: ProviderFacts, style: Style) -> str:
    """Plugins, then instances."""
    plugins = [[one.type, f"{one.distribution} {one.version}".strip(), _state(one)] for one in facts.plugins]
    instances = [_instance_row(one) for one in facts.instances]
    first = table(("PLUGIN", "FROM", "STATE"), plugins, style)
    if not instances:
        return f"{first}\n\nThe project names no provider."
    return f"{first}\n\n{table(('INSTANCE', 'TYPE', 'ACCOUNT', 'CAN', 'STATE'), instances, style)}"


def providers_document(facts: ProviderFacts) -> dict[str, Any]:
    """The same as JSON."""
    return {
        "plugins": [
            {
                "type": one.type,
                "distribution": one.distribution,
                "version": one.version,
                "loadable": one.is_loadable,
                "missingExtra": one.missing_extra,
            }
            for one in facts.plugins
        ],
        "instances": [
            {
                "name": one.name,
                "type": one.loaded.description.type if one.loaded else "",
                "account": one.loaded.description.account if one.loaded else "",
                "capabilities": _capabilities(one.loaded) if one.loaded else [],
                "problem": one.problem.summary if one.problem else "",
            }
            for one in facts.instances
        ],
    }


def _state(plugin: PluginFacts) -> str:
    if plugin.is_loadable:
        return "ready"
    return f"missing: pip install 'nodusctl[{plugin.missing_extra}]'" if plugin.missing_extra else "can't be loaded"


def _instance_row(instance: InstanceFacts) -> list[str]:
    loaded = instance.loaded
    if loaded is None:
        problem = instance.problem
        return [instance.name, "", "", "", f"{problem.code}: {problem.summary}" if problem else "can't be loaded"]
    return [instance.name, loaded.description.type, loaded.description.account, ", ".join(_capabilities(loaded)), "ready"]


def _capabilities(loaded: LoadedProvider) -> list[str]:
    offered = {
        "volumes": loaded.volumes,
        "agent": loaded.agent,
        "check": loaded.check,
        "console": loaded.console,
        "simulate": loaded.simulation,
    }
    return [name for name, capability in offered.items() if capability is not None]
