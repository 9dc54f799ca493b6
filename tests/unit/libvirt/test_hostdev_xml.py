"""The parts of a domain that hardware decides, as text, and as libvirt's own test driver takes them."""

from __future__ import annotations

import xml.etree.ElementTree as ET
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from support.gpu_host import FIRST, GpuHost, card, write_test_node

from nodus_providers.libvirt import hostdevs
from nodus_providers.libvirt.groups import HostdevPolicy
from nodus_providers.libvirt.hostdevs import Rom, hostdev_elements, mmio_window_mib
from nodus_providers.libvirt.inventory import HostTexts, read_inventory
from nodus_providers.libvirt.numa import Seat
from nodus_providers.libvirt.pci import PciAddress

MIB, GIB = 2**20, 2**30
AT = PciAddress.parse(FIRST)
PASSED = GpuHost(nodes=[*card(1, audio="snd_hda_intel")]).inventory().groups[0].passed


def shown(element: ET.Element | None) -> str:
    return ET.tostring(element, encoding="unicode") if element is not None else ""


@pytest.fixture
def connection(tmp_path: Path) -> Iterator[Any]:
    """libvirt's test driver with two cards."""
    libvirt = pytest.importorskip("libvirt", reason="libvirt-python is not installed:  pip install 'nodusctl[libvirt]'")
    uri = write_test_node(tmp_path / "node.xml", [*card(1, driver="nvidia", audio="snd_hda_intel", numa=0), *card(2, numa=1)])
    opened = libvirt.open(uri)
    yield opened
    opened.close()


def domain(*parts: ET.Element, devices: tuple[ET.Element, ...] = ()) -> str:
    root = ET.fromstring(
        "<domain type='test'><name>m</name><memory unit='MiB'>512</memory><vcpu>2</vcpu><os><type>hvm</type></os><devices/></domain>"
    )
    root.extend(parts)
    found = root.find("devices")
    assert found is not None
    found.extend(devices)
    return ET.tostring(root, encoding="unicode")


def test_a_card_and_its_audio_function_are_two_managed_hostdevs() -> None:
    first, second = hostdev_elements(PASSED)
    assert shown(first) == (
        '<hostdev mode="subsystem" type="pci" managed="yes"><driver name="vfio" />'
        '<source><address domain="0x0000" bus="0x01" slot="0x00" function="0x0" /></source></hostdev>'
    )
    assert 'function="0x1"' in shown(second)


def test_leave_on_vfio_is_not_managed() -> None:
    assert {one.get("managed") for one in hostdev_elements(PASSED, HostdevPolicy.LEAVE_ON_VFIO)} == {"no"}


def test_a_rom_file_or_none_at_all_belongs_to_one_function() -> None:
    first, second = hostdev_elements(PASSED, roms={AT: Rom(file="/usr/share/vgabios/card.rom")})
    assert first.find("rom[@file='/usr/share/vgabios/card.rom']") is not None and second.find("rom") is None
    assert hostdev_elements(PASSED, roms={AT: Rom(is_off=True)})[0].find("rom[@bar='off']") is not None


@pytest.mark.parametrize(
    ("bars", "mib"),
    [
        ((), 0),
        ((256 * MIB, 32 * MIB), 0),
        ((16 * GIB, 32 * MIB), 0),
        ((32 * GIB, 64 * MIB), 128 * 1024),
        ((128 * GIB, 32 * MIB), 256 * 1024),
        ((256 * GIB,) * 8, 4096 * 1024),
    ],
)
def test_the_window_has_room_for_each_bar_at_a_multiple_of_its_size_and_is_left_alone_where_it_need_not_be(
    bars: tuple[int, ...], mib: int
) -> None:
    assert mmio_window_mib(bars) == mib
    argument = hostdevs.mmio_arguments(mib)
    assert (argument is None) is (mib == 0)
    if argument is not None:
        assert [one.get("value") for one in argument] == ["-fw_cfg", f"name=opt/ovmf/X-PciMmio64Mb,string={mib}"]


def test_nothing_is_said_where_nothing_is_decided() -> None:
    assert [one(Seat()) for one in (hostdevs.memory_backing, hostdevs.numa_tuning, hostdevs.cpu_tuning)] == [None] * 3


def test_libvirt_keeps_what_we_write(connection: Any) -> None:
    seat = Seat(cells=(1,), cpus=(4, 5), page_bytes=2 * MIB)
    backing, cells, cpus = hostdevs.memory_backing(seat), hostdevs.numa_tuning(seat), hostdevs.cpu_tuning(seat)
    assert backing is not None and cells is not None and cpus is not None
    features = ET.Element("features")
    features.extend(hostdevs.hidden_hypervisor())
    devices = (*hostdev_elements(PASSED, roms={AT: Rom(file="/x.rom")}),)
    kept = ET.fromstring(connection.defineXML(domain(backing, cells, cpus, features, devices=devices)).XMLDesc())
    addresses = [PciAddress.of_element(one) for one in kept.findall("devices/hostdev/source/address")]
    assert addresses == [one.address for one in PASSED]
    assert kept.find("memoryBacking/hugepages/page[@size='2048']") is not None
    assert kept.find("numatune/memory[@nodeset='1']") is not None
    assert [one.get("cpuset") for one in kept.findall("cputune/vcpupin")] == ["4", "5"]
    assert kept.find("devices/hostdev/rom[@file='/x.rom']") is not None
    assert kept.find("features/kvm/hidden[@state='on']") is not None


def test_the_stored_definition_has_no_cards(connection: Any) -> None:
    whole = ET.fromstring(domain(devices=hostdev_elements(PASSED)))
    stored = connection.defineXML(shown(hostdevs.without_hostdevs(whole))).XMLDesc()
    assert "hostdev" not in stored


def test_an_inventory_is_read_through_libvirt_itself(connection: Any) -> None:
    libvirt = pytest.importorskip("libvirt")
    running = connection.createXML(domain(devices=hostdev_elements(PASSED)), 0)
    listed = connection.listAllDevices(libvirt.VIR_CONNECT_LIST_NODE_DEVICES_CAP_PCI_DEV)
    found = read_inventory(
        HostTexts(
            devices=tuple(one.XMLDesc() for one in listed),
            capabilities=connection.getCapabilities(),
            domains=((running.XMLDesc(), True),),
        )
    )
    assert [one.id for one in found.groups] == ["iommu-1", "iommu-2"]
    assert [one.numa_node for one in found.groups] == [0, 1]
    assert [[one.name for one in found.holders(group)] for group in found.groups] == [["domain m"], []]
