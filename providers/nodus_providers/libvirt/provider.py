"""The libvirt provider, as the contract asks for it.

Each call goes to the module that knows; whatever breaks on the way is Unknown, never raised.
"""

from __future__ import annotations

import functools
import importlib.util
from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import timedelta
from typing import TYPE_CHECKING, Any, ClassVar, Concatenate, ParamSpec, TypeVar

from nodusctl.base.diagnostics import Diagnostic, error
from nodusctl.base.exits import UserError
from nodusctl.provider.contract import BillingEnd, BootForm, Description, ProviderContext, SelfStop
from nodusctl.provider.images import BuiltImage, ImageOrder, ImageRecipe, StepTold
from nodusctl.provider.machines import Disk, DiskState, Holdings, Machine, MachineState, Release, Revision
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

if TYPE_CHECKING:
    from nodus_providers.libvirt.hosts import Host
    from nodus_providers.libvirt.settings import LibvirtSettings

T = TypeVar("T")
P = ParamSpec("P")
_VERSION = "1"
_JUPYTER_FIX = """Leave it out, install it once in the home, then start it there and forward its port:
  nodusctl ssh <workspace> -- 'python3 -m venv ~/jupyter && ~/jupyter/bin/pip install jupyterlab'
  nodusctl ssh <workspace> -- '~/jupyter/bin/jupyter lab --no-browser'
  nodusctl port-forward <workspace> 8888"""
_NO_DISK = Refused("NotFound", message="there is no disk of this id")
_NOT_ASKED = "the host it was made on doesn't answer, or is not in the provider's settings any more"
_NO_MACHINE = Refused("NotFound", message="there has never been a machine of this id here")


def _answering(call: Callable[Concatenate[LibvirtProvider, P], Reply[T]]) -> Callable[Concatenate[LibvirtProvider, P], Reply[T]]:
    """Whatever libvirt, ssh or a script throws means that nobody can say whether it happened."""

    @functools.wraps(call)
    def answer(self: LibvirtProvider, /, *args: P.args, **kwargs: P.kwargs) -> Reply[T]:
        from nodus_providers.libvirt.connection import LibvirtError

        try:
            return call(self, *args, **kwargs)
        except (LibvirtError, OSError, ValueError, KeyError, TypeError) as fault:
            return Unknown(f"{type(fault).__name__}: {fault}")

    return answer


class LibvirtProvider:
    """Virtual machines on hosts of your own."""

    type_name: ClassVar[str] = "libvirt"
    extra: ClassVar[str] = "libvirt"

    def __init__(self, context: ProviderContext, settings: LibvirtSettings) -> None:
        from nodus_providers.libvirt.hosts import open_hosts
        from nodus_providers.libvirt.launching import Launcher

        self._context, self._settings = context, settings
        self._hosts = open_hosts(context, settings.hosts)
        self._launcher = Launcher(settings.images)

    @classmethod
    def settings_schema(cls) -> dict[str, Any]:
        from nodus_providers.libvirt.settings import LibvirtSettings

        return LibvirtSettings.model_json_schema()

    @classmethod
    def open(cls, context: ProviderContext, settings: Mapping[str, Any]) -> LibvirtProvider:
        from pydantic import ValidationError

        from nodus_providers.libvirt.settings import LibvirtSettings

        for module in ("libvirt", "pycdlib"):
            if importlib.util.find_spec(module) is None:
                raise ModuleNotFoundError(f"No module named {module!r}", name=module)
        try:
            return cls(context, LibvirtSettings.model_validate(dict(settings)))
        except ValidationError as fault:
            raise UserError(*(_setting_fault(context.instance, one) for one in fault.errors())) from fault

    @classmethod
    def image_recipes(cls) -> tuple[ImageRecipe, ...]:
        from nodus_providers.libvirt.imaging.recipe import CPU_CONTENTS, CPU_IMAGE

        return (ImageRecipe(name=CPU_IMAGE, contents=CPU_CONTENTS),)

    @classmethod
    def build_image(cls, order: ImageOrder, step: StepTold) -> BuiltImage:
        from nodus_providers.libvirt.imaging.building import build

        return build(order, step)

    def describe(self) -> Description:
        from nodus_providers.libvirt.volumes import SECTOR_BYTES

        return Description(
            type=self.type_name,
            version=_VERSION,
            # Hosts come and go in a Pool; every id carries the tag of the host it was made on, which is what guards them.
            account=f"libvirt-{self._context.instance}",
            create_is_idempotent=True,
            list_lag_bound=timedelta(0),
            self_stop=SelfStop.ENDS_BILLING,
            billing_ends_at=BillingEnd.POWEROFF,
            stop_bound=timedelta(seconds=60),
            boot_form=BootForm.CLOUD_INIT,
            attaches_at_launch=True,
            disk_outlives_machine=True,
            is_own_hardware=True,
            tools=frozenset({"SSH", "VSCode"}),
            tool_fixes={"Jupyter": _JUPYTER_FIX},
            size_granularity_bytes=SECTOR_BYTES,
        )

    @_answering
    def offers(self, query: OfferQuery) -> Reply[tuple[Offer, ...]]:
        from nodus_providers.libvirt.selling import offers_on

        found: list[Offer] = []
        silent: list[str] = []
        for host in self._hosts:
            try:
                found += offers_on(host, self._context.instance, self._context.clock.now(), query)
            except OSError as fault:
                silent.append(f"{host.zone}: {fault}")
        if silent and len(silent) == len(self._hosts):
            return Unknown("; ".join(silent))
        return Done(tuple(found))

    @_answering
    def launch(self, request: LaunchRequest) -> Reply[Machine]:
        from nodus_providers.libvirt.selling import size_of

        host = self._in_zone(request.zone)
        if host is None:
            return Refused("Invalid", message=f"the hosts are {', '.join(one.zone for one in self._hosts)}")
        if request.edge_seconds <= 0:
            return Refused("Invalid", message="a machine needs an edge above zero seconds")
        size = size_of(host, request)
        if isinstance(size, Refused):
            return size
        return self._launcher.launch(host, request, vcpus=size.vcpus, memory_bytes=size.memory_bytes)

    @_answering
    def find(self, token: str) -> Reply[Machine | Disk | Revision | None]:
        from nodus_providers.libvirt.connection import LibvirtError
        from nodus_providers.libvirt.volumes import made_by

        silent: list[str] = []
        for host in self._hosts:
            try:
                found = self._launcher.settled(host, token) or made_by(host, token)
            except (LibvirtError, OSError) as fault:
                silent.append(f"{host.zone}: {fault}")  # another host may have it all the same
                continue
            if found is not None:
                return Done(found)
        return Unknown("; ".join(silent)) if silent else Done(None)

    @_answering
    def observe(self, machine_ids: Sequence[str]) -> Reply[tuple[Machine, ...]]:
        from nodus_providers.libvirt.machines import observed, ours

        seen: dict[str, Machine] = {}
        for host, ids in self._by_host(machine_ids):
            try:
                known = ours(host.connection.domains(), host)
                seen.update({one: observed(host, one, *known.get(one, (None, None))) for one in ids})
            except OSError as fault:
                seen.update({one: _unreadable(one, str(fault)) for one in ids})
        return Done(tuple(seen.get(one) or self._unplaced(one) for one in machine_ids))

    @_answering
    def release(self, request: ReleaseRequest) -> Reply[Release]:
        from nodus_providers.libvirt.releasing import release

        host = self._host_of(request.machine_id)
        return release(host, request) if host is not None else self._unknown_or(request.machine_id, _NO_MACHINE)

    @_answering
    def list(self) -> Reply[Holdings]:
        from nodus_providers.libvirt.machines import left_records, observed, ours
        from nodus_providers.libvirt.selling import undefined
        from nodus_providers.libvirt.volumes import observe_disks

        machines: list[Machine] = []
        disks: list[Disk] = []
        for host in self._hosts:
            known = ours(host.connection.domains(), host)
            machines += [observed(host, machine_id, domain, record) for machine_id, (domain, record) in known.items()]
            machines += [undefined(host, record) for machine_id, record in left_records(host).items() if machine_id not in known]
            disks += observe_disks(host).values()
        return Done(Holdings(machines=tuple(machines), disks=tuple(disks)))

    @_answering
    def create_disk(self, request: DiskRequest) -> Reply[Disk]:
        from nodus_providers.libvirt.volumes import create_disk

        host = self._in_zone(request.zone)
        return create_disk(host, request) if host is not None else Refused("Invalid", message=f"there is no host {request.zone}")

    @_answering
    def attach(self, request: AttachRequest) -> Reply[Disk]:
        from nodus_providers.libvirt.volumes import attach

        host = self._host_of(request.disk.disk_id)
        return attach(host, request) if host is not None else self._unknown_or(request.disk.disk_id, _NO_DISK)

    @_answering
    def detach(self, request: DetachRequest) -> Reply[Disk]:
        from nodus_providers.libvirt.volumes import detach

        host = self._host_of(request.disk_id)
        return detach(host, request) if host is not None else self._unknown_or(request.disk_id, _NO_DISK)

    @_answering
    def save(self, request: SaveRequest) -> Reply[Revision]:
        from nodus_providers.libvirt.revisions import save

        host = self._host_of(request.disk_id)
        return save(host, request) if host is not None else self._unknown_or(request.disk_id, _NO_DISK)

    @_answering
    def restore(self, request: RestoreRequest) -> Reply[Disk]:
        from nodus_providers.libvirt.revisions import restore

        host = self._host_of(request.disk_id)
        return restore(host, request) if host is not None else self._unknown_or(request.disk_id, _NO_DISK)

    @_answering
    def grow(self, request: GrowRequest) -> Reply[Disk]:
        from nodus_providers.libvirt.volumes import grow

        host = self._host_of(request.disk_id)
        return grow(host, request) if host is not None else self._unknown_or(request.disk_id, _NO_DISK)

    @_answering
    def delete_disk(self, request: DeleteDiskRequest) -> Reply[Disk]:
        from nodus_providers.libvirt.volumes import delete_disk

        host = self._host_of(request.disk_id)
        return delete_disk(host, request) if host is not None else self._unknown_or(request.disk_id, _NO_DISK)

    @_answering
    def delete_revision(self, request: DeleteRevisionRequest) -> Reply[Disk]:
        from nodus_providers.libvirt.revisions import delete_revision

        host = self._host_of(request.disk_id)
        return delete_revision(host, request) if host is not None else self._unknown_or(request.disk_id, _NO_DISK)

    @_answering
    def verify_revision(self, disk_id: str, revision_id: str) -> Reply[Revision]:
        from nodus_providers.libvirt.revisions import verify_revision

        host = self._host_of(disk_id)
        return verify_revision(host, disk_id, revision_id) if host is not None else self._unknown_or(disk_id, _NO_DISK)

    @_answering
    def observe_disks(self, disk_ids: Sequence[str]) -> Reply[tuple[Disk, ...]]:
        from nodus_providers.libvirt.volumes import observed_disk

        seen: dict[str, Disk] = {}
        for host, ids in self._by_host(disk_ids):
            try:
                seen.update({one: observed_disk(host, one) for one in ids})
            except OSError:
                seen.update({one: Disk(id=one, state=DiskState.UNREADABLE) for one in ids})
        silent = DiskState.UNREADABLE
        return Done(
            tuple(seen.get(one) or Disk(id=one, state=silent if self._may_be_elsewhere(one) else DiskState.GONE) for one in disk_ids)
        )

    @_answering
    def console(self, machine_id: str) -> Reply[str]:
        from nodus_providers.libvirt.machines import console_of

        host = self._host_of(machine_id)
        return Done(console_of(host, machine_id)) if host is not None else self._unknown_or(machine_id, _NO_MACHINE)

    def check(self) -> tuple[Diagnostic, ...]:
        from nodus_providers.libvirt.checking import findings_on

        return tuple(found for host in self._hosts for found in findings_on(host, self._settings.images))

    def _in_zone(self, zone: str) -> Host | None:
        return next((host for host in self._hosts if host.zone == zone), None)

    def _host_of(self, thing_id: str) -> Host | None:
        """The host on which this id was made; None where none of ours has its tag."""
        return next((host for host, _ in self._by_host([thing_id])), None)

    def _by_host(self, thing_ids: Iterable[str]) -> Iterable[tuple[Host, Sequence[str]]]:
        from nodus_providers.libvirt.hosts import tag_in

        tags = {thing_id: tag for thing_id in thing_ids if (tag := tag_in(thing_id))}
        for host in self._hosts if tags else ():
            own = _tag_of(host)
            if ids := [thing_id for thing_id, tag in tags.items() if tag == own]:
                yield host, ids

    def _may_be_elsewhere(self, thing_id: str) -> bool:
        """True for an id of a form that is ours whose host isn't among those that answer: it may well live."""
        from nodus_providers.libvirt.hosts import tag_in

        tag = tag_in(thing_id)
        return bool(tag) and tag not in {_tag_of(host) for host in self._hosts}

    def _unplaced(self, machine_id: str) -> Machine:
        if not self._may_be_elsewhere(machine_id):
            return Machine(id=machine_id, state=MachineState.GONE)
        return _unreadable(machine_id, _NOT_ASKED)

    def _unknown_or(self, thing_id: str, refusal: Refused) -> Refused | Unknown:
        if self._may_be_elsewhere(thing_id):
            return Unknown(_NOT_ASKED)
        return refusal


def _unreadable(machine_id: str, why: str) -> Machine:
    """Its host can't be asked: no refusal of anybody, and no sign of its end."""
    return Machine(id=machine_id, state=MachineState.UNREADABLE, reason="Unavailable", reason_detail=why)


def _tag_of(host: Host) -> str:
    """The host's tag, "" while it can't be asked."""
    try:
        return host.tag
    except OSError:
        return ""


def _setting_fault(instance: str, fault: Any) -> Diagnostic:
    field = ".".join(("providers", instance, *(str(part) for part in fault["loc"])))
    return error("Invalid", "A setting of a libvirt provider is not valid", f"{field}: {fault['msg']}", field=field)
