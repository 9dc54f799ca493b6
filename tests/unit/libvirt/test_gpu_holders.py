"""Who has a card: domains that run, ours or not, and processes; and cards that failed and are kept out."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest
from support.gpu_host import FIRST, FIRST_AUDIO, GpuHost, card, config_space, domain

from nodus_providers.libvirt import quarantine
from nodus_providers.libvirt.card_health import failed_cards
from nodus_providers.libvirt.definitions import taken_cards
from nodus_providers.libvirt.holders import read_claim
from nodus_providers.libvirt.host_probe import DeviceFacts
from nodus_providers.libvirt.pci import PciAddress
from nodus_providers.libvirt.quarantine import Mark, failure_after_stop, failure_in_text, mark_script, marks_of

AT = PciAddress.parse(FIRST)
SERIAL = 0x00155D0203040506
SHOWN = "00-15-5d-02-03-04-05-06"


def holder_names(host: GpuHost) -> list[str]:
    inventory = host.inventory()
    return [one.name for one in inventory.holders(inventory.groups[0])]


def test_a_running_machine_of_ours_is_named_by_its_object_and_stopped_by_us() -> None:
    host = GpuHost(nodes=[*card(1)], running=[domain("nodus-lab-1", FIRST, owner="workspace/lab")])
    inventory = host.inventory()
    (holder,) = inventory.holders(inventory.groups[0])
    assert (holder.name, holder.fix) == ("workspace/lab", "nodusctl stop lab")


def test_a_domain_that_has_only_the_audio_function_holds_the_group() -> None:
    host = GpuHost(nodes=[*card(1, audio="vfio-pci")], running=[domain("other", FIRST_AUDIO)])
    assert holder_names(host) == ["domain other"]


def test_a_network_card_given_as_an_interface_counts_too() -> None:
    interface = "<interface type='hostdev'><source><address type='pci' bus='0x01'/></source></interface>"
    xml = f"<domain><name>n</name><devices>{interface}</devices></domain>"
    assert read_claim(xml, is_active=True).devices == {AT}


def test_a_process_that_has_the_vfio_group_open_holds_it_and_qemu_of_a_domain_is_told_once() -> None:
    opened = ["open|/dev/vfio/1|77|qemu-system-x86"]
    assert holder_names(GpuHost(nodes=[*card(1)], probe=opened)) == ["process 77 (qemu-system-x86)"]
    assert holder_names(GpuHost(nodes=[*card(1)], probe=opened, running=[domain("other", FIRST)])) == ["domain other"]
    assert holder_names(GpuHost(nodes=[*card(2)], probe=opened)) == []


def test_a_display_server_is_ended_by_its_service_and_another_program_by_its_number() -> None:
    nodes = [f"node|/dev/dri/card1|{FIRST}"]
    host = GpuHost(nodes=[*card(1)], probe=[*nodes, "open|/dev/dri/card1|9|Xorg", "open|/dev/dri/card1|10|python3"])
    inventory = host.inventory()
    assert [one.fix for one in inventory.holders(inventory.groups[0])] == ["systemctl stop display-manager", "kill 10"]


def test_text_that_is_no_domain_is_an_error() -> None:
    with pytest.raises(ValueError, match="not a domain"):
        read_claim("gone", is_active=True)


def test_a_card_of_ours_that_a_foreign_machine_took_is_found() -> None:
    claims = GpuHost(running=[domain("other", FIRST), domain("nodus-lab", "0000:02:00.0")]).inventory().claims
    own = claims[1].uuid
    assert taken_cards([AT, PciAddress.parse("0000:02:00.0")], claims, own) == ((AT, "domain other"),)


def test_a_mark_is_written_once_and_read_back(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(quarantine, "FOLDER", str(tmp_path / "q"))
    mark = Mark(address=AT, serial=SHOWN, reason="its reset\n failed; rm -rf '$HOME'")
    for _ in range(2):
        subprocess.run(["sh", "-c", mark_script(mark)], check=True)
    files = {one.name: one.read_text() for one in (tmp_path / "q").iterdir()}
    assert marks_of(files) == (Mark(address=AT, serial=SHOWN, reason="its reset failed; rm -rf '$HOME'"),)


def test_a_mark_follows_the_card_to_another_slot_and_not_the_slot() -> None:
    marked = f"quarantine|{FIRST}|serial={SHOWN} its reset failed"
    moved = GpuHost(
        nodes=[*card(2)], probe=[marked, f"config|0000:02:00.0|{config_space(serial=SERIAL)}", "device|0000:02:00.0|bus|D0|0||"]
    )
    other = GpuHost(nodes=[*card(1)], probe=[marked, f"config|{FIRST}|{config_space(serial=SERIAL + 1)}", f"device|{FIRST}|bus|D0|0||"])
    for host, is_kept_out in ((moved, True), (other, False)):
        inventory = host.inventory()
        assert (inventory.obstacle(inventory.groups[0]) is not None) is is_kept_out


def test_a_mark_by_hand_without_a_serial_number_holds_for_the_address_and_strange_files_for_nothing() -> None:
    assert marks_of({FIRST: "fan is broken\n", "notes.txt": "x"}) == (Mark(address=AT, reason="fan is broken"),)


@pytest.mark.parametrize(
    ("facts", "driver", "is_managed", "verdict"),
    [
        (DeviceFacts(answers=True), "nvidia", True, ""),
        (None, "nvidia", True, ""),
        (DeviceFacts(answers=False, power_state="D3cold"), "nvidia", True, "no longer answers"),
        (DeviceFacts(answers=True), "", True, "wasn't given back"),
        (DeviceFacts(answers=True), "", False, ""),
    ],
)
def test_what_a_look_after_the_stop_finds(facts: DeviceFacts | None, driver: str, is_managed: bool, verdict: str) -> None:
    device = GpuHost(nodes=[*card(1, driver=driver)]).inventory().devices[AT]
    assert verdict in failure_after_stop(device, facts, driver_before="nvidia", is_managed=is_managed)


def test_a_card_that_is_not_listed_any_more_fell_off_the_bus() -> None:
    assert "fell off the bus" in failure_after_stop(None, None, driver_before="", is_managed=False)


@pytest.mark.parametrize(
    ("message", "is_failure"),
    [
        ("vfio-pci 0000:01:00.0: not ready 65535ms after resume; giving up", True),
        ("internal error: Unknown PCI header type '127' for device '0000:01:00.0'", True),
        ("internal error: Unable to reset PCI device 0000:01:00.0: no FLR", True),
        ("vfio 0000:07:00.0: group 18 is not viable", False),
        ("PCI device 0000:08:00.0 is in use by driver QEMU, domain f", False),
        ("Unmanaged PCI device 0000:07:00.0 must be manually detached from the host", False),
    ],
)
def test_only_messages_about_a_broken_card_put_it_into_quarantine(message: str, is_failure: bool) -> None:
    assert bool(failure_in_text(message)) is is_failure


def test_the_cards_of_an_ended_machine_are_looked_at_but_for_those_somebody_has_again() -> None:
    dead = [f"device|{one}|bus|D0|0||" for one in (FIRST, "0000:02:00.0")] + [f"config|{one}|" for one in (FIRST, "0000:02:00.0")]
    host = GpuHost(nodes=[*card(1), *card(2)], probe=dead, running=[domain("other", "0000:02:00.0")])
    second, third = PciAddress.parse("0000:02:00.0"), PciAddress.parse("0000:03:00.0")
    found = failed_cards(host.inventory(), [AT, second, third], {})
    assert set(found) == {AT, third} and "fell off the bus" in found[third]


def test_a_card_that_was_on_vfio_before_needs_no_driver_after() -> None:
    device = GpuHost(nodes=[*card(1)]).inventory().devices[AT]
    assert failure_after_stop(device, None, driver_before="vfio-pci", is_managed=True) == ""
