"""The small mandatory contract of a provider, and the capabilities it may offer on top.

Ask little of a plugin; let it offer more: each capability is a Protocol of its own, found once when the plugin is loaded.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from enum import StrEnum
from types import MappingProxyType
from typing import Any, ClassVar, Protocol, runtime_checkable

from nodusctl.base.clock import Clock, Wall
from nodusctl.base.diagnostics import Diagnostic
from nodusctl.provider.agent import AgentAnswer, AgentRequest
from nodusctl.provider.machines import Disk, Holdings, Machine, Release, Revision
from nodusctl.provider.offers import Offer, OfferQuery
from nodusctl.provider.replies import Reply
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


class SelfStop(StrEnum):
    """What a shutdown from inside the machine does to the bill."""

    ENDS_BILLING = "ends-billing"
    KEEPS_BILLING = "keeps-billing"
    ENDS_MACHINE = "ends-machine"


class BillingEnd(StrEnum):
    """The state at which compute billing ends."""

    POWEROFF = "poweroff"
    STOPPED = "stopped"
    TERMINATED = "terminated"


class BootForm(StrEnum):
    """The form of first-boot document a provider takes."""

    NONE = "none"
    BUNDLE = "bundle"
    CLOUD_INIT = "cloud-init"


@dataclass(frozen=True, slots=True, kw_only=True)
class RateLimit:
    """One call each ``every`` in the long run, ``burst`` of them at once. ``operations`` are names of calls here; empty: all together."""

    every: timedelta
    burst: int = 1
    operations: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True, kw_only=True)
class Description:
    """What a provider instance is. ``account`` is its identity: a change of it ends every step (rule R12).

    ``notes`` says in sentences what a person should know about machines here, such as what isn't isolated. ``walls`` says in a few words
    what keeps machines apart here, for doctor. ``tool_fixes`` says, for a tool it could serve and can't here, what a person does about it.
    """

    type: str
    version: str
    account: str
    create_is_idempotent: bool
    list_lag_bound: timedelta
    self_stop: SelfStop
    billing_ends_at: BillingEnd
    stop_bound: timedelta
    boot_form: BootForm
    boot_limit_bytes: int | None = None
    attaches_at_launch: bool = False
    disk_outlives_machine: bool = True
    is_own_hardware: bool = False
    is_this_computer: bool = False
    egress_policies: frozenset[str] = frozenset({"Open"})
    tools: frozenset[str] = frozenset({"SSH"})
    tool_fixes: Mapping[str, str] = field(default_factory=lambda: MappingProxyType({}))
    takes_own_images: bool = False
    notes: tuple[str, ...] = ()
    walls: str = ""
    size_granularity_bytes: int = 1
    rate_limits: tuple[RateLimit, ...] = ()


class Provider(Protocol):
    """What every plugin implements. ``extra`` names the pip extra of its heavy dependency ("" for none)."""

    type_name: ClassVar[str]
    extra: ClassVar[str]

    @classmethod
    def settings_schema(cls) -> dict[str, Any]:
        """JSON Schema of this provider's settings in the project file."""
        ...

    @classmethod
    def open(cls, context: ProviderContext, settings: Mapping[str, Any]) -> Provider:
        """Make an instance. UserError with Diagnostics for bad settings or a missing dependency; no network before the first call."""
        ...

    def describe(self) -> Description:
        """Who and what this instance is."""
        ...

    def offers(self, query: OfferQuery) -> Reply[tuple[Offer, ...]]:
        """What can be launched now."""
        ...

    def launch(self, request: LaunchRequest) -> Reply[Machine]:
        """Start a machine: Done (made; perhaps still booting), Refused (nothing was made), Unknown."""
        ...

    def find(self, token: str) -> Reply[Machine | Disk | Revision | None]:
        """What a client token made; None when nothing carries it. Absence counts only after ``list_lag_bound``, twice (rule R3)."""
        ...

    def observe(self, machine_ids: Sequence[str]) -> Reply[tuple[Machine, ...]]:
        """The state of each id, in order; one that isn't there is reported ``gone``."""
        ...

    def release(self, request: ReleaseRequest) -> Reply[Release]:
        """End a machine; asking again confirms."""
        ...

    def list(self) -> Reply[Holdings]:
        """Everything with a nodus tag."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class ProviderContext:
    """What a plugin instance is given: its name in the project file, where the project and its state folder are, and the clocks.

    ``environment`` is the process's environment, for resolving ``{env: NAME}`` references; a plugin never reads os.environ.
    """

    instance: str
    project_dir: str
    state_dir: str
    data_dir: str
    clock: Clock
    wall: Wall
    environment: Mapping[str, str]


@runtime_checkable
class CanHoldVolumes(Protocol):
    """Disks that outlive machines, with revisions."""

    def create_disk(self, request: DiskRequest) -> Reply[Disk]:
        """Make an empty disk."""
        ...

    def attach(self, request: AttachRequest) -> Reply[Disk]:
        """Attach, confirmed."""
        ...

    def detach(self, request: DetachRequest) -> Reply[Disk]:
        """Detach, confirmed."""
        ...

    def save(self, request: SaveRequest) -> Reply[Revision]:
        """Start or finish a revision; ``saving`` means ask again with the same token."""
        ...

    def restore(self, request: RestoreRequest) -> Reply[Disk]:
        """Bring a revision back."""
        ...

    def grow(self, request: GrowRequest) -> Reply[Disk]:
        """Grow in place."""
        ...

    def delete_disk(self, request: DeleteDiskRequest) -> Reply[Disk]:
        """Delete; a disk in state ``gone`` confirms."""
        ...

    def observe_disks(self, disk_ids: Sequence[str]) -> Reply[tuple[Disk, ...]]:
        """The state of each id, in order, with its revisions."""
        ...


@runtime_checkable
class CanPruneRevisions(Protocol):
    """A platform that holds Volumes and can drop one revision without the others."""

    def delete_revision(self, request: DeleteRevisionRequest) -> Reply[Disk]:
        """Delete a revision; Done with the disk as it is without it. NotFound where the disk has no such revision."""
        ...


@runtime_checkable
class CanVerifyRevisions(Protocol):
    """A platform that can read a revision again and tell whether it is what was saved."""

    def verify_revision(self, disk_id: str, revision_id: str) -> Reply[Revision]:
        """The revision, ``ready`` where every byte is as it was saved, ``failed`` with the reason where it isn't."""
        ...


@runtime_checkable
class CanAnswerAgent(Protocol):
    """A platform that answers the agent's questions itself, without SSH (the simulated world)."""

    def ask_agent(self, machine_id: str, request: AgentRequest) -> Reply[AgentAnswer]:
        """The machine's answer."""
        ...


@runtime_checkable
class CanCheck(Protocol):
    """Findings about host, account and settings, each with its fix."""

    def check(self) -> tuple[Diagnostic, ...]:
        """One diagnostic a finding; an empty tuple means healthy."""
        ...


@runtime_checkable
class CanConsole(Protocol):
    """A boot log."""

    def console(self, machine_id: str) -> Reply[str]:
        """The log so far."""
        ...


@runtime_checkable
class CanPostPrices(Protocol):
    """A platform whose price list is published: it can be read without a call, an account or a secret."""

    def posted(self) -> tuple[Offer, ...]:
        """What the list says now, each with its quote. It knows nothing of what is free; OSError where it can't be read."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class FaultRule:
    """A scripted fault of a simulated world. ``effect`` is the text a person wrote, such as ``hang 60s``."""

    id: int
    operation: str
    match: str
    nth: int | None
    times_left: int | None
    effect: str


@dataclass(frozen=True, slots=True, kw_only=True)
class CallRecord:
    """One call a simulated world received."""

    sequence: int
    time: datetime
    operation: str
    address: str
    token: str
    outcome: str


@runtime_checkable
class CanSimulate(Protocol):
    """A world with a clock of its own, scripted faults and a memory of every call."""

    def simulated_clock(self) -> Clock:
        """The world's clock."""
        ...

    def initialise(self, now: datetime | None) -> str:
        """Write the default world file unless there is one; returns its path."""
        ...

    def set_time(self, moment: datetime) -> None:
        """Move the world's clock; what fell due on the way fires."""
        ...

    def add_fault(self, operation: str, match: str, nth: int | None, times: int | None, effect: str) -> FaultRule:
        """Script a fault; UserError where operation or effect is not understood."""
        ...

    def faults(self) -> tuple[FaultRule, ...]:
        """Faults still scripted."""
        ...

    def clear_faults(self) -> int:
        """Forget all faults; returns how many."""
        ...

    def calls(self, operation: str = "", match: str = "") -> tuple[CallRecord, ...]:
        """Calls received, in order."""
        ...

    def simulated_machines(self, match: str, include_ended: bool) -> tuple[Machine, ...]:
        """Machines of the world, faults or not."""
        ...

    def kill(self, machine_id: str) -> None:
        """End a machine as if its host died."""
        ...

    def resize(self, machine_id: str, offer_id: str) -> None:
        """Give a machine the hardware of another offer, as somebody in a console would."""
        ...

    def record_activity(self, machine_id: str, kind: str, detail: str) -> None:
        """Pretend that somebody used the machine."""
        ...
