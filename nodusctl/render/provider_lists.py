"""``providers list`` and ``providers lock`` as text and as JSON."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from nodusctl.engine.inspect_providers import InstanceFacts, ProviderFacts
from nodusctl.engine.provider_locking import Relocked
from nodusctl.ports.providers import LoadedProvider, PluginFacts
from nodusctl.render.counting import counted
from nodusctl.render.style import Style
from nodusctl.render.tables import table


def providers_text(facts: ProviderFacts, style: Style) -> str:
    """Plugins, then instances."""
    plugins = [[one.type, f"{one.distribution} {one.version}".strip(), _state(one, facts.instances)] for one in facts.plugins]
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
                "keptOut": one.kept_out is not None,
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


def lock_lines(changes: Iterable[Relocked]) -> str:
    """One line a provider type: what it is locked to, and what it was."""
    return "\n".join(f"{one.type}: {_change(one)}, {_how(one)}" for one in changes)


def lock_document(changes: Iterable[Relocked]) -> dict[str, Any]:
    """The same as JSON."""
    return {
        "providers": [
            {
                "type": one.type,
                "before": one.before,
                "after": one.after,
                "artefacts": one.artefacts,
                "builtIn": one.is_built_in,
                "editable": one.is_editable,
            }
            for one in changes
        ]
    }


def _change(one: Relocked) -> str:
    return one.after if one.before in {None, one.after} else f"{one.before} -> {one.after}"


def _how(one: Relocked) -> str:
    if one.is_built_in:
        return "by the version of nodusctl"
    return "by its version only: it is run from its sources" if one.is_editable else counted(one.artefacts, "artefact")


def _state(plugin: PluginFacts, instances: Iterable[InstanceFacts]) -> str:
    if plugin.is_loadable:
        return "ready"
    if plugin.kept_out is not None and plugin.kept_out.code == "PluginUnlocked":
        is_used = any(one.problem == plugin.kept_out for one in instances)
        return "not locked: nodusctl providers lock" if is_used else "not used by this project, not locked"
    if plugin.kept_out is not None:
        return "not the one that was locked: nodusctl providers lock"
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
