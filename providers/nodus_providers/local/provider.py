"""The local provider, as the contract asks for it.

Each call goes to the module that knows; whatever breaks there is Unknown, never raised.
"""

from __future__ import annotations

import functools
import subprocess
from collections.abc import Callable, Mapping, Sequence
from datetime import timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Concatenate, ParamSpec, TypeVar

from nodus_providers.local.disks import DiskShelf
from nodus_providers.local.folders import Root
from nodus_providers.local.programs import JUPYTER_FIX, Programs
from nodusctl.base.diagnostics import Diagnostic, error
from nodusctl.base.exits import UserError
from nodusctl.provider.contract import BillingEnd, BootForm, Description, ProviderContext, SelfStop
from nodusctl.provider.machines import Disk, Holdings, Machine, Release, Revision
from nodusctl.provider.offers import Offer, OfferQuery
from nodusctl.provider.replies import Done, Reply, Unknown
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

if TYPE_CHECKING:
    from nodus_providers.local.settings import LocalSettings

T = TypeVar("T")
P = ParamSpec("P")
_VERSION = "1"


def _answering(
    call: Callable[Concatenate[LocalProvider, P], Reply[T]],
) -> Callable[Concatenate[LocalProvider, P], Reply[T]]:
    """Whatever the file system or a child process throws means that nobody can say whether it happened."""

    @functools.wraps(call)
    def answer(self: LocalProvider, /, *args: P.args, **kwargs: P.kwargs) -> Reply[T]:
        try:
            return call(self, *args, **kwargs)
        except (OSError, subprocess.SubprocessError, ValueError, KeyError, TypeError) as fault:
            return Unknown(f"{type(fault).__name__}: {fault}")

    return answer


class LocalProvider:
    """Machines and homes on this computer."""

    type_name: ClassVar[str] = "local"
    extra: ClassVar[str] = "local"

    def __init__(self, context: ProviderContext, settings: LocalSettings) -> None:
        from nodus_providers.local.building import Equipment
        from nodus_providers.local.cards import Cards
        from nodus_providers.local.host import this_host
        from nodus_providers.local.isolation import Isolation
        from nodus_providers.local.launching import Launcher

        given = Path(settings.root).expanduser() if settings.root else Path(context.data_dir) / "local" / context.instance
        root = given if given.is_absolute() else Path(context.project_dir) / given
        self._context, self._settings = context, settings
        self._root = Root(root.absolute(), context.wall)
        self._host = this_host(settings, self._root.path)
        self._programs = Programs(settings, context.data_dir, context.environment.get("PATH", ""))
        self._tools = frozenset({"SSH", "VSCode"} | ({"Jupyter"} if "jupyter-lab" in self._programs.browser_tools() else set()))
        self._shelf = DiskShelf(self._root, self._host)
        self._cards = Cards(Path(context.data_dir) / "cards", self._programs.find)
        self._isolation = Isolation(settings, context.environment.get("PATH", ""))
        equipment = Equipment(programs=self._programs, isolation=self._isolation, cards=self._cards)
        self._launcher = Launcher(self._root, self._host, self._shelf, equipment)

    @classmethod
    def settings_schema(cls) -> dict[str, Any]:
        from nodus_providers.local.settings import LocalSettings

        return LocalSettings.model_json_schema()

    @classmethod
    def open(cls, context: ProviderContext, settings: Mapping[str, Any]) -> LocalProvider:
        from pydantic import ValidationError

        from nodus_providers.local.settings import LocalSettings

        try:
            return cls(context, LocalSettings.model_validate(dict(settings)))
        except ValidationError as fault:
            raise UserError(*(_setting_fault(context.instance, one) for one in fault.errors())) from fault

    def describe(self) -> Description:
        return Description(
            type=self.type_name,
            version=_VERSION,
            account=self._host.account,
            create_is_idempotent=True,
            list_lag_bound=timedelta(0),
            self_stop=SelfStop.ENDS_BILLING,
            billing_ends_at=BillingEnd.POWEROFF,
            stop_bound=timedelta(seconds=60),
            boot_form=BootForm.BUNDLE,
            attaches_at_launch=True,
            disk_outlives_machine=True,
            is_own_hardware=True,
            is_this_computer=True,
            egress_policies=self._isolation.abilities.egress_policies,
            notes=(*self._isolation.notes(), *self._cards.notes()),
            walls=self._isolation.walls(),
            tools=self._tools,
            tool_fixes={} if "Jupyter" in self._tools else {"Jupyter": JUPYTER_FIX},
        )

    @_answering
    def offers(self, query: OfferQuery) -> Reply[tuple[Offer, ...]]:
        from nodus_providers.local.host import offer_of

        if query.locations and self._host.account not in query.locations:
            return Done(())
        whole = offer_of(self._context.instance, self._host, self._settings, self._context.clock.now())
        cards = tuple(self._cards.offers(whole, query.accelerator_families))
        return Done(cards if query.accelerator_families else (whole, *cards))

    @_answering
    def launch(self, request: LaunchRequest) -> Reply[Machine]:
        return self._launcher.launch(request)

    @_answering
    def find(self, token: str) -> Reply[Machine | Disk | Revision | None]:
        from nodus_providers.local.revisions import revisions_of

        machine = self._launcher.settled(self._root.id_for("m", token))
        if machine is not None:
            return Done(machine)
        for disk_id in self._root.ids(self._root.disks):
            for revision in revisions_of(self._root.disk(disk_id)):
                if revision.token == token:
                    return Done(revision)
        return Done(self._shelf.made_by(token))

    @_answering
    def observe(self, machine_ids: Sequence[str]) -> Reply[tuple[Machine, ...]]:
        from nodus_providers.local.machines import observed

        return Done(tuple(observed(self._root, self._host, machine_id) for machine_id in machine_ids))

    @_answering
    def release(self, request: ReleaseRequest) -> Reply[Release]:
        from nodus_providers.local.releasing import release

        return release(self._root, self._host, request)

    @_answering
    def list(self) -> Reply[Holdings]:
        from nodus_providers.local.machines import observed

        machines = tuple(observed(self._root, self._host, machine_id) for machine_id in self._root.ids(self._root.machines))
        return Done(Holdings(machines=machines, disks=tuple(self._shelf.observed(disk_id) for disk_id in self._root.ids(self._root.disks))))

    @_answering
    def create_disk(self, request: DiskRequest) -> Reply[Disk]:
        return self._shelf.create(request)

    @_answering
    def attach(self, request: AttachRequest) -> Reply[Disk]:
        return self._shelf.attach(request)

    @_answering
    def detach(self, request: DetachRequest) -> Reply[Disk]:
        return self._shelf.detach(request)

    @_answering
    def save(self, request: SaveRequest) -> Reply[Revision]:
        from nodus_providers.local.revisions import save

        return save(self._root, request)

    @_answering
    def restore(self, request: RestoreRequest) -> Reply[Disk]:
        from nodus_providers.local.revisions import restore

        reply = restore(self._root, request)
        return Done(self._shelf.observed(request.disk_id)) if isinstance(reply, Done) else reply

    @_answering
    def grow(self, request: GrowRequest) -> Reply[Disk]:
        return self._shelf.grow(request)

    @_answering
    def delete_disk(self, request: DeleteDiskRequest) -> Reply[Disk]:
        return self._shelf.delete(request)

    @_answering
    def delete_revision(self, request: DeleteRevisionRequest) -> Reply[Disk]:
        from nodus_providers.local.revisions import delete_revision

        reply = delete_revision(self._root, request)
        return Done(self._shelf.observed(request.disk_id)) if isinstance(reply, Done) else reply

    @_answering
    def verify_revision(self, disk_id: str, revision_id: str) -> Reply[Revision]:
        from nodus_providers.local.revisions import verify_revision

        return verify_revision(self._root, disk_id, revision_id)

    @_answering
    def observe_disks(self, disk_ids: Sequence[str]) -> Reply[tuple[Disk, ...]]:
        return Done(tuple(self._shelf.observed(disk_id) for disk_id in disk_ids))

    @_answering
    def console(self, machine_id: str) -> Reply[str]:
        log = self._root.machine(machine_id) / "run" / "log"
        return Done(log.read_text(encoding="utf-8", errors="replace") if log.exists() else "")

    def home_of(self, disk_id: str) -> Path:
        """Where a disk's live content lies on this computer."""
        return self._shelf.live(disk_id)

    def check(self) -> tuple[Diagnostic, ...]:
        return (*self._programs.findings(is_isolated=self._isolation.is_on), *self._isolation.findings(), *self._cards.findings())


def _setting_fault(instance: str, fault: Any) -> Diagnostic:
    field = ".".join(("providers", instance, *(str(part) for part in fault["loc"])))
    return error("Invalid", "A setting of a local provider is not valid", f"{field}: {fault['msg']}", field=field)
