"""What counts as an edit of a definition: what somebody changed of what we set, and nothing that libvirt fills in."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from support.gpu_host import FIRST, card, write_test_node

from nodus_providers.libvirt.definitions import Edit, edits
from nodus_providers.libvirt.drift import changes, packed, unpacked

OURS = """<domain type='kvm' xmlns:qemu='http://libvirt.org/schemas/domain/qemu/1.0'><name>nodus-lab</name>
<metadata><n:owner xmlns:n='urn:x'/></metadata><memory unit='GiB'>4</memory><vcpu placement='static'>2</vcpu>
<os><type arch='x86_64' machine='q35'>hvm</type></os><cpu mode='host-passthrough'/>
<devices>
<disk type='file' device='disk'><driver name='qemu' type='qcow2'/><source file='/i/root.qcow2'/><target dev='vda' bus='virtio'/></disk>
<disk type='file' device='disk'><source file='/i/home.qcow2'/><target dev='vdb' bus='virtio'/></disk>
<controller type='pci' model='pcie-root-port'/>
<interface type='network'><source network='default'/><model type='virtio'/></interface></devices>
<qemu:commandline><qemu:arg value='-fw_cfg'/></qemu:commandline></domain>"""
# The same as libvirt 9.0 gives it back: units, machine version, addresses, aliases, order, controllers and devices of its own.
STANDS = """<domain type='kvm' xmlns:qemu='http://libvirt.org/schemas/domain/qemu/1.0'><name>nodus-lab</name><uuid>u</uuid>
<memory unit='KiB'>4194304</memory><currentMemory unit='KiB'>4194304</currentMemory><vcpu placement='static'>2</vcpu>
<os><type arch='x86_64' machine='pc-q35-7.2'>hvm</type><boot dev='hd'/></os><cpu mode='host-passthrough' check='none' migratable='on'/>
<clock offset='utc'/><devices><emulator>/usr/bin/qemu-system-x86_64</emulator>
<disk type='file' device='disk'><source file='/i/home.qcow2'/><target dev='vdb' bus='virtio'/><address type='pci' bus='0x05'/></disk>
<disk type='file' device='disk'><driver name='qemu' type='qcow2'/><source file='/i/root.qcow2'/><target dev='vda' bus='virtio'/></disk>
<controller type='pci' index='0' model='pcie-root'/><controller type='usb' index='0' model='qemu-xhci'/>
<controller type='pci' index='1' model='pcie-root-port'><target chassis='1'/></controller>
<interface type='network'><mac address='52:54:00:aa:bb:cc'/><source network='default'/><model type='virtio'/></interface>
<memballoon model='virtio'/></devices><qemu:commandline><qemu:arg value='-fw_cfg'/></qemu:commandline></domain>"""


def test_what_libvirt_fills_in_is_no_edit() -> None:
    assert edits(OURS, STANDS) == ()


@pytest.mark.parametrize(
    ("before", "after", "edit"),
    [
        ("<memory unit='KiB'>4194304", "<memory unit='KiB'>2097152", Edit("memory", "4194304 KiB", "2097152 KiB")),
        (">2</vcpu>", ">8</vcpu>", Edit("vcpu", "2", "8")),
        ("/i/home.qcow2", "/i/other.qcow2", Edit("disk[vdb]/source/@file", "/i/home.qcow2", "/i/other.qcow2")),
        ("network='default'", "network='lab'", Edit("interface/source/@network", "default", "lab")),
        ("mode='host-passthrough'", "mode='custom'", Edit("cpu/@mode", "host-passthrough", "custom")),
        ("pc-q35-7.2", "pc-i440fx-7.2", Edit("os/type/@machine", "q35", "pc-i440fx-7.2")),
        ("value='-fw_cfg'", "value='-S'", Edit("commandline/arg[-fw_cfg]", "present", "")),
        ("<name>nodus-lab<", "<name>mine<", Edit("name", "nodus-lab", "mine")),
    ],
)
def test_what_somebody_changed_is_named_by_its_path_with_both_values(before: str, after: str, edit: Edit) -> None:
    assert before in STANDS
    (found,) = edits(OURS, STANDS.replace(before, after))
    assert found.what.endswith(edit.what) and (found.expected, found.found) == (edit.expected, edit.found)


def test_a_disk_that_was_taken_away_is_one_edit() -> None:
    start, end = STANDS.index("<disk"), STANDS.index("</disk>") + len("</disk>")
    assert edits(OURS, STANDS[:start] + STANDS[end:]) == (Edit("devices/disk[vdb]", "present", ""),)


def test_a_card_somebody_put_into_the_definition_is_an_edit_and_other_additions_are_not() -> None:
    hostdev = "<hostdev mode='subsystem' type='pci'><source><address bus='0x01'/></source></hostdev>"
    found = edits(OURS, STANDS.replace("<memballoon", f"{hostdev}<sound model='ich9'/><memballoon"))
    assert found == (Edit(f"devices/hostdev[{FIRST}]", "", "present"),)
    assert found[0].shown == f"devices/hostdev[{FIRST}]: present, was nothing"


def test_zero_hex_zero_and_an_absent_number_are_one() -> None:
    address = "<address domain='0' bus='0x01' slot='0' function='0'/>"
    ours = f"<domain><devices><hostdev type='pci'><source>{address}</source></hostdev></devices></domain>"
    theirs = ours.replace("domain='0' bus='0x01' slot='0' function='0'", "bus='0x01' slot='0x00'")
    assert edits(ours, theirs) == ()


def test_text_that_is_no_domain_is_an_error() -> None:
    with pytest.raises(ValueError, match="not a domain"):
        edits(OURS, "")


def test_libvirts_own_normalising_is_no_edit_and_a_change_by_virsh_is(tmp_path: Path) -> None:
    libvirt = pytest.importorskip("libvirt", reason="libvirt-python is not installed:  pip install 'nodusctl[libvirt]'")
    connection: Any = libvirt.open(write_test_node(tmp_path / "node.xml", card(1)))
    ours = OURS.replace("type='kvm'", "type='test'", 1).replace("<memory unit='GiB'>4", "<memory unit='MiB'>512")
    ours = ours.replace(" machine='q35'", "").replace("<cpu mode='host-passthrough'/>", "").replace("x86_64", "i686")
    ours = ours[: ours.index("<qemu:commandline>")] + "</domain>"
    domain = connection.defineXML(ours)
    inactive = libvirt.VIR_DOMAIN_XML_INACTIVE
    assert edits(ours, domain.XMLDesc(inactive)) == ()
    domain.create()
    assert edits(ours, domain.XMLDesc(inactive)) == ()
    domain.setMemoryFlags(256 * 1024, libvirt.VIR_DOMAIN_AFFECT_CONFIG)
    connection.defineXML(domain.XMLDesc(inactive).replace(">2</vcpu>", ">4</vcpu>"))
    assert [one.what for one in edits(ours, domain.XMLDesc(inactive))] == ["vcpu"], "the balloon is not what we set"
    connection.close()


def test_what_we_wrote_is_kept_small_without_cards_marks_and_names() -> None:
    hostdev = "<hostdev mode='subsystem' type='pci'><source><address bus='0x01'/></source></hostdev>"
    kept = packed(OURS.replace("<controller", f"{hostdev}<controller"))
    assert len(kept) < 800
    xml = unpacked(kept)
    assert "hostdev" not in xml and "metadata" not in xml and "nodus-lab" not in xml
    assert changes(kept, STANDS) == ()
    assert changes(kept, STANDS.replace(">2</vcpu>", ">8</vcpu>")) == (("vcpu", "2", "8"),)


def test_a_definition_that_was_removed_or_never_kept() -> None:
    assert changes(packed(OURS), STANDS, is_persistent=False) == (("definition", "stored", "removed"),)
    assert changes("", STANDS) == ()
    with pytest.raises(ValueError, match="not a kept definition"):
        unpacked("no")
