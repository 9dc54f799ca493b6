"""The one wrapper between a plugin and us: whatever a plugin raises becomes Unknown.

Unknown and not Refused, because an exception says nothing about what the platform did before it. What ends the process (Ctrl-C, exit)
passes through. Texts of a plugin are cleaned here, since a platform's error may echo what we sent it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any, ClassVar, TypeVar

from nodusctl.base.diagnostics import Diagnostic, error
from nodusctl.base.exits import UserError
from nodusctl.base.plugin_faults import PLUGIN_FAULTS
from nodusctl.base.redaction import clean
from nodusctl.provider.agent import AgentAnswer, AgentRequest
from nodusctl.provider.contract import (
    CanAnswerAgent,
    CanCheck,
    CanConsole,
    CanHoldVolumes,
    CanPostPrices,
    CanPruneRevisions,
    CanVerifyRevisions,
    Description,
    Provider,
    ProviderContext,
)
from nodusctl.provider.machines import Disk, Holdings, Machine, Release, Revision
from nodusctl.provider.offers import Offer, OfferQuery
from nodusctl.provider.replies import Done, Refused, Reply, Unknown
from nodusctl.provider.requests import (
    AttachRequest,
    DeleteDiskRequest,
    DeleteRevisionRequest,
    DetachRequest,
    DiskRequest,
    GrowRequest,
    LaunchRequest,
    ReleaseRequest,
    RestoreRequest,
    SaveRequest,
)

T = TypeVar("T")


def safely(call: Callable[[], Reply[T]]) -> Reply[T]:
    """The reply of ``call``; anything it raises, or an answer that is no reply, is Unknown."""
    reply: Any
    try:
        reply = call()
    except UserError as fault:
        return Unknown(clean("; ".join(f"{one.summary} {one.detail}".strip() for one in fault.diagnostics)))
    except Exception as fault:
        PLUGIN_FAULTS.remember(fault)
        return Unknown(clean(f"{type(fault).__name__}: {fault}"))
    match reply:
        case Done():
            done: Done[T] = reply
            return done
        case Refused():
            return replace(reply, message=clean(reply.message))
        case Unknown():
            return Unknown(clean(reply.detail))
        case _:
            return Unknown(f"the plugin answered with {type(reply).__name__}, which is no reply")


class SafeCalls:
    """The mandatory contract of one instance. ``describe`` answers what was learnt when it was loaded."""

    type_name: ClassVar[str] = ""
    extra: ClassVar[str] = ""

    def __init__(self, plugin: Provider, description: Description) -> None:
        self._plugin = plugin
        self._description = description

    @classmethod
    def settings_schema(cls) -> dict[str, Any]:
        """Belongs to the plugin's class; a loaded instance has no settings left to describe."""
        return {}

    @classmethod
    def open(cls, context: ProviderContext, settings: Mapping[str, Any]) -> Provider:
        """Not a way to make one: instances come from ``Plugins``."""
        raise TypeError("a wrapped provider is made from a loaded one")

    def describe(self) -> Description:
        return self._description

    def offers(self, query: OfferQuery) -> Reply[tuple[Offer, ...]]:
        return safely(lambda: self._plugin.offers(query))

    def launch(self, request: LaunchRequest) -> Reply[Machine]:
        return safely(lambda: self._plugin.launch(request))

    def find(self, token: str) -> Reply[Machine | Disk | Revision | None]:
        return safely(lambda: self._plugin.find(token))

    def observe(self, machine_ids: Sequence[str]) -> Reply[tuple[Machine, ...]]:
        return safely(lambda: self._plugin.observe(machine_ids))

    def release(self, request: ReleaseRequest) -> Reply[Release]:
        return safely(lambda: self._plugin.release(request))

    def list(self) -> Reply[Holdings]:
        return safely(self._plugin.list)


class SafeVolumes:
    """``CanHoldVolumes`` of one instance."""

    def __init__(self, plugin: CanHoldVolumes) -> None:
        self._plugin = plugin

    def create_disk(self, request: DiskRequest) -> Reply[Disk]:
        return safely(lambda: self._plugin.create_disk(request))

    def attach(self, request: AttachRequest) -> Reply[Disk]:
        return safely(lambda: self._plugin.attach(request))

    def detach(self, request: DetachRequest) -> Reply[Disk]:
        return safely(lambda: self._plugin.detach(request))

    def save(self, request: SaveRequest) -> Reply[Revision]:
        return safely(lambda: self._plugin.save(request))

    def restore(self, request: RestoreRequest) -> Reply[Disk]:
        return safely(lambda: self._plugin.restore(request))

    def grow(self, request: GrowRequest) -> Reply[Disk]:
        return safely(lambda: self._plugin.grow(request))

    def delete_disk(self, request: DeleteDiskRequest) -> Reply[Disk]:
        return safely(lambda: self._plugin.delete_disk(request))

    def observe_disks(self, disk_ids: Sequence[str]) -> Reply[tuple[Disk, ...]]:
        return safely(lambda: self._plugin.observe_disks(disk_ids))


class SafePruning:
    """``CanPruneRevisions`` of one instance."""

    def __init__(self, plugin: CanPruneRevisions) -> None:
        self._plugin = plugin

    def delete_revision(self, request: DeleteRevisionRequest) -> Reply[Disk]:
        return safely(lambda: self._plugin.delete_revision(request))


class SafeVerification:
    """``CanVerifyRevisions`` of one instance."""

    def __init__(self, plugin: CanVerifyRevisions) -> None:
        self._plugin = plugin

    def verify_revision(self, disk_id: str, revision_id: str) -> Reply[Revision]:
        return safely(lambda: self._plugin.verify_revision(disk_id, revision_id))


class SafeAgent:
    """``CanAnswerAgent`` of one instance."""

    def __init__(self, plugin: CanAnswerAgent) -> None:
        self._plugin = plugin

    def ask_agent(self, machine_id: str, request: AgentRequest) -> Reply[AgentAnswer]:
        return safely(lambda: self._plugin.ask_agent(machine_id, request))


class SafeConsole:
    """``CanConsole`` of one instance."""

    def __init__(self, plugin: CanConsole) -> None:
        self._plugin = plugin

    def console(self, machine_id: str) -> Reply[str]:
        return safely(lambda: self._plugin.console(machine_id))


class SafePriceList:
    """``CanPostPrices`` of one instance: a list that can't be read says nothing."""

    def __init__(self, plugin: CanPostPrices) -> None:
        self._plugin = plugin

    def posted(self) -> tuple[Offer, ...]:
        try:
            return self._plugin.posted()
        except Exception as fault:
            PLUGIN_FAULTS.remember(fault)
            return ()


class SafeCheck:
    """``CanCheck`` of one instance: a check that fails is itself a finding."""

    def __init__(self, instance: str, plugin: CanCheck) -> None:
        self._instance = instance
        self._plugin = plugin

    def check(self) -> tuple[Diagnostic, ...]:
        try:
            return self._plugin.check()
        except Exception as fault:
            PLUGIN_FAULTS.remember(fault)
            detail = clean(f"Provider {self._instance}: {type(fault).__name__}: {fault}.")
            return (error("ProviderNotReady", "A provider's own check failed.", detail, "Report it to the plugin's author."),)
