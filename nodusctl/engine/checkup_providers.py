"""``doctor`` on plugins and provider instances: loaded or not, what each says about itself, and whether it answers."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from nodusctl.base.diagnostics import Diagnostic, error, has_errors
from nodusctl.base.exits import UserError
from nodusctl.base.nearest import nearest
from nodusctl.engine.checkup import Area
from nodusctl.engine.market import ask_markets
from nodusctl.ports.providers import LoadedProvider, PluginFacts, ProviderSet


def provider_areas(providers: ProviderSet, types: Mapping[str, str], wanted: str = "") -> Iterator[Area]:
    """Areas of the providers a person asked about.

    ``types`` maps an instance of the project to its type. ``wanted`` is an instance's name or a type (then all its instances, or the
    plugin alone); empty means every instance and every plugin that one of them needs. UserError for a name nothing answers to.
    """
    plugins = {one.type: one for one in providers.plugins()}
    instances = _instances(types, wanted)
    if wanted and not instances and wanted not in plugins:
        raise UserError(_unknown(wanted, [*types, *plugins]))
    needed = {types[name] for name in instances} | ({wanted} if wanted in plugins else set())
    for one in plugins.values():
        if one.type in needed:
            yield Area(kind="plugin", name=one.type, note=_plugin_note(one), findings=_plugin_findings(one))
        elif not wanted:
            yield Area(kind="plugin", name=one.type, note=f"{_plugin_note(one)}; not used by this project")
    for name in instances:
        yield _instance(name, types[name], providers, plugins)


def _instances(types: Mapping[str, str], wanted: str) -> tuple[str, ...]:
    if not wanted:
        return tuple(types)
    return (wanted,) if wanted in types else tuple(name for name, type_name in types.items() if type_name == wanted)


def _instance(name: str, type_name: str, providers: ProviderSet, plugins: Mapping[str, PluginFacts]) -> Area:
    plugin = plugins.get(type_name)
    if plugin is not None and not plugin.is_loadable:
        return Area(kind="provider", name=name, note=f"type {type_name}, its plugin can't be loaded", findings=_plugin_findings(plugin))
    try:
        loaded = providers.get(name)
    except UserError as fault:
        return Area(
            kind="provider", name=name, note="can't be opened", findings=tuple(_without_doctor(one, name) for one in fault.diagnostics)
        )
    said = loaded.check.check() if loaded.check is not None else ()
    findings = said if has_errors(said) else (*said, *_silence(loaded, providers))
    seen = (f"type {type_name}, {loaded.description.account}", loaded.description.walls)
    return Area(kind="provider", name=name, note="; ".join(filter(None, seen)), findings=findings)


class _Only:
    """One instance of a set, so that the others aren't asked."""

    def __init__(self, providers: ProviderSet, name: str) -> None:
        self._providers, self._name = providers, name

    def names(self) -> tuple[str, ...]:
        return (self._name,)

    def get(self, instance: str) -> LoadedProvider:
        return self._providers.get(instance)

    def plugins(self) -> tuple[PluginFacts, ...]:
        return self._providers.plugins()

    def problems(self) -> tuple[Diagnostic, ...]:
        return ()


def _silence(loaded: LoadedProvider, providers: ProviderSet) -> tuple[Diagnostic, ...]:
    """Whether it answers the question every plan asks."""
    market = ask_markets(_Only(providers, loaded.instance), {})[0]
    if market.is_ready:
        return ()
    detail = f"Provider {loaded.instance} gave no offers: {market.why_not}."
    return (
        error(
            "ProviderNotReady", "A provider doesn't answer", detail, "When its platform answers again, see for yourself:\n  nodusctl offers"
        ),
    )


def _plugin_note(one: PluginFacts) -> str:
    if one.is_loadable:
        return f"{one.distribution} {one.version}".strip() or "ready"
    if one.kept_out is not None:
        return "not locked" if one.kept_out.code == "PluginUnlocked" else "not the one that was locked"
    return f"needs nodusctl[{one.missing_extra}]" if one.missing_extra else "can't be loaded"


def _plugin_findings(one: PluginFacts) -> tuple[Diagnostic, ...]:
    if one.is_loadable:
        return ()
    if one.kept_out is not None:
        return (one.kept_out,)
    extra = one.missing_extra or one.type
    detail = f"Provider type {one.type} can't be used without it."
    return (error("ProviderNotReady", "A provider's dependency is not installed", detail, f"pip install 'nodusctl[{extra}]'"),)


def _without_doctor(finding: Diagnostic, name: str) -> Diagnostic:
    """A message that sends people to doctor helps nobody in doctor itself."""
    if "nodusctl doctor" not in finding.fix:
        return finding
    from dataclasses import replace

    return replace(
        finding, fix=f"Correct its settings under providers: {name} in nodusctl.yaml, then look again:\n  nodusctl providers list"
    )


def _unknown(wanted: str, known: list[str]) -> Diagnostic:
    near = nearest(wanted, known)
    fix = f"Did you mean {near}?" if near else "nodusctl providers list"
    return error("NotFound", "No provider has this name or type", f"It says {wanted!r}.", fix)
