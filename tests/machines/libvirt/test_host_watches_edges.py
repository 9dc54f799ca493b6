"""The watch a host keeps of each edge: it asks where the edge is now, and ends a machine whose guest has lost it."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from support import libvirt_host
from support.libvirt_host import virsh

from nodus_providers.libvirt.edges import Patience, watch_edge
from nodus_providers.libvirt.provider import LibvirtProvider
from nodus_providers.libvirt.records import domain_uuid
from nodusctl.bootstrap.cloud_init import render_cloud_init
from nodusctl.ports.boot import BootPlan
from nodusctl.provider.machines import Machine, MachineState
from nodusctl.provider.offers import OfferQuery
from nodusctl.provider.requests import LaunchRequest, ReleaseRequest
from nodusctl.remote.keys import OpenSshKeys
from nodusctl.testing.conformance_hooks import a_context, done

pytestmark = [pytest.mark.slow, pytest.mark.libvirt]
LIMIT_SECONDS = 120
AT_ONCE = Patience(margin_seconds=0, pause_seconds=1)
Launch = Callable[[str], Machine]


@pytest.fixture
def provider(tmp_path: Path) -> LibvirtProvider:
    if reason := libvirt_host.why_not():
        pytest.skip(reason)
    return LibvirtProvider.open(a_context(tmp_path), libvirt_host.settings(tmp_path / "host"))


@pytest.fixture
def launch(provider: LibvirtProvider, tmp_path: Path) -> Iterator[Launch]:
    """Launch a machine with a first-boot document; it is released in the end."""
    token = f"nodus-{tmp_path}"
    (offer,) = done(provider.offers(OfferQuery()))

    def launched(boot: str) -> Machine:
        request = LaunchRequest(
            token=token,
            name=f"nodus-watch-{abs(hash(token)) % 10**8}",
            offer_id=offer.id,
            instance_type=offer.instance_type,
            zone=offer.zone,
            is_interruptible=False,
            image=libvirt_host.IMAGE,
            boot=boot,
            edge_seconds=3600,
            tags={"nodus-state": "mine"},
        )
        return done(provider.launch(request))

    yield launched
    for machine in done(provider.list()).machines:
        done(provider.release(ReleaseRequest(token="delete", machine_id=machine.id)))


def watched(provider: LibvirtProvider, machine: Machine) -> str:
    """A second watch whose time has come at once; returns the domain's UUID once the guest's agent answers."""
    (host,) = provider._hosts
    uuid = domain_uuid(host.tag, machine.token)
    until = time.monotonic() + LIMIT_SECONDS
    while "return" not in virsh("qemu-agent-command", "--timeout", "5", uuid, '{"execute":"guest-ping"}'):
        assert time.monotonic() < until, "the guest's agent doesn't answer"
        time.sleep(0.3)
    watch_edge(host, machine.id, uuid, 1, AT_ONCE)
    return uuid


def test_a_machine_whose_guest_has_an_edge_ahead_is_left_alone(provider: LibvirtProvider, launch: Launch) -> None:
    host_key, service = OpenSshKeys().new_key("host"), OpenSshKeys().new_key("service")
    plan = BootPlan(
        host_key=host_key.private,
        service_key=service.public,
        person_keys=(),
        tools=("SSH",),
        edge_seconds=3600,
        idle_timeout_seconds=None,
    )
    machine = launch(render_cloud_init(plan))
    until = time.monotonic() + LIMIT_SECONDS
    while "NODUS-OPEN" not in done(provider.console(machine.id)):
        assert time.monotonic() < until, "the door never opened"
        time.sleep(0.3)
    watched(provider, machine)
    time.sleep(15)  # four questions a second apart, each with its answer, would be over by now
    assert done(provider.observe([machine.id]))[0].state in (MachineState.RUNNING, MachineState.PENDING)


def test_a_machine_whose_guest_has_no_edge_is_ended_by_its_host(provider: LibvirtProvider, launch: Launch) -> None:
    machine = launch("#cloud-boothook\n#!/bin/sh\n# no agent, so no edge\n")
    watched(provider, machine)
    until = time.monotonic() + LIMIT_SECONDS
    while (seen := done(provider.observe([machine.id]))[0]).state is not MachineState.STOPPED:
        assert time.monotonic() < until, "nobody ended it"
        time.sleep(0.3)
    assert (seen.reason, "the host ended it" in seen.reason_detail) == ("edge", True)
    assert seen.ended_at is not None
