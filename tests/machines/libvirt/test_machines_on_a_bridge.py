"""A machine on a bridge of the host: no network of libvirt's knows its address, so its guest's agent tells it."""

from __future__ import annotations

import time
from pathlib import Path

import pytest
from support import libvirt_host

from nodus_providers.libvirt.provider import LibvirtProvider
from nodusctl.provider.machines import MachineState
from nodusctl.provider.offers import OfferQuery
from nodusctl.provider.requests import LaunchRequest, ReleaseRequest
from nodusctl.testing.conformance_hooks import a_context, done

pytestmark = [pytest.mark.slow, pytest.mark.libvirt]
BRIDGE = "virbr-nodus"
"""Of the tests' own network, on which somebody gives out addresses."""
LIMIT_SECONDS = 150


def test_a_machine_on_a_bridge_is_reached_at_the_address_its_agent_tells(tmp_path: Path) -> None:
    if reason := libvirt_host.why_not():
        pytest.skip(reason)
    provider = LibvirtProvider.open(a_context(tmp_path), libvirt_host.settings(tmp_path / "host", network=None, bridge=BRIDGE))
    (offer,) = done(provider.offers(OfferQuery()))
    request = LaunchRequest(
        token=f"nodus-{tmp_path}",
        name=f"nodus-bridge-{abs(hash(str(tmp_path))) % 10**8}",
        offer_id=offer.id,
        instance_type=offer.instance_type,
        zone=offer.zone,
        is_interruptible=False,
        image=libvirt_host.IMAGE,
        boot="#cloud-boothook\n#!/bin/sh\n",
        edge_seconds=600,
        tags={"nodus-state": "mine"},
    )
    machine = done(provider.launch(request))
    try:
        assert libvirt_host.virsh("domiflist", request.name).split()[1:3] == ["bridge", BRIDGE]
        until = time.monotonic() + LIMIT_SECONDS
        while (seen := done(provider.observe([machine.id]))[0]).state is not MachineState.RUNNING:
            assert (seen.state, seen.reason) == (MachineState.PENDING, "no address yet")
            assert time.monotonic() < until, "nobody told its address"
            time.sleep(0.5)
        assert seen.ssh is not None
        assert (seen.ssh.host.rpartition(".")[0], seen.ssh.jump) == ("192.168.231", None)
    finally:
        done(provider.release(ReleaseRequest(token="delete", machine_id=machine.id)))
