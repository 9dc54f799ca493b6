"""Case 21: what a plan says of a host whose card can't be had, before any machine is defined."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from support.gpu_host import (
    BRIDGE,
    COMPUTE,
    FIRST,
    FIRST_AUDIO,
    GIB,
    H200,
    MIB,
    NETWORK,
    GpuHost,
    Node,
    capabilities,
    card,
    config_space,
    domain,
)
from support.planning import codes, market, plan, workspace

from nodus_providers.libvirt.groups import HostdevPolicy
from nodus_providers.libvirt.inventory import HardwareRules
from nodus_providers.libvirt.pci import PciAddress
from nodus_providers.libvirt.provider import LibvirtProvider
from nodus_providers.libvirt.selling import Size, size_of
from nodusctl.base.ids import Address
from nodusctl.plan.plan import Plan
from nodusctl.provider.replies import Refused
from nodusctl.provider.requests import LaunchRequest
from nodusctl.testing.conformance_hooks import a_context

ON_VFIO = HardwareRules(policy=HostdevPolicy.LEAVE_ON_VFIO, virsh="virsh -c qemu+ssh://gpu1/system")


def planned(host: GpuHost, *gpus: str) -> Plan:
    """A plan of one Workspace for each wish, ``ws-0`` first, against this host alone."""
    texts = (workspace(f"ws-{number}", f"ephemeral: true, resources: {{gpu: {gpu}}}") for number, gpu in enumerate(gpus))
    return plan(*texts, markets=(market(*host.offers(), instance="metal", is_own_hardware=True),))


def test_an_audio_function_left_on_a_host_driver_blocks_with_both_addresses_and_the_commands() -> None:
    """The host binds cards itself (leave-on-vfio), and somebody forgot the audio function."""
    host = GpuHost(nodes=[*card(1, driver="vfio-pci", audio="snd_hda_intel")], rules=ON_VFIO)
    made = planned(host, "RTX4090")
    assert codes(made) == ["DeviceGroupNotViable"]
    (reason,) = made.reasons
    assert f"{FIRST} (vfio-pci)" in reason.message and f"{FIRST_AUDIO} (snd_hda_intel)" in reason.message
    assert f"{FIRST_AUDIO} is bound to snd_hda_intel" in reason.message
    assert "  virsh -c qemu+ssh://gpu1/system nodedev-detach pci_0000_01_00_1\n" in reason.fix
    assert "vfio-pci.ids=10de:2684,10de:22ba" in reason.fix and "nodusctl doctor metal" in reason.fix


def test_where_libvirt_detaches_the_audio_function_goes_along() -> None:
    host = GpuHost(nodes=[*card(1, driver="nvidia", audio="snd_hda_intel")])
    made = planned(host, "RTX4090")
    assert codes(made) == [] and made.actions[0].terms[0].unit_ids == ("iommu-1",)
    (offer,) = [one for one in host.offers() if one.id == "rtx4090-24g-x1-local"]
    assert offer.units[0].devices == (FIRST, FIRST_AUDIO) and offer.units[0].gpu_count == 1


def test_a_network_card_in_the_group_is_never_taken_along() -> None:
    nodes = [
        Node(address="0000:0a:00.0", class_code=BRIDGE, ids="1b36:000e", driver="pcieport", group=21),
        Node(address="0000:0b:01.0", driver="nvidia", group=21),
        Node(address="0000:0b:02.0", class_code=NETWORK, ids="8086:10d3", driver="e1000", group=21),
    ]
    made = planned(GpuHost(nodes=nodes), "RTX4090")
    assert codes(made) == ["DeviceGroupNotViable"]
    assert "0000:0b:01.0 (nvidia), 0000:0b:02.0 (e1000)" in made.reasons[0].message
    assert "0000:0a:00.0" not in made.reasons[0].message, "a bridge is no obstacle"
    assert "nodedev-detach pci_0000_0b_02_0" in made.reasons[0].fix


def test_a_card_in_a_running_domain_of_somebody_else_is_busy_with_holder_and_fix() -> None:
    host = GpuHost(nodes=[*card(1, driver="vfio-pci", audio="vfio-pci")], running=[domain("other", FIRST, FIRST_AUDIO)])
    made = planned(host, "RTX4090")
    assert codes(made) == ["DeviceBusy"]
    assert "held by domain other" in made.reasons[0].message and FIRST in made.reasons[0].message
    assert "virsh shutdown other" in made.reasons[0].fix


def test_a_card_in_a_process_of_the_host_is_busy_with_the_process_and_its_service() -> None:
    probe = [f"node|/dev/nvidia0|{FIRST}", "open|/dev/nvidia0|812|nvidia-persiste"]
    made = planned(GpuHost(nodes=[*card(1, driver="nvidia")], probe=probe), "RTX4090")
    assert codes(made) == ["DeviceBusy"]
    assert "process 812 (nvidia-persiste)" in made.reasons[0].message
    assert "systemctl stop nvidia-persistenced" in made.reasons[0].fix


def test_a_mere_definition_holds_nothing() -> None:
    host = GpuHost(nodes=[*card(1)], stopped=[domain("other", FIRST)])
    assert codes(planned(host, "RTX4090")) == []


def test_two_objects_of_one_plan_ask_for_the_one_card() -> None:
    made = planned(GpuHost(nodes=[*card(1)]), "RTX4090", "RTX4090")
    assert codes(made) == ["DeviceBusy"] and made.reasons[0].address == Address("workspace", "ws-1")
    assert f"{FIRST} held by workspace/ws-0" in made.reasons[0].message


def test_four_cards_asked_and_three_free() -> None:
    nodes = [node for number in range(1, 5) for node in card(number)]
    host = GpuHost(nodes=nodes, running=[domain("other", "0000:04:00.0")])
    made = planned(host, "RTX4090:4")
    assert codes(made) == ["DeviceBusy"]
    assert "4 GPUs needed, 3 free; 0000:04:00.0 held by domain other" in made.reasons[0].message


def test_a_card_that_was_lost_after_a_stop_is_left_out_of_the_next_plan() -> None:
    """D3cold: its configuration space reads as ones."""
    dead = [f"device|{FIRST}|bus|D3cold|0||1", f"config|{FIRST}|{'ff' * 4096}", f"config|0000:02:00.0|{config_space()}"]
    host = GpuHost(nodes=[*card(1), *card(2)], probe=dead)
    made = planned(host, "RTX4090")
    assert codes(made) == [] and made.actions[0].terms[0].unit_ids == ("iommu-2",)
    host.nodes = [*card(1)]
    alone = planned(host, "RTX4090")
    assert codes(alone) == ["DeviceGroupNotViable"] and "doesn't answer (power state D3cold)" in alone.reasons[0].message


def test_a_card_in_quarantine_is_left_out_until_a_person_lifts_it() -> None:
    mark = f"quarantine|{FIRST}|serial= its reset failed, 2026-10-26T07:00:00Z"
    host = GpuHost(nodes=[*card(1), *card(2)], probe=[mark])
    assert planned(host, "RTX4090").actions[0].terms[0].unit_ids == ("iommu-2",)
    blocked = planned(host, "RTX4090:2")
    assert codes(blocked) == ["DeviceGroupNotViable"]
    assert "in quarantine: its reset failed" in blocked.reasons[0].message
    assert f"rm /var/lib/nodus/quarantine/{FIRST}" in blocked.reasons[0].fix


@pytest.mark.parametrize(
    ("mode", "why", "fix"),
    [
        ("", f"the ROM file of {FIRST} is not on the host: /srv/card.rom", "ls -l /srv/card.rom"),
        ("600|root|root|regular file", f"libvirt-qemu can't read the ROM file of {FIRST}", "chmod a+r /srv/card.rom"),
    ],
)
def test_a_rom_file_that_is_missing_or_shut_keeps_its_card_out_of_plans(mode: str, why: str, fix: str) -> None:
    rules = HardwareRules(roms={PciAddress.parse(FIRST): "/srv/card.rom"})
    host = GpuHost(nodes=[*card(1), *card(2)], probe=[f"path|/srv/card.rom|{mode}"], rules=rules)
    assert planned(host, "RTX4090").actions[0].terms[0].unit_ids == ("iommu-2",)
    blocked = planned(host, "RTX4090:2")
    assert codes(blocked) == ["DeviceGroupNotViable"]
    assert why in blocked.reasons[0].message and fix in blocked.reasons[0].fix
    host.probe = ["path|/srv/card.rom|644|root|root|regular file"]
    assert codes(planned(host, "RTX4090:2")) == []


def test_a_machine_that_huge_pages_have_no_room_for_is_blocked_before_its_start() -> None:
    host = GpuHost(nodes=[*card(1)], capabilities=capabilities(32, 32, pages=4096), page_bytes=2 * MIB)
    host.free_pages = {0: {2 * MIB: 1024}, 1: {2 * MIB: 3072}}
    assert codes(planned(host, "RTX4090, memory: 8Gi")) == []
    short = planned(host, "RTX4090, memory: 9Gi")
    assert codes(short) == ["CapacityUnavailable"] and "memory 8Gi" in short.reasons[0].fix
    whole, beside = host.offers()
    assert (whole.memory_bytes, beside.memory_bytes) == (64 * GIB, 8 * GIB), "a machine without a card takes ordinary memory"
    pages = "<memoryBacking><hugepages/></memoryBacking>"
    host.running = [domain("nodus-lab", memory_gib=4, owner="workspace/lab").replace("<memory ", f"{pages}<memory ")]
    assert host.offers()[1].memory_bytes == 12 * GIB, "what ours have comes back when they stop"


def test_several_cards_come_from_one_numa_node_where_one_has_enough() -> None:
    nodes = [node for number, numa in ((1, 0), (2, 1), (3, 1), (4, 0), (5, 1)) for node in card(number, numa=numa)]
    made = planned(GpuHost(nodes=nodes), "RTX4090:2", "RTX4090:2")
    assert [action.terms[0].unit_ids for action in made.actions] == [("iommu-1", "iommu-4"), ("iommu-2", "iommu-3")]


def test_a_pair_in_one_group_goes_to_one_machine_as_a_pair() -> None:
    one, two = card(1)[0], replace(card(2)[0], group=1)
    made = planned(GpuHost(nodes=[one, two]), "RTX4090:2")
    assert codes(made) == [] and made.actions[0].terms[0].unit_ids == ("iommu-1",)
    single = planned(GpuHost(nodes=[one, two]), "RTX4090")
    assert codes(single) == ["CapacityUnavailable"] and "gpu.count 2" in single.reasons[0].fix


def test_a_type_a_host_has_not_is_told_by_the_funnel() -> None:
    host = GpuHost(nodes=[Node(address=FIRST, class_code=COMPUTE, ids=H200)])
    assert codes(planned(host, "RTX4090")) == ["CapacityUnavailable"]
    assert codes(planned(host, "H200")) == []


def test_a_start_on_a_card_offer_that_names_no_card_is_refused_and_never_made_without_one(tmp_path: Path) -> None:
    pytest.importorskip("libvirt", reason="libvirt-python is not installed:  pip install 'nodusctl[libvirt]'")
    (host,) = LibvirtProvider.open(a_context(tmp_path), {"hosts": [{"folder": str(tmp_path / "host"), "cpu": 4, "memory": "8Gi"}]})._hosts
    request = LaunchRequest(
        token="t",
        name="n",
        offer_id="rtx4090-24g-x1-local",
        instance_type="libvirt",
        zone=host.zone,
        is_interruptible=False,
        image="nodus/workspace-cpu",
        boot="",
        edge_seconds=60,
        tags={},
        memory_bytes=2**30,
    )
    refused = size_of(host, request)
    assert isinstance(refused, Refused) and refused.code == "Invalid" and "names no cards" in refused.message
    assert isinstance(size_of(host, replace(request, unit_ids=("iommu-1",))), Size)
