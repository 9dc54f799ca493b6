"""The project's provider instances, opened on first use and kept for the life of the process.

Two ways in: ``Plugins`` opens what the project file names, ``ReadyProviders`` takes live instances (tests, embedding).
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from importlib.metadata import EntryPoint
from typing import Any

from nodusctl.base.diagnostics import Diagnostic, error
from nodusctl.base.exits import UserError
from nodusctl.base.nearest import nearest
from nodusctl.base.plugin_faults import PLUGIN_FAULTS
from nodusctl.base.redaction import clean
from nodusctl.plugins.discovery import Discovered, by_type, discover, installed_entry_points, kept_out, missing_extra
from nodusctl.plugins.loading import loaded
from nodusctl.plugins.lock_file import LockFile
from nodusctl.plugins.locking import lock_fault, plugin_digest
from nodusctl.ports.providers import LoadedProvider, PluginFacts
from nodusctl.provider.contract import Provider, ProviderContext

ContextFor = Callable[[str], ProviderContext]


class Plugins:
    """A ProviderSet over the project file's ``providers``. Safe between threads."""

    def __init__(
        self,
        settings: Mapping[str, Mapping[str, Any]],
        context_for: ContextFor,
        entries: Iterable[EntryPoint] | None = None,
        lock: LockFile | None = None,
    ) -> None:
        """``settings`` maps an instance's name to its settings, ``type`` among them; ``entries`` None means what is installed.

        With a ``lock`` only what is in it is ever imported.
        """
        self._lock_file = lock
        self._settings = settings
        self._context_for = context_for
        self._given = entries
        self._lock = threading.RLock()
        self._found: dict[str, Discovered] = {}
        self._entries: Mapping[str, EntryPoint] | None = None
        self._opened: dict[str, LoadedProvider | UserError] = {}

    def names(self) -> tuple[str, ...]:
        return tuple(self._settings)

    def get(self, instance: str) -> LoadedProvider:
        with self._lock:
            if instance not in self._opened:
                self._opened[instance] = self._opening(instance)
            found = self._opened[instance]
        if isinstance(found, UserError):
            raise found
        return found

    def plugins(self) -> tuple[PluginFacts, ...]:
        with self._lock:
            return tuple(self._discovered(name).facts for name in self._known())

    def lock_faults(self) -> tuple[Diagnostic, ...]:
        """Plugins the project names that are not the ones that were locked; empty without a lock. Imports none of them."""
        if self._lock_file is None:
            return ()
        types = dict.fromkeys(str(settings.get("type", "")) for settings in self._settings.values())
        with self._lock:
            entries = [self._known()[name] for name in types if name in self._known()]
        return tuple(fault for entry in entries if (fault := self._fault_of(entry)) is not None)

    def problems(self) -> tuple[Diagnostic, ...]:
        found: list[Diagnostic] = []
        for instance in self.names():
            try:
                self.get(instance)
            except UserError as fault:
                found += fault.diagnostics
        return tuple(found)

    def plugin_class(self, type_name: str) -> type[Provider]:
        """The class behind a type name; UserError where it doesn't exist or can't be imported."""
        with self._lock:
            if type_name not in self._known():
                raise UserError(_unknown_type(type_name, self._known()))
            found = self._discovered(type_name)
        if found.plugin is None:
            raise UserError(*((found.problem,) if found.problem is not None else ()))
        return found.plugin

    def _known(self) -> Mapping[str, EntryPoint]:
        if self._entries is None:
            self._entries = by_type(installed_entry_points() if self._given is None else self._given)
        return self._entries

    def _discovered(self, type_name: str) -> Discovered:
        if type_name not in self._found:
            entry = self._known()[type_name]
            fault = self._fault_of(entry)
            self._found[type_name] = discover(entry) if fault is None else kept_out(entry, fault)
        return self._found[type_name]

    def _fault_of(self, entry: EntryPoint) -> Diagnostic | None:
        return lock_fault(entry, self._lock_file) if self._lock_file is not None else None

    def _opening(self, instance: str) -> LoadedProvider | UserError:
        if instance not in self._settings:
            return UserError(_unknown_instance(instance, self._settings))
        settings = dict(self._settings[instance])
        type_name = str(settings.pop("type", ""))
        try:
            context = self._context_for(instance)
            opened = loaded(instance, self.plugin_class(type_name).open(context, settings), context)
            return replace(opened, digest=plugin_digest(self._known()[type_name].dist))
        except UserError as fault:
            return fault
        except ModuleNotFoundError as fault:
            extra = getattr(self.plugin_class(type_name), "extra", "")
            return UserError(missing_extra(type_name, extra, f"the module {fault.name}"))
        except Exception as fault:
            PLUGIN_FAULTS.remember(fault)
            return UserError(_not_opened(instance, fault))


class ReadyProviders:
    """A ProviderSet over live instances."""

    def __init__(self, instances: Mapping[str, Provider]) -> None:
        self._loaded = {name: loaded(name, plugin) for name, plugin in instances.items()}

    def names(self) -> tuple[str, ...]:
        return tuple(self._loaded)

    def get(self, instance: str) -> LoadedProvider:
        if instance not in self._loaded:
            raise UserError(_unknown_instance(instance, self._loaded))
        return self._loaded[instance]

    def plugins(self) -> tuple[PluginFacts, ...]:
        types = {one.description.type: one.description.version for one in self._loaded.values()}
        return tuple(PluginFacts(type=name, distribution="", version=types[name], is_loadable=True) for name in sorted(types))

    def problems(self) -> tuple[Diagnostic, ...]:
        return ()


def _unknown_type(type_name: str, known: Mapping[str, EntryPoint]) -> Diagnostic:
    near = nearest(type_name, known)
    fix = f"Write type: {near}" if near else "List what is installed:\n  nodusctl providers list"
    return error("NotSupported", "No provider plugin has this type.", f"Nothing installed answers to type {type_name!r}.", fix)


def _unknown_instance(instance: str, known: Mapping[str, Any]) -> Diagnostic:
    fix = f"The project has {', '.join(known)}." if known else "Add it under providers: in nodusctl.yaml."
    return error("NotFound", "The project has no such provider.", f"No provider is called {instance!r}.", fix)


def _not_opened(instance: str, fault: Exception) -> Diagnostic:
    detail = clean(f"Provider {instance} failed to open: {type(fault).__name__}: {fault}.")
    return error("ProviderNotReady", "A provider can't be opened.", detail, f"See what is wrong with it:\n  nodusctl doctor {instance}")
