"""What libvirt and QEMU said when starts failed, on real hosts and on an emulated one, and what that means."""

from __future__ import annotations

import pytest

from nodus_providers.libvirt.refusals import refusal_of_start
from nodusctl.provider.replies import Refused, Scope


@pytest.mark.parametrize(
    ("message", "code", "scope"),
    [
        ("PCI device 0000:08:00.0 is in use by driver QEMU, domain f", "DeviceBusy", Scope.DEVICE),
        (
            "vfio 0000:07:00.0: group 18 is not viable\nPlease ensure all devices within the iommu_group are bound",
            "DeviceGroupNotViable",
            Scope.DEVICE,
        ),
        ("Unmanaged PCI device 0000:07:00.0 must be manually detached from the host", "DeviceGroupNotViable", Scope.DEVICE),
        ("vfio /sys/bus/pci/devices/0000:55:00.0: no such host device", "DeviceGroupNotViable", Scope.DEVICE),
        ("Non-endpoint PCI devices cannot be assigned to guests", "DeviceGroupNotViable", Scope.DEVICE),
        ("VFIO_MAP_DMA failed: Cannot allocate memory", "CapacityUnavailable", Scope.ZONE),
        ("cannot limit locked memory of process 4711 to 68719476736: Operation not permitted", "CapacityUnavailable", Scope.ZONE),
        ("unable to map backing store for guest RAM: Cannot allocate memory", "CapacityUnavailable", Scope.ZONE),
        ("Could not open '/srv/card.rom': Permission denied", "Unavailable", Scope.ZONE),
    ],
)
def test_a_refusal_says_where_else_a_start_may_be_tried(message: str, code: str, scope: Scope) -> None:
    refused = refusal_of_start(message, "Unavailable", "gpu1")
    assert (refused.code, refused.scope) == (code, scope)
    assert " ".join(message.split()) in refused.message


def test_words_that_mean_nothing_in_particular_are_shown_with_the_host() -> None:
    found = refusal_of_start("internal error:\n  process exited", "ProviderNotReady", "gpu1")
    assert found == Refused("ProviderNotReady", Scope.ZONE, "the machine could not be started on gpu1: internal error: process exited")
