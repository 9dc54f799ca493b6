"""Graphics cards from what the vendors' tools say: names, sizes, offers, holders, and what a machine is given."""

from __future__ import annotations

import json
import shlex
import subprocess
from dataclasses import replace
from pathlib import Path

import pytest
from machine_kit import MachineKit

from nodus_providers.local.gpus import Card, read_amd, read_nvidia, read_rocm, visible_devices
from nodus_providers.local.kfd import users_by_card
from nodusctl.placement.accelerators import matches
from nodusctl.placement.offering_ids import parse_offering_id
from nodusctl.provider.machines import Machine
from nodusctl.provider.offers import Availability, Offer, OfferQuery
from nodusctl.provider.replies import Refused, Scope
from nodusctl.provider.requests import LaunchRequest
from nodusctl.testing.conformance_hooks import done

RECORDED = Path(__file__).parent / "recorded"
L4S = ("GPU-7d3a2f6e-8c41-5b7a-9a53-1f0c6f0e4b11", "GPU-5b0c9a8e-2f1d-5f44-8d0e-6a2b7c9d3e22")
H100 = "GPU-e1f2d3c4-b5a6-5978-8a6b-5c4d3e2f1a33"


def recorded(name: str) -> str:
    return (RECORDED / name).read_text()


@pytest.mark.parametrize(
    ("product", "mib", "offer_id", "accelerator", "asked"),
    [
        ("NVIDIA L4", 23034, "l4-24g-x1-local", "l4", "L4"),
        ("NVIDIA L40S", 46068, "l40s-48g-x1-local", "l40s", "L40S"),
        ("Tesla T4", 15360, "t4-16g-x1-local", "t4", "T4"),
        ("Tesla V100-SXM2-16GB", 16160, "v100-sxm-16g-x1-local", "v100-sxm-16g", "V100"),
        ("NVIDIA A10G", 23028, "a10g-24g-x1-local", "a10g", "A10G"),
        ("NVIDIA A100-SXM4-40GB", 40960, "a100-sxm-40g-x1-local", "a100-sxm-40g", "A100"),
        ("NVIDIA A100 80GB PCIe", 81920, "a100-pcie-80g-x1-local", "a100-pcie-80g", "A100-80GB"),
        ("NVIDIA H100 80GB HBM3", 81559, "h100-sxm-80g-x1-local", "h100-sxm", "H100-SXM!"),
        ("NVIDIA H100 PCIe", 81559, "h100-pcie-80g-x1-local", "h100-pcie", "H100"),
        ("NVIDIA H100 NVL", 95830, "h100-nvl-94g-x1-local", "h100-nvl", "H100"),
        ("NVIDIA H200", 143771, "h200-sxm-141g-x1-local", "h200-sxm", "H200"),
        ("NVIDIA B200", 183359, "b200-sxm-180g-x1-local", "b200-sxm", "B200"),
        ("NVIDIA RTX A6000", 49140, "a6000-48g-x1-local", "a6000", "A6000"),
        ("NVIDIA RTX 6000 Ada Generation", 49140, "rtx6000ada-48g-x1-local", "rtx6000ada", "RTX 6000 Ada"),
        ("NVIDIA RTX PRO 6000 Blackwell Server Edition", 97887, "rtxpro6000-96g-x1-local", "rtxpro6000", "RTX PRO 6000"),
        ("NVIDIA GeForce RTX 4090", 24564, "rtx4090-24g-x1-local", "rtx4090", "RTX-4090"),
        ("NVIDIA GeForce RTX 3080 Ti", 12288, "rtx3080ti-12g-x1-local", "rtx3080ti", "rtx3080ti"),
        ("AMD Instinct MI300X OAM", 196592, "mi300x-oam-192g-x1-local", "mi300x-oam", "MI300X"),
        ("AMD Instinct MI210", 65520, "mi210-64g-x1-local", "mi210", "MI210"),
    ],
)
def test_a_card_is_offered_by_the_name_and_size_it_is_sold_under(
    product: str, mib: int, offer_id: str, accelerator: str, asked: str
) -> None:
    card = Card(id="GPU-1", vendor="any", product=product, memory_bytes=mib * 2**20, index=0)
    assert (card.offer_id(1), card.accelerator.id) == (offer_id, accelerator)
    assert matches(asked, card.accelerator)
    assert str(parse_offering_id(offer_id)) == offer_id


def test_a_laptops_card_is_another_card() -> None:
    laptop = Card(id="GPU-1", vendor="nvidia", product="NVIDIA GeForce RTX 4090 Laptop GPU", memory_bytes=16376 * 2**20, index=0)
    assert laptop.offer_id(1) == "rtx4090laptop-16g-x1-local"


def test_nvidia_cards_are_read_with_the_processes_that_compute_on_them() -> None:
    cards = read_nvidia(recorded("nvidia-smi-gpus-2xl4-1xh100.csv"), recorded("nvidia-smi-apps.csv"))
    assert [(card.id, card.index, card.user) for card in cards] == [
        (L4S[0], 0, ""),
        (L4S[1], 1, "process 48213 (python3.11)"),
        (H100, 2, ""),
    ]


def test_amd_cards_are_read_from_either_tool() -> None:
    by_rocm = read_rocm(recorded("rocm-smi-2xmi300x.json"))
    assert [(card.id, card.offer_id(2)) for card in by_rocm] == [
        ("GPU-3a5c1e7f90b2d4a6", "mi300x-oam-192g-x2-local"),
        ("GPU-8e1f2d3c4b5a6978", "mi300x-oam-192g-x2-local"),
    ]
    (card,) = read_amd(recorded("amd-smi-static-mi210.json"), recorded("amd-smi-process.json"))
    assert (card.id, card.offer_id(1), card.user) == ("GPU-5f4e3d2c1b0a9988", "mi210-64g-x1-local", "process 7311 (python3)")


def test_a_process_with_memory_on_an_amd_card_holds_it_and_one_that_only_looked_does_not(tmp_path: Path) -> None:
    """The kernel's driver keeps a file for every card beside every process that opened it."""
    driver, processes = tmp_path / "kfd", tmp_path / "proc"
    for node, gpu_id, unique_id in (("0", "0", "0"), ("1", "51545", str(0x3A5C1E7F90B2D4A6)), ("2", "2043", str(0x8E1F2D3C4B5A6978))):
        folder = driver / "topology" / "nodes" / node
        folder.mkdir(parents=True)
        (folder / "gpu_id").write_text(f"{gpu_id}\n")
        (folder / "properties").write_text(f"cpu_cores_count 0\nunique_id {unique_id}\n")
    for pid, name, first, second in ((7311, "python3", 0, 4096), (8000, "rocm-smi", 0, 0)):
        (driver / "proc" / str(pid) / "queues").mkdir(parents=True)
        (driver / "proc" / str(pid) / "vram_51545").write_text(f"{first}\n")
        (driver / "proc" / str(pid) / "vram_2043").write_text(f"{second}\n")
        (processes / str(pid)).mkdir(parents=True)
        (processes / str(pid) / "comm").write_text(f"{name}\n")
    users = users_by_card(driver, processes)
    assert [card.user for card in read_rocm(recorded("rocm-smi-2xmi300x.json"), users)] == ["", "process 7311 (python3)"]
    assert users_by_card(tmp_path / "nowhere") == {}


def test_amd_cards_without_an_id_of_their_own_are_told_apart_by_number() -> None:
    text = recorded("rocm-smi-2xmi300x.json").replace("0x3a5c1e7f90b2d4a6", "N/A").replace("0x8e1f2d3c4b5a6978", "N/A")
    cards = read_rocm(text)
    assert [card.id for card in cards] == ["0", "1"]
    assert visible_devices(cards[1:])["ROCR_VISIBLE_DEVICES"] == "1"


def test_rocm_is_told_cards_by_name_and_hip_by_what_is_left() -> None:
    cards = read_rocm(recorded("rocm-smi-2xmi300x.json"))
    assert visible_devices(cards) == {"ROCR_VISIBLE_DEVICES": "GPU-3a5c1e7f90b2d4a6,GPU-8e1f2d3c4b5a6978", "HIP_VISIBLE_DEVICES": "0,1"}


def with_tools(tmp_path: Path, cards: str, apps: str = "", status: int = 0) -> MachineKit:
    """A kit on a computer whose nvidia-smi says what was recorded."""
    tools = tmp_path / "tools"
    tools.mkdir(exist_ok=True)
    for name, text in (("cards", cards), ("apps", apps)):
        (tools / name).write_text(text)
    script = f'#!/bin/sh\ncase "$1" in --query-gpu*) cat {shlex.quote(str(tools))}/cards;; *) cat {shlex.quote(str(tools))}/apps;; esac\n'
    (tools / "nvidia-smi").write_text(f"{script}exit {status}\n")
    (tools / "nvidia-smi").chmod(0o755)
    return MachineKit(tmp_path, programs=[str(tools)])


def card_offers(kit: MachineKit, *families: str) -> dict[str, Offer]:
    offers = done(kit.provider.offers(OfferQuery(accelerator_families=families)))
    return {offer.id: offer for offer in offers if offer.accelerator is not None}


def test_cards_are_offered_by_ones_twos_and_more_with_each_card_as_a_unit(tmp_path: Path) -> None:
    kit = with_tools(tmp_path, recorded("nvidia-smi-gpus-2xl4-1xh100.csv"), recorded("nvidia-smi-apps.csv"))
    offers = card_offers(kit)
    assert list(offers) == ["l4-24g-x1-local", "l4-24g-x2-local", "h100-sxm-80g-x1-local"]
    assert [(unit.id, unit.holder) for unit in offers["l4-24g-x2-local"].units] == [(L4S[0], ""), (L4S[1], "process 48213 (python3.11)")]
    assert offers["l4-24g-x1-local"].availability is Availability.AVAILABLE
    assert offers["l4-24g-x2-local"].availability is Availability.SOLD_OUT
    assert list(card_offers(kit, "h100")) == ["h100-sxm-80g-x1-local"]


def test_notes_say_that_cards_are_not_isolated(tmp_path: Path) -> None:
    kit = with_tools(tmp_path, recorded("nvidia-smi-gpus-desktop.csv"))
    assert any("not isolation" in note for note in kit.provider.describe().notes)


def test_a_driver_that_does_not_answer_is_a_finding_and_no_offer(tmp_path: Path) -> None:
    kit = with_tools(tmp_path, recorded("nvidia-smi-no-driver.txt"), status=9)
    assert card_offers(kit) == {}
    (finding,) = [finding for finding in kit.provider.check() if "graphics" in finding.summary]
    assert "communicate with the NVIDIA driver" in finding.detail
    assert "dmesg" in finding.fix


def test_a_card_without_its_tool_is_a_finding(tmp_path: Path) -> None:
    kit = MachineKit(tmp_path)
    device = tmp_path / "bus" / "0000:01:00.0"
    device.mkdir(parents=True)
    (device / "vendor").write_text("0x10de\n")
    (device / "class").write_text("0x030000\n")
    (finding,) = kit.provider._cards.findings(buses=tmp_path / "bus")
    assert "apt-get install" in finding.fix


def a_launch(kit: MachineKit, offer: Offer, token: str, *units: str, address: str = "workspace/lab") -> LaunchRequest:
    request = kit.a_request(token)
    return replace(request, offer_id=offer.id, unit_ids=units, tags={**request.tags, "nodus-address": address})


@pytest.mark.local
def test_a_machine_sees_its_cards_and_nobody_else_gets_them_until_it_ends(tmp_path: Path) -> None:
    kit = with_tools(tmp_path, recorded("nvidia-smi-gpus-2xl4-1xh100.csv"))
    offer = card_offers(kit)["l4-24g-x1-local"]
    try:
        machine: Machine = done(kit.provider.launch(a_launch(kit, offer, "nodus-first", L4S[1])))
        said = subprocess.run(kit.login(machine, "echo $CUDA_VISIBLE_DEVICES"), capture_output=True, text=True, check=True).stdout
        assert said.strip() == L4S[1]
        assert {unit.id: unit.holder for unit in card_offers(kit)["l4-24g-x2-local"].units} == {L4S[0]: "", L4S[1]: "workspace/lab"}
        refused = kit.provider.launch(a_launch(kit, offer, "nodus-second", L4S[1], address="workspace/other"))
        assert isinstance(refused, Refused)
        assert (refused.code, refused.scope, "workspace/lab" in refused.message) == ("DeviceBusy", Scope.DEVICE, True)
        kit.release(machine.id)
        assert not any(unit.holder for unit in card_offers(kit)["l4-24g-x2-local"].units)
    finally:
        kit.clear()


@pytest.mark.local
def test_another_instance_of_this_user_respects_a_claim(tmp_path: Path) -> None:
    kit = with_tools(tmp_path, recorded("nvidia-smi-gpus-desktop.csv"))
    other = MachineKit(tmp_path, programs=[str(tmp_path / "tools")], root="elsewhere")
    (offer,) = card_offers(kit).values()
    try:
        done(kit.provider.launch(a_launch(kit, offer, "nodus-first")))
        refused = other.provider.launch(a_launch(other, offer, "nodus-second"))
        assert isinstance(refused, Refused)
        assert refused.code == "DeviceBusy"
    finally:
        kit.clear()
        other.clear()


def test_recordings_are_what_they_say_they_are() -> None:
    for path in RECORDED.glob("*.json"):
        json.loads(path.read_text())
