"""Case 18 without a machine: on the test driver a plan after apply is empty, whatever holds the card, however the same is spelt."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from support import gpu_host
from support.gpu_host import FIRST, card, write_test_node
from support.planning import LAB, NOW, after, codes, market, plan, running, shown, workspace

from nodus_providers.libvirt.connection import NAMESPACE, Connection
from nodus_providers.libvirt.inventory import HardwareRules, HostTexts, read_inventory
from nodus_providers.libvirt.offers import offers_of
from nodus_providers.libvirt.records import MachineRecord, owner_in
from nodusctl.planner.world import Market
from nodusctl.provider.tokens import Ownership
from nodusctl.state.snapshot import Snapshot

SPEC = "ephemeral: true, resources: {gpu: RTX4090, cpu: 4, memory: 16Gi}, idleTimeout: 1h"
SPELLINGS = ('cpu: "4"', "cpu: 4000m"), ("memory: 16384Mi", "memory: 17179869184"), ("idleTimeout: 60m", "idleTimeout: 3600s")


@pytest.fixture
def connection(tmp_path: Path) -> Iterator[Connection]:
    """A host of the test driver with one card and its audio function."""
    pytest.importorskip("libvirt", reason="libvirt-python is not installed:  pip install 'nodusctl[libvirt]'")
    yield Connection(write_test_node(tmp_path / "node.xml", card(1, audio="snd_hda_intel")))


def seen(connection: Connection) -> tuple[Market, ...]:
    """What the provider offers of it now."""
    texts = HostTexts(
        devices=connection.pci_devices(),
        capabilities=gpu_host.capabilities(64),
        domains=connection.definitions(),
        probe=gpu_host.probe(),
        free_pages={},
        free_bytes={},
    )
    offers = offers_of(gpu_host.shape(), read_inventory(texts, HardwareRules(), owner_of=owner_in), NOW)
    return (market(*offers, instance="metal", is_own_hardware=True),)


def started(connection: Connection) -> None:
    """The machine that the apply made, as the provider would define and start it, with the card."""
    tags = Ownership(state_id="s", project="lab", object_uid="u", address=str(LAB), attempt_uid="a", owner="ada").tags()
    record = MachineRecord(
        id="m-00000000-000000000000",
        token="t",
        digest="d",
        name="nodus-lab-1",
        offer_id="o",
        image="i",
        tags=tags,
        created_at="2026-10-26T07:00:00Z",
        edge_seconds=60,
    )
    uuid = "6c1f6a52-3d0e-5b1a-9c57-0d9c5c2f4d12"
    mark = record.mark().replace("<machine ", f"<n:machine xmlns:n='{NAMESPACE}' ", 1).replace("</machine>", "</n:machine>")
    devices = "".join(
        f"<hostdev mode='subsystem' type='pci'><source><address domain='0' bus='1' slot='0' function='{number}'/></source></hostdev>"
        for number in (0, 1)
    )
    connection.define(
        f"<domain type='test'><name>nodus-lab-1</name><uuid>{uuid}</uuid><metadata>{mark}</metadata><memory unit='MiB'>512</memory>"
        f"<vcpu>4</vcpu><os><type arch='i686'>hvm</type></os><devices>{devices}</devices></domain>"
    )
    connection.start(uuid)


def applied_and_running(connection: Connection) -> Snapshot:
    made = plan(workspace(spec=SPEC), markets=seen(connection))
    assert codes(made) == [] and made.actions[0].terms[0].unit_ids == ("iommu-1",)
    started(connection)
    return running(after(made), LAB)


def test_case_18_a_plan_after_apply_is_empty_three_times_with_the_card_in_use(connection: Connection) -> None:
    snapshot = applied_and_running(connection)
    (offer,) = [one for one in seen(connection)[0].offers if one.gpu_count]
    assert (offer.units[0].holder, FIRST in offer.units[0].devices) == (str(LAB), True), "its own machine has the card"
    for _ in range(3):
        again = plan(workspace(spec=SPEC), snapshot=snapshot, markets=seen(connection))
        assert (shown(again), codes(again), again.due) == ({}, [], ())


@pytest.mark.parametrize("spelling", [other for others in SPELLINGS for other in others])
def test_case_18_another_spelling_of_the_same_is_no_change(connection: Connection, spelling: str) -> None:
    snapshot = applied_and_running(connection)
    field = spelling.partition(":")[0]
    before = next(part for part in ("cpu: 4", "memory: 16Gi", "idleTimeout: 1h") if part.startswith(field))
    again = plan(workspace(spec=SPEC.replace(before, spelling)), snapshot=snapshot, markets=seen(connection))
    assert (shown(again), codes(again)) == ({}, [])
