"""What doctor finds on a GPU host, each with the command that mends it."""

from __future__ import annotations

from dataclasses import replace

import pytest
from support.gpu_host import FIRST, FIRST_AUDIO, NETWORK, GpuHost, Node, capabilities, card, config_space, domain

from nodus_providers.libvirt.findings import ConnectionFacts, findings
from nodus_providers.libvirt.groups import HostdevPolicy
from nodus_providers.libvirt.inventory import HardwareRules
from nodus_providers.libvirt.pci_models import Model
from nodusctl.base.diagnostics import Diagnostic, Severity

SYSTEM = ConnectionFacts(uri="qemu:///system", has_kvm=True)
WELL = [f"device|{FIRST}|flr bus|D0|0||"]
UNGROUPED = [replace(card(1)[0], group=None)]
BIG = 2 * 2**20


def found(host: GpuHost, connection: ConnectionFacts = SYSTEM) -> dict[str, Diagnostic]:
    """Findings by their summary."""
    return {one.summary: one for one in findings(host.inventory(), connection)}


def only(host: GpuHost, connection: ConnectionFacts = SYSTEM) -> Diagnostic:
    (one,) = found(host, connection).values()
    assert one.fix and one.detail.endswith("."), "every finding has a remedy and is a sentence"
    return one


def test_a_host_that_is_well_has_no_findings() -> None:
    host = GpuHost(nodes=[*card(1, driver="nvidia", audio="snd_hda_intel")], probe=WELL)
    assert found(host) == {}
    host.running = [domain("nodus-lab", FIRST, owner="workspace/lab")]
    assert found(host) == {}, "a machine of ours is nothing to worry about"


def test_an_iommu_that_the_firmware_hides() -> None:
    one = only(GpuHost(nodes=UNGROUPED, probe=["groups|0", "table|", *WELL]))
    assert one.summary == "The IOMMU of a host is off in its firmware" and "VT-d" in one.fix and FIRST in one.detail


def test_an_iommu_that_the_kernels_line_leaves_off_on_intel() -> None:
    one = only(GpuHost(nodes=UNGROUPED, probe=["groups|0", "kernel|6.1|quiet splash", *WELL]))
    assert one.summary == "The IOMMU of a host is off in its kernel" and "quiet splash" in one.detail
    assert """sed -i 's/^GRUB_CMDLINE_LINUX="/&intel_iommu=on iommu=pt /' /etc/default/grub\n  update-grub && reboot""" in one.fix


def test_an_iommu_that_somebody_switched_off_on_amd() -> None:
    one = only(GpuHost(nodes=UNGROUPED, probe=["groups|0", "table|IVRS", "kernel|6.1|amd_iommu=off", *WELL]))
    assert "Take amd_iommu=off out of /etc/default/grub" in one.fix


def test_an_iommu_that_is_off_for_a_reason_nobody_could_look_at() -> None:
    summaries = found(GpuHost(nodes=UNGROUPED, capabilities=capabilities(8, iommu="no")))
    assert set(summaries) == {"The IOMMU of a host is off", "A host could only be looked at through libvirt"}


def test_the_screen_of_a_management_controller_needs_no_iommu_and_no_name() -> None:
    assert found(GpuHost(nodes=[Node(address="0000:03:00.0", ids="1a03:2000", group=None)], probe=["groups|0"])) == {}


def test_a_kernel_without_vfio() -> None:
    one = only(GpuHost(nodes=[*card(1)], probe=["module|vfio_pci|missing", *WELL]))
    assert one.summary == "A host's kernel can't pass cards" and "apt-get install linux-image-amd64" in one.fix


def test_a_host_that_is_to_bind_its_cards_itself_and_loads_no_vfio() -> None:
    rules = HardwareRules(policy=HostdevPolicy.LEAVE_ON_VFIO)
    host = GpuHost(nodes=[*card(1, driver="vfio-pci")], probe=["module|vfio_pci|available", *WELL], rules=rules)
    assert "modprobe vfio-pci" in only(host).fix


def test_groups_that_the_kernel_was_told_to_pretend() -> None:
    host = GpuHost(nodes=[*card(1)], probe=["kernel|6.1-zen|quiet pcie_acs_override=downstream,multifunction", *WELL])
    one = only(host)
    assert one.summary == "A host only pretends that its cards are isolated"
    assert "Take pcie_acs_override=downstream,multifunction out of /etc/default/grub" in one.fix


def test_a_group_that_is_not_viable_has_every_address_with_its_driver_and_the_command() -> None:
    stranger = Node(address="0000:01:02.0", class_code=NETWORK, ids="8086:10d3", driver="e1000", group=1)
    one = only(GpuHost(nodes=[*card(1, driver="nvidia", audio="snd_hda_intel"), stranger], probe=WELL))
    assert one.code == "DeviceGroupNotViable" and one.severity is Severity.WARNING
    for shown in (f"{FIRST} (nvidia)", f"{FIRST_AUDIO} (snd_hda_intel)", "0000:01:02.0 (e1000)"):
        assert shown in one.detail
    assert "virsh nodedev-detach pci_0000_01_02_0" in one.fix


def test_a_card_that_a_foreign_machine_or_a_process_has() -> None:
    host = GpuHost(nodes=[*card(1, driver="vfio-pci")], probe=WELL, running=[domain("other", FIRST)])
    assert "held by domain other" in only(host).detail and "virsh shutdown other" in only(host).fix
    host = GpuHost(nodes=[*card(1, driver="nvidia")], probe=[*WELL, f"node|/dev/nvidia0|{FIRST}", "open|/dev/nvidia0|9|python3"])
    assert "held by process 9 (python3)" in only(host).detail and "kill 9" in only(host).fix


def test_a_card_in_a_definition_that_is_off_is_a_warning() -> None:
    one = only(GpuHost(nodes=[*card(1)], probe=WELL, stopped=[domain("other", FIRST)]))
    assert one.summary == "A stopped domain names a card" and "virsh edit other" in one.fix


def test_huge_pages_are_told_for_each_cell_that_has_none_free() -> None:
    host = GpuHost(capabilities=capabilities(8, 8, 8, pages=64), probe=WELL, free_pages={0: {BIG: 64}, 1: {BIG: 0}, 2: {BIG: 3}})
    connection = replace(SYSTEM, page_bytes=BIG)
    one = only(host, connection)
    assert one.detail.startswith("qemu:///system: NUMA cell 1: 64 pages of 2048 kB, and none is free")
    assert "echo 2112 > /sys/devices/system/node/node1/hugepages/hugepages-2048kB/nr_hugepages" in one.fix
    none = GpuHost(capabilities=capabilities(8), probe=WELL)
    assert "echo 2048 >" in only(none, connection).fix


def test_a_folder_that_qemu_can_not_pass() -> None:
    host = GpuHost(
        probe=["path|/root/i.qcow2|644|root|root|regular file", "path|/root|700|root|root|directory", "path|/|755|root|root|directory"]
    )
    one = only(host)
    assert one.summary == "QEMU can't reach an image" and "setfacl -m u:libvirt-qemu:x /root" in one.fix


def test_every_folder_can_be_passed_where_qemu_runs_as_root() -> None:
    assert found(GpuHost(probe=["qemu_user|root|root", "path|/root|700|root|root|directory"])) == {}


@pytest.mark.parametrize("facts", ["755|root|root", "710|root|kvm", "700|libvirt-qemu|root"])
def test_a_folder_that_qemu_can_pass(facts: str) -> None:
    assert found(GpuHost(probe=[f"path|/srv/images|{facts}|directory"])) == {}


def test_rom_files_that_are_missing_unreadable_or_kept_away_by_apparmor() -> None:
    connection = replace(SYSTEM, rom_files=("/srv/card.rom",))
    assert "is not there" in only(GpuHost(probe=["path|/srv/card.rom|"]), connection).summary
    assert "chmod a+r /srv/card.rom" in only(GpuHost(probe=["path|/srv/card.rom|600|root|root|regular file"]), connection).fix
    kept = only(GpuHost(probe=["path|/srv/card.rom|644|root|root|regular file", "apparmor|on"]), connection)
    assert "install -D -m 0644 /srv/card.rom /usr/share/vgabios/card.rom" in kept.fix
    allowed = replace(SYSTEM, rom_files=("/usr/share/vgabios/card.rom",))
    assert found(GpuHost(probe=["path|/usr/share/vgabios/card.rom|644|root|root|regular file", "apparmor|on"]), allowed) == {}


def test_no_hardware_virtualization_and_one_that_is_not_used() -> None:
    without = replace(SYSTEM, has_kvm=False)
    one = only(GpuHost(probe=["virtualization|no"]), without)
    assert one.summary == "A host has no hardware virtualization" and "domainType: qemu" in one.fix
    assert "modprobe kvm_intel" in only(GpuHost(probe=["virtualization|yes"]), without).fix
    assert found(GpuHost(probe=["virtualization|no"]), replace(without, is_emulation_wanted=True)) == {}


def test_a_dev_kvm_that_opens_proves_nothing() -> None:
    assert "A host has no hardware virtualization" in found(GpuHost(probe=["virtualization|no"]), SYSTEM)


def test_slow_probing_with_its_cause() -> None:
    slow = replace(SYSTEM, capability_seconds=4.2)
    one = only(GpuHost(probe=["kvm|600|root:root"]), slow)
    assert "4.2 s" in one.detail and "/dev/kvm is 600 root:root" in one.detail
    assert "chgrp kvm /dev/kvm && chmod 0660 /dev/kvm" in one.fix
    assert "journalctl" in only(GpuHost(probe=["kvm|660|root:kvm"]), slow).fix


def test_a_host_seen_without_root() -> None:
    assert only(GpuHost(probe=["user|1000|ana"])).summary == "Not every process of a host can be seen"


def test_a_card_that_is_not_known_is_told_how_to_name_it() -> None:
    one = only(GpuHost(nodes=[*card(1, ids="1002:5046")], probe=WELL))
    assert one.severity is Severity.NOTE and 'cards: {names: {"1002:5046": "FAMILY GIB"}}' in one.fix


def test_different_cards_in_one_group() -> None:
    nodes = [*card(1), replace(card(2, ids="10de:2204")[0], group=1)]
    assert "A group holds different cards" in found(GpuHost(nodes=nodes, probe=WELL))


def test_resets_that_are_missing_or_known_to_fail() -> None:
    assert only(GpuHost(nodes=[*card(1)], probe=[f"device|{FIRST}||D0|0||"])).summary == "A card can't be reset"
    rules = HardwareRules(models={"1002:731f": Model(family="rx5700xt", memory_gib=8)})
    host = GpuHost(nodes=[*card(1, ids="1002:731f")], probe=[f"device|{FIRST}|bus|D0|0||"], rules=rules)
    assert "vendor-reset" in only(host).fix
    host.probe = [f"device|{FIRST}|device_specific bus|D0|0||"]
    assert found(host) == {}


def test_deep_sleep_the_hosts_screen_and_a_resizable_bar_are_told() -> None:
    asleep = GpuHost(nodes=[*card(1, driver="vfio-pci")], probe=[f"device|{FIRST}|flr|D3cold|0||"])
    assert "disable_idle_d3=1" in only(asleep).fix
    screen = GpuHost(nodes=[*card(1, driver="nvidia")], probe=[f"device|{FIRST}|flr|D0|1||"])
    assert f'cards: {{exclude: ["{FIRST}"]}}' in only(screen).fix
    resized = GpuHost(nodes=[*card(1)], probe=[*WELL, f"bar|{FIRST}|0x4000000000|0x47ffffffff|0x14220c"])
    assert "32768 MiB" in only(resized).detail


def test_nvswitches_are_told_with_the_fabric_manager() -> None:
    switch = Node(address="0000:c0:00.0", class_code="068000", ids="10de:22a3", group=60)
    assert "nvidia-fabricmanager" in only(GpuHost(nodes=[*card(1, ids="10de:2330"), switch], probe=WELL)).fix


def test_quarantine_is_told_and_so_is_a_mark_whose_card_is_gone() -> None:
    marked = GpuHost(nodes=[*card(1)], probe=[*WELL, f"quarantine|{FIRST}|serial= its reset failed"])
    assert "in quarantine: its reset failed" in only(marked).detail
    moved = GpuHost(nodes=[*card(1)], probe=[*WELL, "quarantine|0000:09:00.0|serial=aa its reset failed"])
    assert only(moved).fix.endswith("rm /var/lib/nodus/quarantine/0000:09:00.0")


def test_a_card_that_does_not_answer_is_told() -> None:
    dead = GpuHost(nodes=[*card(1)], probe=[f"device|{FIRST}|flr|D3cold|0||", f"config|{FIRST}|{'f' * 512}"])
    assert "doesn't answer" in only(dead).detail
    alive = GpuHost(nodes=[*card(1)], probe=[*WELL, f"config|{FIRST}|{config_space()}"])
    assert found(alive) == {}
