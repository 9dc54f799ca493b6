"""The loaded provider instances of a project, each behind one wrapper that turns whatever goes wrong into a reply."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

from nodusctl.base.diagnostics import Diagnostic
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
)


@dataclass(frozen=True, slots=True, kw_only=True)
class LoadedProvider:
    """One instance. ``calls`` never raises; each capability is the instance itself or None.

    ``digest`` is that of the plugin's files; empty for a plugin that ships with the program or is run from its sources.
    """

    instance: str
    description: Description
    calls: Provider
    volumes: CanHoldVolumes | None = None
    pruning: CanPruneRevisions | None = None
    verification: CanVerifyRevisions | None = None
    agent: CanAnswerAgent | None = None
    check: CanCheck | None = None
    console: CanConsole | None = None
    price_list: CanPostPrices | None = None
    simulation: CanSimulate | None = None
    digest: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class PluginFacts:
    """One discovered plugin, loaded or not: for ``providers list``.

    ``kept_out`` says why the lock keeps it from being imported: it is another one than was locked, or was not locked at all.
    """

    type: str
    distribution: str
    version: str
    is_loadable: bool
    missing_extra: str = ""
    kept_out: Diagnostic | None = None


class ProviderSet(Protocol):
    """The project's provider instances, loaded on first use."""

    def names(self) -> tuple[str, ...]:
        """Instance names in the project file's order."""
        ...

    def get(self, instance: str) -> LoadedProvider:
        """The instance; UserError with Diagnostics where it can't be loaded or doesn't exist."""
        ...

    def plugins(self) -> tuple[PluginFacts, ...]:
        """Every plugin this Python can see."""
        ...

    def problems(self) -> tuple[Diagnostic, ...]:
        """Why instances of the project file can't be loaded; empty when all can."""
        ...
