"""What only a host with cards can show: a card goes to a machine and comes back, again and again, and nobody else gets it meanwhile.

Runs where NODUSCTL_GPU_HOST names a host (``make test-gpu-host HOST=…``, see docs/libvirt.md). Its machines are small, have no home,
and are gone afterwards; a card that somebody uses is left alone.
"""

from __future__ import annotations

import base64
import json
import os
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from nodus_providers.libvirt.connection import LibvirtError
from nodus_providers.libvirt.groups import HostdevPolicy
from nodus_providers.libvirt.hardware import inventory_of
from nodus_providers.libvirt.hosts import Host
from nodus_providers.libvirt.pci import VFIO_DRIVERS, PciDevice
from nodus_providers.libvirt.provider import LibvirtProvider
from nodus_providers.libvirt.records import domain_uuid
from nodusctl.provider.machines import Machine, MachineState
from nodusctl.provider.offers import Offer, OfferQuery, Unit
from nodusctl.provider.replies import Done, Refused, Reply
from nodusctl.provider.requests import LaunchRequest, ReleaseRequest
from nodusctl.testing.conformance_hooks import a_context, done

GIVEN = {name.removeprefix("NODUSCTL_GPU_"): value for name, value in os.environ.items() if name.startswith("NODUSCTL_GPU_")}
pytestmark = [
    pytest.mark.slow,
    pytest.mark.libvirt,
    pytest.mark.skipif(
        "HOST" not in GIVEN, reason="needs a host with cards:  make test-gpu-host HOST=qemu:///system IMAGE=/path/on/host.qcow2"
    ),
]
MIB = 2**20
IMAGE = "nodus/workspace-test"
ROUNDS = 3
"""A card that can't be reset fails at the second start."""
GUEST_SECONDS = float(GIVEN.get("GUEST_SECONDS", "300"))


@pytest.fixture
def provider(tmp_path: Path) -> LibvirtProvider:
    """The provider with the one host that was named."""
    host: dict[str, Any] = {"name": "gpu", "uri": GIVEN["HOST"], "cards": json.loads(GIVEN.get("CARDS", "{}"))}
    optional = {"hostKey": "HOST_KEY", "identityFile": "IDENTITY", "folder": "FOLDER", "network": "NETWORK", "bridge": "BRIDGE"}
    host |= {setting: GIVEN[name] for setting, name in optional.items() if GIVEN.get(name)}
    image = {"path": GIVEN.get("IMAGE", ""), **json.loads(GIVEN.get("BOOT", "{}"))}
    return LibvirtProvider.open(a_context(tmp_path, environment=dict(os.environ)), {"hosts": [host], "images": {IMAGE: image}})


@pytest.fixture
def host(provider: LibvirtProvider) -> Host:
    return provider._hosts[0]


@pytest.fixture
def free(provider: LibvirtProvider) -> tuple[Offer, Unit]:
    """An offer of one card that nobody has."""
    offers = done(provider.offers(OfferQuery()))
    found = [(one, unit) for one in offers for unit in one.units if one.gpu_count == unit.gpu_count and unit.is_viable and not unit.holder]
    seen = [f"{unit.id}: {unit.holder or unit.why_not}" for one in offers for unit in one.units]
    assert found, f"no card of this host is free: {'; '.join(seen) or 'none is known; see nodusctl doctor'}"
    return found[0]


def request(offer: Offer, unit: Unit, number: int) -> LaunchRequest:
    token = f"nodus-{os.urandom(20).hex()}"
    return LaunchRequest(
        token=token,
        name=f"nodus-gpu-test-{number}-{token[-6:]}",
        offer_id=offer.id,
        instance_type=offer.instance_type,
        zone=offer.zone,
        is_interruptible=False,
        unit_ids=(unit.id,),
        image=IMAGE,
        boot="#cloud-config\n{}\n",
        edge_seconds=1800,
        cpu_milli=int(GIVEN.get("CPU_MILLI", "2000")),
        memory_bytes=int(GIVEN.get("MEMORY_MIB", "4096")) * MIB,
        tags={f"nodus-{name}": "gpu-test" for name in ("state", "project", "uid", "address", "attempt", "owner")},
    )


@pytest.fixture
def machines(provider: LibvirtProvider) -> Iterator[list[Machine]]:
    """Machines that are released whatever happens."""
    made: list[Machine] = []
    yield made
    for one in made:
        provider.release(ReleaseRequest(token=f"end-{one.id}", machine_id=one.id))


def members(host: Host, unit: Unit) -> tuple[PciDevice, ...]:
    group = inventory_of(host).group_of(unit.id)
    assert group is not None
    return group.passed


def drivers(devices: tuple[PciDevice, ...]) -> dict[str, str]:
    return {str(one.address): one.driver for one in devices}


def seen_inside(host: Host, token: str) -> set[str] | None:
    """``vendor:product`` of each PCI device as the guest's agent reports them; None where no agent answers in time."""
    uuid, until = domain_uuid(host.tag, token), time.monotonic() + GUEST_SECONDS
    script = "for one in /sys/bus/pci/devices/*; do cat $one/vendor $one/device; done"
    while time.monotonic() < until:
        try:
            begun = host.connection.ask_agent(uuid, "guest-exec", path="/bin/sh", arg=["-c", script], **{"capture-output": True})
            time.sleep(2)
            ended = host.connection.ask_agent(uuid, "guest-exec-status", pid=begun["pid"])
        except LibvirtError:
            time.sleep(2)
            continue
        if ended.get("exited"):
            words = base64.b64decode(ended.get("out-data", "")).decode().split()
            return {f"{int(vendor, 16):04x}:{int(product, 16):04x}" for vendor, product in zip(words[::2], words[1::2], strict=True)}
    return None


def test_the_doctor_finds_nothing_that_keeps_machines_from_starting(provider: LibvirtProvider) -> None:
    found = provider.check()
    for one in found:
        print(f"{one.severity}: {one.summary}\n  {one.detail}\n  {one.fix}")
    assert not [one.summary for one in found if one.is_error]


def test_a_card_goes_to_a_machine_and_comes_back_to_its_driver_each_time(
    provider: LibvirtProvider, host: Host, free: tuple[Offer, Unit], machines: list[Machine]
) -> None:
    offer, unit = free
    before = drivers(members(host, unit))
    print(f"before: {before}")
    for number in range(ROUNDS):
        wish = request(offer, unit, number)
        machine = done(provider.launch(wish))
        machines.append(machine)
        during = drivers(members(host, unit))
        print(f"while {machine.id} has it: {during}")
        assert set(during.values()) <= VFIO_DRIVERS
        assert "hostdev" not in host.connection.xml(domain_uuid(host.tag, wish.token)), "the stored definition holds no card"
        if number == 0 and GUEST_SECONDS:
            inside = seen_inside(host, wish.token)
            print(f"inside: {sorted(inside) if inside is not None else f'no agent answered within {GUEST_SECONDS:g} s'}")
            assert inside is None or {one.ids for one in members(host, unit)} <= inside
        done(provider.release(ReleaseRequest(token=f"end-{number}", machine_id=machine.id)))
        after = drivers(members(host, unit))
        print(f"after: {after}")
        assert inventory_of(host).rules.policy is not HostdevPolicy.MANAGED or after == before
    (group,) = [one for one in inventory_of(host).groups if one.id == unit.id]
    assert inventory_of(host).obstacle(group) is None, "it is still well"


def test_a_card_that_a_machine_has_is_refused_to_another_and_offered_with_its_holder(
    provider: LibvirtProvider, host: Host, free: tuple[Offer, Unit], machines: list[Machine]
) -> None:
    offer, unit = free
    machines.append(done(provider.launch(request(offer, unit, 0))))
    second: Reply[Machine] = provider.launch(request(offer, unit, 1))
    if isinstance(second, Done):
        machines.append(second.value)
    assert isinstance(second, Refused) and second.code == "DeviceBusy", second
    assert len([one for one in done(provider.list()).machines if one.tags.get("nodus-owner") == "gpu-test"]) == 1
    (again,) = [one for one in done(provider.offers(OfferQuery())) if one.id == offer.id]
    assert next(one for one in again.units if one.id == unit.id).holder


def test_a_group_that_shares_a_device_of_the_host_is_refused_and_left_alone(
    provider: LibvirtProvider, host: Host, free: tuple[Offer, Unit]
) -> None:
    stuck = [unit for one in done(provider.offers(OfferQuery())) for unit in one.units if not unit.is_viable]
    if not stuck:
        pytest.skip("every group of this host is viable")
    before = [one.driver for one in inventory_of(host).devices.values()]
    refused = provider.launch(request(free[0], stuck[0], 0))
    assert isinstance(refused, Refused) and refused.code == "DeviceGroupNotViable" and stuck[0].fix
    assert [one.driver for one in inventory_of(host).devices.values()] == before


def test_what_somebody_edits_by_hand_is_seen(
    provider: LibvirtProvider, host: Host, free: tuple[Offer, Unit], machines: list[Machine]
) -> None:
    wish = request(*free, 0)
    machine = done(provider.launch(wish))
    machines.append(machine)
    for _ in range(3):
        (seen,) = done(provider.observe([machine.id]))
        assert seen.state in {MachineState.RUNNING, MachineState.PENDING} and seen.edits == ()
    stored = host.connection.xml(domain_uuid(host.tag, wish.token))
    host.connection.define(stored.replace("<on_crash>destroy</on_crash>", "<on_crash>restart</on_crash>"))
    (seen,) = done(provider.observe([machine.id]))
    assert seen.edits == (("on_crash", "destroy", "restart"),)
