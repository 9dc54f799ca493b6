"""Devices from libvirt's XML, recorded and made: addresses, groups, drivers, cells, virtual functions."""

from __future__ import annotations

import xml.etree.ElementTree as ET
from pathlib import Path

import pytest
from support.gpu_host import ADA, NVSWITCH, SOUND, USB, Node

from nodus_providers.libvirt.groups import groups_of
from nodus_providers.libvirt.pci import PciAddress, PciDevice, read_device

RECORDED = Path(__file__).parent / "recorded"


def recorded(name: str) -> dict[str, PciDevice]:
    """Every device of a recording, by address."""
    parts = (part.strip() for part in (RECORDED / name).read_text().split("</device>"))
    devices = (read_device(f"{part}</device>") for part in parts if part)
    return {str(one.address): one for one in devices if one is not None}


def device(**fields: object) -> PciDevice:
    node = Node(**fields)  # type: ignore[arg-type]
    found = read_device(node.xml([node]))
    assert found is not None
    return found


def test_an_address_is_decimal_in_elements_and_hex_in_attributes() -> None:
    found = recorded("node-devices-numa-sriov.xml")
    assert str(found["0000:41:00.0"].address) == "0000:41:00.0", "bus 65 in the element"
    assert found["0000:41:00.0"].group_members == (PciAddress(0, 0x41, 0, 0),)


def test_a_recorded_display_has_class_driver_group_and_members() -> None:
    card = recorded("node-devices.xml")["0000:07:00.0"]
    assert (card.is_display, card.driver, card.iommu_group, card.ids) == (True, "bochs-drm", 18, "1234:1111")
    assert [str(one) for one in card.group_members] == ["0000:07:00.0", "0000:07:00.1"]
    assert card.numa_node is None and not card.is_bridge


def test_a_recorded_card_on_vfio_and_its_names() -> None:
    card = recorded("node-devices.xml")["0000:08:00.0"]
    assert card.is_on_vfio and card.vendor_name.startswith("Advanced Micro Devices")
    assert card.shown == "0000:08:00.0 (vfio-pci)"


def test_numa_node_bridge_and_virtual_functions_of_a_recording() -> None:
    found = recorded("node-devices-numa-sriov.xml")
    assert found["0000:41:00.0"].numa_node == 1
    assert found["0000:40:00.0"].is_bridge
    assert [str(one) for one in found["0000:0c:00.0"].virtual_functions] == ["0000:0c:00.1", "0000:0c:00.2"]
    assert str(found["0000:0c:00.2"].physical_function) == "0000:0c:00.0"


def test_the_recorded_host_has_a_group_with_companion_one_alone_and_one_with_a_strange_device() -> None:
    groups = groups_of(recorded("node-devices.xml").values())
    by_id = {one.id: one for one in groups}
    assert set(by_id) == {"iommu-18", "iommu-19", "iommu-21"}
    assert [str(one.address) for one in by_id["iommu-18"].companions] == ["0000:07:00.1"]
    assert by_id["iommu-19"].passed == by_id["iommu-19"].cards
    assert [str(one) for one in by_id["iommu-21"].unseen] == ["0000:0a:00.0", "0000:0b:02.0"], "the recording leaves them out"


@pytest.mark.parametrize("text", ["0000:65:00.0", "65:00.0", "pci_0000_65_00_0"])
def test_an_address_is_read_in_every_form_people_write(text: str) -> None:
    assert PciAddress.parse(text) == PciAddress(0, 0x65, 0, 0)
    assert PciAddress.parse(text).node_name == "pci_0000_65_00_0"


@pytest.mark.parametrize("text", ["", "65:00", "0000:65:00.8", "gpu0", "0000:65:00.0; rm -rf /"])
def test_what_is_no_address_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="no PCI address"):
        PciAddress.parse(text)


def test_an_address_whose_parts_are_left_out_or_zero_is_the_same() -> None:
    assert PciAddress.of_element(ET.fromstring("<address bus='0x01'/>")) == PciAddress.of_element(
        ET.fromstring("<address domain='0x0000' bus='1' slot='0x00' function='0'/>")
    )


def test_a_device_on_another_bus_is_none_and_other_text_is_an_error() -> None:
    assert read_device("<device><name>computer</name><capability type='system'/></device>") is None
    with pytest.raises(ValueError, match="not a node device"):
        read_device("permission denied")


@pytest.mark.parametrize(
    ("class_code", "ids", "slot", "goes_along"),
    [
        (SOUND, "8086:293e", "01:00.1", True),
        (USB, "10de:1ad8", "01:00.2", True),
        ("0c8000", "10de:1ad9", "01:00.3", True),
        (USB, "1022:1639", "01:00.2", False),
        ("010802", "10de:0001", "01:00.2", False),
        ("020000", "8086:10d3", "01:00.1", False),
        (SOUND, "10de:22ba", "02:00.1", False),
    ],
)
def test_functions_of_the_card_go_along_and_devices_of_the_host_do_not(class_code: str, ids: str, slot: str, goes_along: bool) -> None:
    card = device(address="0000:01:00.0", ids=ADA)
    assert device(address=f"0000:{slot}", class_code=class_code, ids=ids).is_companion_of(card) is goes_along


def test_an_nvswitch_is_an_endpoint_and_no_bridge() -> None:
    switch = device(address="0000:c0:00.0", class_code=NVSWITCH, ids="10de:22a3")
    assert switch.is_nvswitch and not switch.is_bridge
