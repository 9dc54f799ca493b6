"""Cards that didn't come back well are marked on their host and left out of its offers; and what a kernel says of one that hangs."""

from __future__ import annotations

from pathlib import Path

import pytest
from support.gpu_host import FIRST, FIRST_AUDIO, card, config_space, write_test_node

from nodus_providers.libvirt import quarantine, shell
from nodus_providers.libvirt.card_health import kernel_words, quarantine_after_message, quarantine_after_stop
from nodus_providers.libvirt.connection import Connection, TimeLimitError
from nodus_providers.libvirt.hardware import inventory_of
from nodus_providers.libvirt.hosts import Host
from nodus_providers.libvirt.inventory import HostInventory
from nodus_providers.libvirt.locks import Locks
from nodus_providers.libvirt.settings import HostSettings
from nodus_providers.libvirt.shell import HostShell
from nodus_providers.libvirt.units import unit_of
from nodusctl.base.clock import SystemWall
from nodusctl.provider.offers import Unit


@pytest.fixture
def host(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Host:
    """libvirt's test driver with two cards without a driver, and a copy of such a host's files, to which marks are written too."""
    pytest.importorskip("libvirt", reason="libvirt-python is not installed:  pip install 'nodusctl[libvirt]'")
    copy = tmp_path / "copy"
    monkeypatch.setenv("PROBE_ROOT", str(copy))
    monkeypatch.setattr(quarantine, "FOLDER", str(copy / "var/lib/nodus/quarantine"))
    for address in (FIRST, "0000:02:00.0"):
        device = copy / "sys/bus/pci/devices" / address
        device.mkdir(parents=True)
        (device / "class").write_text("0x030000\n")
        (device / "config").write_bytes(bytes.fromhex(config_space()))
    wall = SystemWall()
    return Host(
        zone="here",
        settings=HostSettings(name="here", uri="qemu:///system", folder=str(tmp_path / "host")),
        connection=Connection(write_test_node(tmp_path / "node.xml", [*card(1, audio=""), *card(2)])),
        shell=HostShell(),
        locks=Locks(tmp_path / "locks", wall),
        wall=wall,
        is_this_computer=True,
        domain_type_wish="qemu",
    )


def units(inventory: HostInventory) -> list[Unit]:
    return [unit_of(group, inventory) for group in inventory.groups]


def test_a_card_that_was_not_given_back_is_kept_out_until_a_person_lifts_the_mark(host: Host) -> None:
    assert [unit.is_viable for unit in units(inventory_of(host))] == [True, True]
    marks = quarantine_after_stop(host, (FIRST, FIRST_AUDIO), {FIRST: "nvidia", FIRST_AUDIO: ""})
    assert [str(mark.address) for mark in marks] == [FIRST], "the audio function had no driver before either"
    first, second = units(inventory_of(host))
    assert (first.is_viable, second.is_viable) == (False, True)
    assert f"{FIRST} is in quarantine: it wasn't given back: no driver is bound, nvidia was before" in first.why_not
    Path(marks[0].lift_command.removeprefix("rm ")).unlink()
    assert [unit.is_viable for unit in units(inventory_of(host))] == [True, True]


def test_a_card_that_is_well_gets_no_mark(host: Host) -> None:
    assert quarantine_after_stop(host, (FIRST, FIRST_AUDIO), {FIRST: "vfio-pci", FIRST_AUDIO: ""}) == ()


def test_a_failed_reset_marks_the_card_that_the_message_names_and_other_failures_none(host: Host) -> None:
    both = (FIRST, "0000:02:00.0")
    assert quarantine_after_message(host, both, "vfio 0000:01:00.0: group 1 is not viable") == ()
    (mark,) = quarantine_after_message(host, both, "internal error: Unable to reset PCI device 0000:02:00.0: no FLR")
    assert str(mark.address) == "0000:02:00.0"
    assert [unit.is_viable for unit in units(inventory_of(host))] == [True, False]


def test_a_card_that_hangs_is_told_with_what_the_kernel_says_of_it(host: Host, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    said = "NVRM: Attempting to remove device 0000:01:00.0 with non-zero usage count!"
    log = tmp_path / "bin" / "dmesg"
    log.parent.mkdir()
    log.write_text(f"#!/bin/sh\necho '[    1.0] usb 1-1: new device'\necho '[   99.1] {said}'\necho '[   99.2] pci 0000:05:00.0: other'\n")
    log.chmod(0o755)
    monkeypatch.setattr(shell, "_PATH", f"PATH={log.parent}:$PATH\n")
    with pytest.raises(TimeLimitError) as fault, kernel_words(host, (FIRST,)):
        raise TimeLimitError("could not start a domain within 120 s")
    assert str(fault.value) == f"could not start a domain within 120 s; its kernel says: {said}"
    log.unlink()
    with pytest.raises(TimeLimitError, match=r"120 s\Z"), kernel_words(host, ()):
        raise TimeLimitError("could not start a domain within 120 s")
