"""Several hosts in one provider, of which one is silent: the others go on, and nothing of the silent one is concluded."""

from __future__ import annotations

from pathlib import Path

import pytest
from support import libvirt_host

from nodus_providers.libvirt.provider import LibvirtProvider
from nodusctl.provider.machines import Disk, DiskState
from nodusctl.provider.offers import OfferQuery
from nodusctl.provider.replies import Unknown
from nodusctl.provider.requests import DeleteDiskRequest, DiskRequest
from nodusctl.testing.conformance_hooks import a_context, done

pytestmark = pytest.mark.libvirt
KEY = "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIL0fAbmkVD1OgAWnXPXSAmeqhUdlwXjw5RKO/YsHE1uc"
SILENT = {"name": "far", "uri": "qemu+ssh://root@127.0.0.1:1/system", "hostKey": KEY}


@pytest.fixture
def provider(tmp_path: Path) -> LibvirtProvider:
    """This computer as two hosts, each with a folder of its own, after one that nobody answers at."""
    if reason := libvirt_host.why_not():
        pytest.skip(reason)
    settings = libvirt_host.settings(tmp_path / "first", name="first")
    (first,) = settings["hosts"]
    return LibvirtProvider.open(
        a_context(tmp_path), {**settings, "hosts": [SILENT, first, {**first, "name": "second", "folder": str(tmp_path / "second")}]}
    )


def a_disk(provider: LibvirtProvider, zone: str) -> Disk:
    return done(provider.create_disk(DiskRequest(token=f"nodus-{zone}", name=f"home-{zone}", size_bytes=2**30, zone=zone, tags={})))


def test_each_host_sells_under_its_name_and_holds_its_own_disks(provider: LibvirtProvider) -> None:
    offers = done(provider.offers(OfferQuery()))
    assert {offer.zone: offer.location.startswith(offer.zone) for offer in offers} == {"first": True, "second": True}
    first, second = a_disk(provider, "first"), a_disk(provider, "second")
    assert (first.location, second.location) == tuple(sorted(offer.location for offer in offers))
    assert [one.zone for one in done(provider.observe_disks([second.id, first.id]))] == ["second", "first"]
    assert done(provider.delete_disk(DeleteDiskRequest(token="away", disk_id=first.id))).state is DiskState.GONE
    states = [one.state for one in done(provider.observe_disks([first.id, second.id]))]
    assert states == [DiskState.GONE, DiskState.READY]


def test_what_an_answering_host_has_is_found_and_an_absence_is_not_concluded(provider: LibvirtProvider) -> None:
    disk = a_disk(provider, "second")
    assert done(provider.find("nodus-second")) == disk
    absent, listed = provider.find("nodus-of-nobody"), provider.list()
    assert isinstance(absent, Unknown) and "far" in absent.detail
    assert isinstance(listed, Unknown)
