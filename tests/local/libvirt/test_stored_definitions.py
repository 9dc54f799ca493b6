"""What a real libvirt makes of our definitions: nothing it fills in is an edit, whatever the machine is made of. Nothing is started."""

from __future__ import annotations

import uuid
from collections.abc import Iterator
from typing import Any

import pytest

from nodus_providers.libvirt.domain_xml import DiskFile, Shape, domain_xml
from nodus_providers.libvirt.drift import changes, packed
from nodus_providers.libvirt.images import Base
from nodus_providers.libvirt.numa import Seat
from nodus_providers.libvirt.records import MachineRecord

pytestmark = pytest.mark.libvirt
INACTIVE, NVRAM = 2, 4
MIB = 2**20
DIRECT = Base(path="/x/base.qcow2", format="qcow2", kernel="/x/vmlinuz")
FIRMWARE = Base(path="/x/base.qcow2", format="qcow2", firmware="efi")


@pytest.fixture(scope="module")
def system() -> Iterator[Any]:
    """The system daemon of this computer."""
    libvirt = pytest.importorskip("libvirt", reason="libvirt-python is not installed:  pip install 'nodusctl[libvirt]'")
    libvirt.registerErrorHandler(lambda context, fault: None, None)
    try:
        opened = libvirt.open("qemu:///system")
    except libvirt.libvirtError as fault:
        pytest.skip(f"no libvirtd here: {fault}")
    yield opened
    opened.close()


def shape(base: Base, **changed: Any) -> Shape:
    made = uuid.uuid4()
    record = MachineRecord(
        id="m-01234567-0123456789ab",
        token="t",
        digest="d",
        name=f"nodus-test-{made.hex[:8]}",
        offer_id="cpu-1c-1g-local",
        image="nodus/workspace-cpu",
        tags={},
        created_at="2026-10-26T07:00:00Z",
        edge_seconds=60,
        seed="seed.iso",
        vcpus=2,
        memory_bytes=512 * MIB,
    )
    home = DiskFile(path="/x/home.qcow2", serial="nodus-home")
    return Shape(uuid=str(made), record=record, folder="/x", base=base, domain_type="qemu", emulated_cpu="qemu64", disks=(home,), **changed)


@pytest.mark.parametrize(
    "made",
    [
        shape(DIRECT),
        shape(FIRMWARE),
        shape(FIRMWARE, seat=Seat(cells=(0,), cpus=(0, 1), page_bytes=2 * MIB), mmio_window_mib=128 * 1024, is_hidden=True),
    ],
    ids=["direct-kernel", "firmware", "huge-pages-pinned-hidden"],
)
def test_a_definition_that_nobody_touched_has_no_edits_and_one_somebody_edited_has_that_one(system: Any, made: Shape) -> None:
    kept = packed(domain_xml(made))
    domain = system.defineXML(domain_xml(made))
    try:
        assert changes(kept, domain.XMLDesc(INACTIVE)) == ()
        system.defineXML(domain.XMLDesc(INACTIVE).replace("/x/home.qcow2", "/x/other.qcow2"))
        assert changes(kept, domain.XMLDesc(INACTIVE)) == (("devices/disk[vdb]/source/@file", "/x/home.qcow2", "/x/other.qcow2"),)
        assert len(kept) < 2000, "it lives in the domain's metadata"
    finally:
        domain.undefineFlags(NVRAM)
