"""What a machine is defined as, what its first-boot disk holds, and what is said of a host that can't be asked."""

from __future__ import annotations

import xml.etree.ElementTree as ET
from pathlib import Path

import pytest

from nodus_providers.libvirt.connection import NAMESPACE
from nodus_providers.libvirt.domain_xml import DiskFile, Shape, disk_target, domain_xml
from nodus_providers.libvirt.images import Base
from nodus_providers.libvirt.launching import start_seconds
from nodus_providers.libvirt.records import MachineRecord, domain_uuid, mac_of, owner_in, record_in_mark, thing_id
from nodus_providers.libvirt.seeds import host_name_of, seed_image, seed_name
from nodusctl.base.exits import UserError
from nodusctl.provider.machines import MachineState
from nodusctl.provider.offers import OfferQuery
from nodusctl.provider.replies import Unknown
from nodusctl.testing.conformance_hooks import a_context, done

RECORD = MachineRecord(
    id=thing_id("m", "0123abcd", "token"),
    token="token",
    digest="d",
    name="nodus-lab-1",
    offer_id="cpu-1c-1g-local",
    image="nodus/workspace-cpu",
    tags={"nodus-state": "s", "nodus-address": "workspace/lab", "nodus-owner": "Zoë <☃> & 'co'"},
    created_at="2026-11-29T10:00:00Z",
    edge_seconds=600,
    seed="seed-1.iso",
    vcpus=2,
    memory_bytes=2**30,
)
CARD = ET.fromstring("<hostdev mode='subsystem' type='pci' managed='yes'><source><address domain='0x0000' bus='0x01'/></source></hostdev>")


def a_shape(**changes: object) -> Shape:
    fields = {
        "uuid": domain_uuid("0123abcd", "token"),
        "record": RECORD,
        "folder": "/pool/machines/x",
        "base": Base(path="/base.qcow2", format="qcow2"),
        "domain_type": "kvm",
        "emulated_cpu": "qemu64",
        "disks": (DiskFile(path="/pool/home.qcow2", serial="nodus-home"),),
        "hostdevs": (CARD,),
    }
    return Shape(**{**fields, **changes})  # type: ignore[arg-type]


def test_a_definition_is_q35_with_firmware_and_virtio_and_says_whose_it_is() -> None:
    text = domain_xml(a_shape())
    root = ET.fromstring(text)
    kind = root.find("os/type")
    assert kind is not None
    assert (root.get("type"), kind.get("machine"), root.find("os").get("firmware")) == ("kvm", "q35", "efi")  # type: ignore[union-attr]
    assert {one.get("name"): one.get("enabled") for one in root.iterfind("os/firmware/feature")} == {
        "enrolled-keys": "no",
        "secure-boot": "no",
    }
    assert root.find("cpu").get("mode") == "host-passthrough"  # type: ignore[union-attr]
    assert {disk.get("bus") for disk in root.iterfind("devices/disk/target")} == {"virtio"}
    assert disk_target(text, "/pool/home.qcow2") == "vdb"
    assert owner_in(root) == "workspace/lab"
    mark = root.find(f"metadata/{{{NAMESPACE}}}machine")
    assert mark is not None
    assert record_in_mark(ET.tostring(mark, encoding="unicode")) == RECORD


def test_emulation_gets_a_named_model_and_a_kernel_needs_no_firmware() -> None:
    base = Base(path="/base.qcow2", format="qcow2", kernel="/vmlinux", initrd="/initrd", cmdline="quiet")
    root = ET.fromstring(domain_xml(a_shape(domain_type="qemu", base=base)))
    assert root.findtext("cpu/model") == "qemu64"
    assert root.find("os").get("firmware") is None  # type: ignore[union-attr]
    assert (root.findtext("os/kernel"), root.findtext("os/cmdline")) == ("/vmlinux", "quiet")


def test_cards_are_in_what_is_started_and_not_in_what_is_stored() -> None:
    assert "hostdev" not in domain_xml(a_shape())
    assert "hostdev" in domain_xml(a_shape(), with_hostdevs=True)


def test_a_start_has_the_longer_the_more_memory_is_pinned_for_its_cards() -> None:
    assert start_seconds(RECORD.changed(memory_bytes=2**40)) == 120, "without a card nothing is pinned"
    big = RECORD.changed(memory_bytes=2**40, devices=("0000:01:00.0",))
    assert 335 < start_seconds(big) < 600, "one that took 5 min 35 s was reported; a call may take ten minutes"
    assert start_seconds(big.changed(memory_bytes=2**43)) < 600


def test_a_machine_is_on_a_network_of_its_host_or_on_a_bridge() -> None:
    for changes, source in (({}, {"network": "default"}), ({"network": "lab"}, {"network": "lab"}), ({"bridge": "br0"}, {"bridge": "br0"})):
        (card,) = ET.fromstring(domain_xml(a_shape(**changes))).iterfind("devices/interface")
        assert (card.get("type"), card.find("source").attrib) == (next(iter(source)), source)  # type: ignore[union-attr]


def test_ids_follow_from_host_and_token() -> None:
    assert domain_uuid("0123abcd", "token") == domain_uuid("0123abcd", "token") != domain_uuid("ffffffff", "token")
    assert mac_of(RECORD.id).startswith("52:54:00:")
    assert record_in_mark("<machine>no json</machine>") is None
    assert record_in_mark("<other") is None


def test_a_seed_is_named_by_its_content_and_holds_it() -> None:
    pytest.importorskip("pycdlib")
    names = {seed_name(*words) for words in (("m", "lab", "a"), ("m", "lab", "b"), ("n", "lab", "a"), ("m", "lab", "a"))}
    assert len(names) == 3
    image = seed_image("m-1", "lab", "#cloud-boothook\nCONTENT\n")
    assert image[32808:32814] == b"cidata"
    assert b"CONTENT" in image
    assert b"local-hostname: lab" in image
    assert host_name_of("nodus-Läb_1-" + "x" * 80).startswith("nodus-l-b-1-x")
    assert len(host_name_of("n" * 80)) == 63


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        ({"hosts": [{"uri": "qemu+ssh://root@10.0.0.1/system"}]}, "needs hostKey"),
        ({"hosts": [{"uri": "qemu+ssh://root@10.0.0.1/system?no_verify=1"}]}, "without parameters"),
        ({"hosts": [{"uri": "qemu:///session"}]}, "can neither detach cards nor pin memory, and root has none; write uri: qemu:///system"),
        ({"hosts": [{}, {}]}, "a name of its own"),
        ({"images": {"a": {"url": "https://example.test/a.qcow2"}}}, "sha256"),
        ({"images": {"a": {"path": "/a", "url": "https://example.test/a"}}}, "a path or a url"),
        ({"images": {"a": {"path": "/a'; reboot; '"}}}, "pattern"),
    ],
)
def test_a_wrong_setting_is_said_with_its_field(tmp_path: Path, settings: dict[str, object], said: str) -> None:
    pytest.importorskip("libvirt")
    from nodus_providers.libvirt.provider import LibvirtProvider

    with pytest.raises(UserError) as caught:
        LibvirtProvider.open(a_context(tmp_path), settings)
    assert said in " ".join(one.detail for one in caught.value.diagnostics)
    assert all(one.field.startswith("providers.under-test") for one in caught.value.diagnostics)


def test_a_host_that_does_not_answer_has_lost_nothing(tmp_path: Path) -> None:
    """No machine of it is gone, nothing is listed as empty, and an id of another form is still nobody's."""
    pytest.importorskip("libvirt")
    from nodus_providers.libvirt.provider import LibvirtProvider

    key = "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIL0fAbmkVD1OgAWnXPXSAmeqhUdlwXjw5RKO/YsHE1uc"
    host = {"name": "far", "uri": "qemu+ssh://root@127.0.0.1:1/system", "hostKey": key}
    provider = LibvirtProvider.open(a_context(tmp_path), {"hosts": [host]})
    seen = done(provider.observe([RECORD.id, "no-such-machine"]))
    assert [machine.state for machine in seen] == [MachineState.UNREADABLE, MachineState.GONE]
    assert isinstance(provider.list(), Unknown)
    assert isinstance(provider.find("token"), Unknown)
    assert isinstance(provider.offers(OfferQuery()), Unknown)
    wrapper = next(tmp_path.rglob("ssh"))
    assert "StrictHostKeyChecking=yes" in wrapper.read_text()
