"""Which provider plugins this Python can see: entry points of the group ``nodusctl.providers``.

The entry's name is what users write as ``type:``. A plugin that can't be imported is a finding that names what to install, never a crash:
one broken plugin must not stop a project that doesn't use it.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from importlib.metadata import Distribution, EntryPoint, entry_points

from nodusctl.base.diagnostics import Diagnostic, error
from nodusctl.base.redaction import clean
from nodusctl.ports.providers import PluginFacts
from nodusctl.provider.contract import Provider

GROUP = "nodusctl.providers"
OUR_DISTRIBUTION = "nodusctl"


@dataclass(frozen=True, slots=True, kw_only=True)
class Discovered:
    """One plugin: its class, or what is wrong with it."""

    facts: PluginFacts
    plugin: type[Provider] | None = None
    problem: Diagnostic | None = None


def installed_entry_points() -> tuple[EntryPoint, ...]:
    """The group's entry points, one a name, sorted; where two distributions claim a name, ours wins."""
    ours_last = sorted(entry_points(group=GROUP), key=lambda entry: (_distribution_of(entry) == OUR_DISTRIBUTION, entry.value))
    return tuple(sorted({entry.name: entry for entry in ours_last}.values(), key=lambda entry: entry.name))


def discover(entry: EntryPoint) -> Discovered:
    """Import one plugin. Whatever its import raises becomes a diagnostic."""
    try:
        plugin: type[Provider] = entry.load()
    except Exception as fault:
        return Discovered(facts=_facts(entry, is_loadable=False, extra=_extra_of(entry)), problem=_import_problem(entry, fault))
    return Discovered(facts=_facts(entry, is_loadable=True, extra=""), plugin=plugin)


def kept_out(entry: EntryPoint, problem: Diagnostic) -> Discovered:
    """A plugin that was found and not imported, because it is not the one that was locked, or none was."""
    return Discovered(facts=_facts(entry, is_loadable=False, extra="", kept_out=problem), problem=problem)


def missing_extra(type_name: str, extra: str, what: str) -> Diagnostic:
    """A plugin's dependency isn't installed; ``what`` says which, ``extra`` may be empty where none is known."""
    fix = f"Install it:\n  pip install 'nodusctl[{extra}]'" if extra else "Install what it names into the Python that runs nodusctl."
    return error("ProviderNotReady", "A provider's dependency is not installed.", f"Provider type {type_name} needs {what}.", fix)


def _import_problem(entry: EntryPoint, fault: Exception) -> Diagnostic:
    if isinstance(fault, ModuleNotFoundError) and fault.name:
        return missing_extra(entry.name, _extra_of(entry), f"the module {fault.name}")
    detail = f"Provider type {entry.name} ({entry.value}) failed to load: {type(fault).__name__}: {clean(str(fault))}."
    return error("ProviderNotReady", "A provider plugin can't be loaded.", detail, "Reinstall or update the plugin's distribution.")


def _facts(entry: EntryPoint, *, is_loadable: bool, extra: str, kept_out: Diagnostic | None = None) -> PluginFacts:
    version = entry.dist.version if entry.dist is not None else ""
    return PluginFacts(
        type=entry.name,
        distribution=_distribution_of(entry),
        version=version,
        is_loadable=is_loadable,
        missing_extra=extra,
        kept_out=kept_out,
    )


def _extra_of(entry: EntryPoint) -> str:
    """The extra that brings the plugin's dependency: the entry's own, else the one named like it."""
    if entry.extras:
        return entry.extras[0]
    return entry.name if entry.name in _extras(entry.dist) else ""


def _extras(distribution: Distribution | None) -> Iterable[str]:
    return distribution.metadata.get_all("Provides-Extra") or () if distribution is not None else ()


def _distribution_of(entry: EntryPoint) -> str:
    return entry.dist.name if entry.dist is not None else ""


def by_type(entries: Iterable[EntryPoint]) -> Mapping[str, EntryPoint]:
    """Entry points by the word users write."""
    return {entry.name: entry for entry in entries}
