"""Cards by their PCI ids: the shipped table against the catalog people ask by, and cards of the settings."""

from __future__ import annotations

import pytest
from support.gpu_host import ADA, FIRST, GIB, GpuHost, Node, card, domain, shape
from support.planning import NOW

from nodus_providers.libvirt.inventory import HardwareRules
from nodus_providers.libvirt.offers import offers_of
from nodus_providers.libvirt.pci import PciAddress
from nodus_providers.libvirt.pci_models import Model, known_models
from nodusctl.placement.accelerators import accelerator, is_known, matches
from nodusctl.placement.offering_ids import parse_offering_id
from nodusctl.provider.offers import Availability, OfferQuery

RAGE = "1002:5046"


@pytest.mark.parametrize("model", sorted(set(known_models().values()), key=str), ids=lambda one: one.offer_id(1))
def test_each_shipped_card_has_the_catalogs_id_and_is_found_by_its_family(model: Model) -> None:
    assert model.accelerator == accelerator(model.family, model.form, model.memory_gib, vendor=model.vendor)
    assert matches(model.family, model.accelerator)
    parsed = parse_offering_id(model.offer_id(4))
    assert parsed is not None and (parsed.family, parsed.form, parsed.memory_gib) == (model.family, model.form, model.memory_gib)


@pytest.mark.parametrize(
    ("ids", "offer_id", "word"),
    [
        ("10de:2330", "h100-sxm-80g-x1-local", "H100"),
        ("10de:2331", "h100-pcie-80g-x1-local", "H100-PCIE!"),
        ("10de:2335", "h200-sxm-141g-x1-local", "H200"),
        ("10de:20b2", "a100-sxm-80g-x1-local", "A100-80GB"),
        ("10de:20b0", "a100-sxm-40g-x1-local", "A100"),
        ("10de:27b8", "l4-24g-x1-local", "L4"),
        ("10de:26b9", "l40s-48g-x1-local", "L40S"),
        ("10de:2204", "rtx3090-24g-x1-local", "RTX 3090"),
        ("10de:2684", "rtx4090-24g-x1-local", "RTX-4090"),
        ("10de:2b85", "rtx5090-32g-x1-local", "GeForce RTX 5090"),
        ("1002:74a1", "mi300x-oam-192g-x1-local", "MI300X"),
    ],
)
def test_a_card_is_offered_by_the_name_people_ask_for(ids: str, offer_id: str, word: str) -> None:
    whole, offer = GpuHost(nodes=[*card(1, ids=ids)]).offers()
    assert (whole.id, offer.id) == ("cpu-16c-64g-local", offer_id)
    assert offer.accelerator is not None and matches(word, offer.accelerator) and is_known(offer.accelerator.family)
    assert str(offer.quote.rate_usd_per_hour if offer.quote else "") == "0.50"


def test_the_name_a_host_reports_decides_nothing() -> None:
    liar = Node(address=FIRST, ids=ADA, name="GH100 [H200 SXM 141GB]")
    assert [one.id for one in GpuHost(nodes=[liar]).offers()] == ["cpu-16c-64g-local", "rtx4090-24g-x1-local"]


def test_a_card_nobody_knows_is_not_offered_until_the_settings_name_it() -> None:
    host = GpuHost(nodes=[*card(1, ids=RAGE)])
    assert len(host.offers()) == 1
    host.rules = HardwareRules(models={RAGE: Model(family="rage128", memory_gib=1)})
    _, offer = host.offers()
    assert offer.id == "rage128-1g-x1-local"
    assert offer.accelerator is not None and offer.accelerator.memory_bytes == GIB and offer.accelerator.vendor == "amd"


def test_what_the_settings_say_of_a_card_wins() -> None:
    host = GpuHost(nodes=[*card(1, ids="10de:2d04")], rules=HardwareRules(models={"10de:2d04": Model(family="rtx5060ti", memory_gib=16)}))
    assert host.offers()[1].id == "rtx5060ti-16g-x1-local"


def test_an_excluded_card_is_not_offered() -> None:
    host = GpuHost(nodes=[*card(1), *card(2)], rules=HardwareRules(excluded=frozenset({PciAddress.parse(FIRST)})))
    assert [unit.id for unit in host.offers()[1].units] == ["iommu-2"]


def test_counts_follow_the_cards_and_availability_what_is_free() -> None:
    host = GpuHost(nodes=[node for number in range(1, 4) for node in card(number)], probe=["open|/dev/vfio/3|9|qemu-system-x86"])
    assert [(one.id, one.availability) for one in host.offers()[1:]] == [
        ("rtx4090-24g-x1-local", Availability.AVAILABLE),
        ("rtx4090-24g-x2-local", Availability.AVAILABLE),
    ]
    host.probe.append("open|/dev/vfio/2|8|qemu-system-x86")
    assert host.offers()[2].availability is Availability.SOLD_OUT


def test_a_host_without_a_rate_quotes_nothing() -> None:
    assert {one.quote for one in GpuHost(nodes=[*card(1)]).offers(rate=None)} == {None}


def test_memory_of_other_peoples_machines_is_not_offered() -> None:
    host = GpuHost(running=[domain("other", memory_gib=24), domain("nodus-lab", memory_gib=8, owner="workspace/lab")])
    (whole,) = host.offers()
    assert (whole.id, whole.memory_bytes) == ("cpu-16c-40g-local", 40 * GIB)


def test_a_query_narrows_what_is_offered() -> None:
    inventory = GpuHost(nodes=[*card(1), *card(2, ids="10de:27b8")]).inventory()
    asked = offers_of(shape(), inventory, NOW, OfferQuery(accelerator_families=("l4",)))
    assert [one.id for one in asked] == ["l4-24g-x1-local"]
    assert offers_of(shape(), inventory, NOW, OfferQuery(locations=("elsewhere",))) == ()


def test_cards_behind_nvswitches_are_offered_one_by_one() -> None:
    board = [node for number in range(1, 9) for node in card(number, ids="10de:2330")]
    assert [one.id[-8:] for one in GpuHost(nodes=board).offers()[1:]] == ["x1-local", "x2-local", "x4-local", "x8-local"]
    assert [one.has_nvlink for one in GpuHost(nodes=board).offers()[1:]] == [False, False, False, True]
    switch = Node(address="0000:c0:00.0", class_code="068000", ids="10de:22a3", group=60)
    assert [one.gpu_count for one in GpuHost(nodes=[*board, switch]).offers()[1:]] == [1]
