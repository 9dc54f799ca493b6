"""Which groups can be given to a machine, and what a launch finds when it looks again."""

from __future__ import annotations

from dataclasses import replace

from support.gpu_host import BRIDGE, FIRST, FIRST_AUDIO, NETWORK, GpuHost, Node, card, domain

from nodus_providers.libvirt.groups import Group, HostdevPolicy, obstacle
from nodus_providers.libvirt.inventory import HardwareRules, HostTexts, read_inventory
from nodus_providers.libvirt.units import groups_for, passed_devices
from nodusctl.provider.replies import Refused, Scope


def group_of(*nodes: Node) -> Group:
    (group,) = GpuHost(nodes=list(nodes)).inventory().groups
    return group


def why(*nodes: Node, policy: HostdevPolicy = HostdevPolicy.MANAGED) -> str:
    found = obstacle(group_of(*nodes), policy)
    return found.why if found is not None else ""


def test_a_card_with_its_audio_function_is_viable_whatever_drivers_they_have_where_libvirt_detaches() -> None:
    assert why(*card(1, driver="nvidia", audio="snd_hda_intel")) == ""
    assert why(*card(1, driver="", audio="")) == ""


def test_leave_on_vfio_wants_everything_on_vfio() -> None:
    left = HostdevPolicy.LEAVE_ON_VFIO
    assert why(*card(1, driver="vfio-pci", audio="vfio-pci"), policy=left) == ""
    assert f"{FIRST} is bound to nvidia" in why(*card(1, driver="nvidia"), policy=left)
    assert f"{FIRST} is bound to nothing" in why(*card(1), policy=left)


def test_bridges_are_neither_passed_nor_an_obstacle() -> None:
    nodes = [Node(address="0000:00:01.0", class_code=BRIDGE, ids="8086:1901", driver="pcieport", group=1), *card(1, audio="")]
    assert why(*nodes) == ""
    assert [str(one.address) for one in group_of(*nodes).passed] == [FIRST, FIRST_AUDIO]


def test_a_strange_device_without_a_driver_does_no_harm_and_is_not_passed() -> None:
    stranger = Node(address="0000:01:02.0", class_code=NETWORK, ids="8086:10d3", group=1)
    assert why(*card(1), stranger) == ""
    group = group_of(*card(1), stranger)
    assert [str(one.address) for one in group.passed] == [FIRST]
    assert [str(one.address) for one in group.endpoints] == [FIRST, "0000:01:02.0"], "yet nobody else may have it meanwhile"


def test_a_member_that_libvirt_does_not_list_is_an_obstacle() -> None:
    nodes = [*card(1), Node(address="0000:01:00.2", class_code=NETWORK, group=1)]
    (group,) = read_inventory(HostTexts(devices=(nodes[0].xml(nodes),))).groups
    found = obstacle(group, HostdevPolicy.MANAGED)
    assert found is not None and "0000:01:00.2" in found.why


def test_without_an_iommu_there_is_no_group_and_the_reason_says_so() -> None:
    assert "in no IOMMU group" in why(replace(card(1)[0], group=None))


def test_a_card_that_is_split_or_a_part_is_not_a_whole_one() -> None:
    gpu = card(1)[0]
    assert "is split into virtual functions: 0000:01:00.4" in why(replace(gpu, virtual=("0000:01:00.4",)))
    assert "virtual function of 0000:02:00.0" in why(replace(gpu, physical="0000:02:00.0"))


def test_a_launch_that_comes_too_late_is_refused_with_the_holder_and_its_scope() -> None:
    host = GpuHost(nodes=[*card(1), *card(2)], running=[domain("other", FIRST)])
    refused = groups_for(["iommu-1"], host.inventory())
    assert refused == Refused("DeviceBusy", Scope.DEVICE, f"{FIRST} held by domain other")
    found = groups_for(["iommu-2"], host.inventory())
    assert isinstance(found, tuple) and [str(one.address) for one in passed_devices(found)] == ["0000:02:00.0"]


def test_a_launch_on_a_group_that_is_gone_or_not_viable_is_refused() -> None:
    host = GpuHost(nodes=[*card(1, driver="nvidia")], rules=HardwareRules(policy=HostdevPolicy.LEAVE_ON_VFIO))
    gone, stuck = groups_for(["iommu-9"], host.inventory()), groups_for(["iommu-1"], host.inventory())
    assert isinstance(gone, Refused) and (gone.code, gone.scope) == ("Invalid", Scope.DEVICE)
    assert isinstance(stuck, Refused) and stuck.code == "DeviceGroupNotViable"
