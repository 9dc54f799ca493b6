"""The script that looks at a host's own files: run for real, here and on a made copy of a GPU host; and what is read from its output."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest
from support.gpu_host import FIRST, FIRST_AUDIO, config_space, probe

from nodus_providers.libvirt.host_probe import UNPROBED, HostProbe, cards_script, probe_script, read_probe, serial_in
from nodus_providers.libvirt.pci import PciAddress

AT = PciAddress.parse(FIRST)
MEMORY = {"MemTotal:": 4 * 2**31, "MemFree:": 2**31, "Active(file):": 2**30, "Inactive(file):": 2**29, "Inactive:": 1, "SReclaimable:": 4}


def run(root: Path | str, *paths: str, script: str = "") -> HostProbe:
    """The script's answer about the host whose files lie under ``root``."""
    words = ["sh", "-s", "--", *paths]
    environment = {"PATH": os.environ["PATH"], "PROBE_ROOT": str(root)}
    ended = subprocess.run(words, input=script or probe_script(), capture_output=True, text=True, env=environment, timeout=30, check=True)
    return read_probe(ended.stdout)


@pytest.fixture
def copy(tmp_path: Path) -> Path:
    """A host with a card and its audio function in group 7, nvidia's driver, one quarantine mark, and another card without a driver."""
    for number, code, group in ((FIRST, "0x030000", 7), (FIRST_AUDIO, "0x040300", 7), ("0000:02:00.0", "0x020000", 8)):
        device = tmp_path / "sys/bus/pci/devices" / number
        device.mkdir(parents=True)
        (device / "class").write_text(f"{code}\n")
        (device / "reset_method").write_text("flr bus\n")
        (device / "power_state").write_text("D0\n")
        members = tmp_path / f"sys/kernel/iommu_groups/{group}/devices"
        members.mkdir(parents=True, exist_ok=True)
        (members / number).symlink_to(device)
        (device / "iommu_group").symlink_to(members.parent)
    first = tmp_path / "sys/bus/pci/devices" / FIRST
    (first / "boot_vga").write_text("1\n")
    (first / "config").write_bytes(bytes.fromhex(config_space(serial=0x00155D0203040506)))
    (first / "resource").write_text(
        "0x00000000f6000000 0x00000000f6ffffff 0x0000000000040200\n0x0000004000000000 0x00000047ffffffff 0x000000000014220c\n"
    )
    (tmp_path / "sys/firmware/acpi/tables").mkdir(parents=True)
    (tmp_path / "sys/firmware/acpi/tables/DMAR").touch()
    (tmp_path / "sys/module/vfio_pci").mkdir(parents=True)
    nodes = tmp_path / "sys/class/drm/card0"
    nodes.mkdir(parents=True)
    (nodes / "device").symlink_to(first)
    minor = tmp_path / "proc/driver/nvidia/gpus" / FIRST
    minor.mkdir(parents=True)
    (minor / "information").write_text("Model: \t NVIDIA\nDevice Minor: \t 3\n")
    (tmp_path / "proc/cmdline").write_text("root=/dev/sda1 intel_iommu=on\n")
    (tmp_path / "proc/cpuinfo").write_text("vendor_id\t: GenuineIntel\nflags\t\t: fpu vmx\n")
    marks = tmp_path / "var/lib/nodus/quarantine"
    marks.mkdir(parents=True)
    (marks / FIRST).write_text("serial=00-15-5d its reset failed\n")
    cell = tmp_path / "sys/devices/system/node/node1"
    cell.mkdir(parents=True)
    (cell / "meminfo").write_text("".join(f"Node 1 {name:<15} {kib} kB\n" for name, kib in MEMORY.items()))
    (first / "vfio-dev/vfio4").mkdir(parents=True)
    (tmp_path / "etc/libvirt").mkdir(parents=True)
    (tmp_path / "etc/libvirt/qemu.conf").write_text('#user = "nobody"\nuser = "+0"  # by number\n')
    return tmp_path


def test_this_computer_can_be_looked_at() -> None:
    found = run("", "/etc/hostname")
    assert found.is_complete and found.kernel == os.uname().release
    assert found.is_root is (os.geteuid() == 0)
    assert {one.path for one in found.paths} >= {"/etc/hostname", "/etc", "/"}


def test_what_a_plan_asks_is_all_about_cards_and_the_same(copy: Path) -> None:
    whole, cards = run(copy), run(copy, script=cards_script())
    assert cards.is_complete and not cards.user and not cards.kernel and not cards.modules
    for name in ("devices", "nodes", "open_files", "quarantine", "available"):
        assert getattr(cards, name) == getattr(whole, name)


def test_a_gpu_host_is_read_whole(copy: Path) -> None:
    found = run(copy)
    assert found.is_complete and found.iommu_groups == 2 and found.tables == {"DMAR"}
    assert found.kernel_line == "root=/dev/sda1 intel_iommu=on"
    assert found.has_virtualization and found.cpu == "GenuineIntel" and found.modules["vfio_pci"] == "loaded"
    facts = found.facts(AT)
    assert facts.reset_methods == ("flr", "bus") and facts.is_boot_screen and facts.power_state == "D0"
    assert facts.bars == (32 * 2**30, 16 * 2**20)
    assert facts.answers and facts.serial == "00-15-5d-02-03-04-05-06"
    assert found.nodes == {"/dev/dri/card0": AT, "/dev/nvidia3": AT, "/dev/vfio/devices/vfio4": AT}
    assert (found.qemu_user, found.qemu_groups) == ("root", {"root"}), "as its settings say, not as Debian would have it"
    assert found.quarantine == {FIRST: "serial=00-15-5d its reset failed"}


def test_what_only_holds_copies_of_files_is_memory_to_be_had(copy: Path) -> None:
    assert run(copy).available == {1: (2**31 + 2**30 + 2**29 + 4) * 1024}


def test_a_plan_knows_who_may_read_the_files_it_asks_about(copy: Path) -> None:
    rom = copy / "card.rom"
    found = run(copy, str(rom), script=cards_script())
    assert found.qemu_user == "root"
    assert found.is_missing(str(rom)) is found.is_root
    rom.touch(mode=0o600)
    found = run(copy, str(rom), script=cards_script())
    assert not found.is_missing(str(rom)) and not found.is_shut(str(rom), 4)


def test_members_of_a_cards_group_are_looked_at_and_other_devices_are_not(copy: Path) -> None:
    assert {str(one) for one in run(copy).devices} == {FIRST, FIRST_AUDIO}


@pytest.mark.parametrize("content", [b"\xff" * 4096, b""])
def test_a_card_that_reads_as_ones_or_not_at_all_does_not_answer(copy: Path, content: bytes) -> None:
    (copy / "sys/bus/pci/devices" / FIRST / "config").write_bytes(content)
    assert run(copy).facts(AT).answers is False


def test_a_file_of_a_name_with_blanks_is_asked_about_with_all_its_folders(tmp_path: Path) -> None:
    rom = tmp_path / "my roms" / "card.rom"
    rom.parent.mkdir(mode=0o700)
    rom.touch(mode=0o600)
    found = {one.path: one for one in run("", str(rom), str(tmp_path / "missing")).paths}
    assert (found[str(rom)].mode, found[str(rom.parent)].mode, found[str(rom.parent)].kind) == ("600", "700", "directory")
    assert found[str(tmp_path / "missing")].mode == ""


def test_a_program_that_has_a_card_open_is_seen() -> None:
    text = probe(f"node|/dev/nvidia0|{FIRST}", "open|/dev/nvidia0|812|python3", "open|/dev/nvidia0|x|y", "open|short")
    found = read_probe(text)
    assert [(one.path, one.pid, one.program) for one in found.open_files] == [("/dev/nvidia0", 812, "python3")]


def test_an_output_that_was_cut_off_is_not_complete_and_odd_lines_are_skipped() -> None:
    found = read_probe("user\t0\troot\ndevice\tnonsense\t\nbar\tx\nfuture\tfact\n")
    assert not found.is_complete and found.is_root and not found.devices
    assert not UNPROBED.is_complete and UNPROBED.facts(AT).answers is None


@pytest.mark.parametrize("config", ["", "ff" * 64, config_space(), ("00" * 0x100) + "ffffffff" * 4])
def test_a_configuration_space_without_a_serial_number_has_none(config: str) -> None:
    assert serial_in(config) == ""


def test_a_list_of_capabilities_that_turns_in_a_circle_ends() -> None:
    space = bytearray(4096)
    space[0x100:0x104] = (0x0001 | 0x100 << 20).to_bytes(4, "little")
    assert serial_in(space.hex()) == ""
