"""The graphics cards of this computer, as their vendors' tools report them, and by which catalog names they are offered.

Parsing is pure and apart from running: ``read_*`` take the tools' text. The surprise: a driver reports less memory than a card is sold
with (an "L4 24 GB" has 22.5 GiB), so the size is rounded up to the next size that cards are sold in.
"""

from __future__ import annotations

import csv
import json
import re
import subprocess
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from types import MappingProxyType
from typing import Any

from nodus_providers.local.kfd import users_by_card
from nodusctl.provider.offers import Accelerator

_GIB = 2**30
_TOOL_LIMIT_SECONDS = 15.0
_SIZES_GIB = (8, 10, 11, 12, 16, 20, 24, 32, 40, 48, 64, 80, 94, 96, 128, 141, 180, 186, 192, 256, 270, 288)
_MAKERS = frozenset(["nvidia", "amd", "geforce", "tesla", "instinct", "quadro"])
_NOISE = _MAKERS | {"server", "workstation", "edition", "generation", "blackwell", "gpu", "hbm2", "hbm2e", "hbm3", "hbm3e"}
_FORM = re.compile(r"(sxm|pcie|nvl|oam)\d?\Z")
_MEMORY = re.compile(r"(\d+)gb\Z")
# The form of a card whose product name doesn't say it; a family that isn't named here is sold in one form only.
_USUAL_FORM = {
    **dict.fromkeys(("h100", "h200", "b200", "b300"), "sxm"),
    **dict.fromkeys(("mi250x", "mi300x", "mi325x", "mi355x"), "oam"),
}
# Families whose form doesn't tell their sizes apart: the size is part of their catalog id.
_SEVERAL_SIZES = frozenset({"a100", "v100"})
_NVIDIA_CARDS = ("--query-gpu=index,uuid,name,memory.total,driver_version,pci.bus_id", "--format=csv,noheader,nounits")
_NVIDIA_APPS = ("--query-compute-apps=gpu_uuid,pid,process_name,used_memory", "--format=csv,noheader,nounits")
_ROCM_CARDS = ("--showproductname", "--showuniqueid", "--showmeminfo", "vram", "--showbus", "--json")

Find = Callable[[str], str | None]


@dataclass(frozen=True, slots=True, kw_only=True)
class Card:
    """One card. ``id`` is what the vendor's libraries call it (``GPU-…``); ``user`` a process that computes on it, or ""."""

    id: str
    vendor: str
    product: str
    memory_bytes: int
    index: int
    bus: str = ""
    user: str = ""
    user_pid: int = 0

    @property
    def size_gib(self) -> int:
        """The size the card is sold with."""
        named = [int(found[1]) for token in _tokens(self.product) if (found := _MEMORY.match(token))]
        seen = self.memory_bytes / _GIB
        return named[0] if named else next((size for size in _SIZES_GIB if size >= seen - 0.05), round(seen))

    @property
    def family(self) -> str:
        """What people ask for: ``h100``, ``rtx4090``, ``a6000``."""
        words = [token for token in _tokens(self.product) if token not in _NOISE and not _FORM.match(token) and not _MEMORY.match(token)]
        if words[:1] == ["rtx"] and len(words) > 1 and re.fullmatch(r"a\d{4}", words[1]):
            words = words[1:]
        return "".join(words)

    @property
    def form(self) -> str:
        """``sxm``, ``pcie``, ``nvl``, ``oam`` or ""."""
        named = [found[1] for token in _tokens(self.product) if (found := _FORM.match(token))]
        return named[0] if named else _USUAL_FORM.get(self.family, "")

    @property
    def accelerator(self) -> Accelerator:
        """The card as the catalog names it."""
        base = f"{self.family}-{self.form}" if self.form else self.family
        name = f"{base}-{self.size_gib}g" if self.family in _SEVERAL_SIZES else base
        return Accelerator(id=name, family=self.family, vendor=self.vendor, memory_bytes=self.size_gib * _GIB)

    def offer_id(self, count: int) -> str:
        """The offering of ``count`` such cards: ``l4-24g-x1-local``."""
        form = f"-{self.form}" if self.form else ""
        return f"{self.family}{form}-{self.size_gib}g-x{count}-local"


@dataclass(frozen=True, slots=True, kw_only=True)
class Inventory:
    """All cards, and what kept a tool that is installed from answering."""

    cards: tuple[Card, ...] = ()
    failures: tuple[str, ...] = ()


def inventory(find: Find) -> Inventory:
    """Ask the tools that are installed; ``find`` gives a program's path. Takes as long as they do, a second on some computers."""
    cards: list[Card] = []
    failures: list[str] = []
    for vendor_cards in (_nvidia, _amd):
        try:
            cards += vendor_cards(find)
        except (OSError, subprocess.SubprocessError, ValueError, KeyError, TypeError, AttributeError) as fault:
            failures.append(str(fault))
    return Inventory(cards=tuple(cards), failures=tuple(failures))


def read_nvidia(cards: str, apps: str) -> tuple[Card, ...]:
    """Read the answers to the two questions about cards and about processes. ValueError for anything else."""
    users = {row[0]: (int(row[1]), Path(row[2]).name) for row in _rows(apps) if len(row) >= 3 and row[1].isdigit()}
    found = []
    for row in _rows(cards):
        if len(row) != 6:
            raise ValueError(f"nvidia-smi: {' '.join(row)}")
        pid, name = users.get(row[1], (0, ""))
        user = f"process {pid} ({name})" if pid else ""
        size = int(row[3]) * 2**20
        found.append(
            Card(id=row[1], vendor="nvidia", product=row[2], memory_bytes=size, index=int(row[0]), bus=row[5], user=user, user_pid=pid)
        )
    return tuple(found)


def read_rocm(cards: str, users: Mapping[int, tuple[int, str]] = MappingProxyType({})) -> tuple[Card, ...]:
    """Read ``rocm-smi … --json``; ``users`` are processes that compute, by the unique id of their card."""
    found = []
    for name, card in sorted(json.loads(cards).items()):
        if not re.fullmatch(r"card\d+", name):
            continue
        product = card.get("Card Series") or card.get("Card series") or card["Device Name"]
        size = int(card["VRAM Total Memory (B)"])
        bus, index, unique_id = card.get("PCI Bus", ""), int(name[4:]), _unique_id(card["Unique ID"])
        one = Card(id=_amd_id(card["Unique ID"], index), vendor="amd", product=product, memory_bytes=size, index=index, bus=bus)
        found.append(_used_by(one, users.get(unique_id) if unique_id else None))
    return tuple(found)


def read_amd(cards: str, processes: str) -> tuple[Card, ...]:
    """Read ``amd-smi static --json`` and ``amd-smi process --json``."""
    users = {row["gpu"]: next(_amd_users(row), None) for row in _listed(processes)}
    found = []
    for row in _listed(cards):
        card = Card(
            id=_amd_id(row["asic"]["asic_serial"], int(row["gpu"])),
            vendor="amd",
            product=row["asic"]["market_name"],
            memory_bytes=int(row["vram"]["size"]["value"]) * 2**20,
            index=int(row["gpu"]),
            bus=row.get("bus", {}).get("bdf", ""),
        )
        found.append(_used_by(card, users.get(row["gpu"])))
    return tuple(found)


def visible_devices(cards: Sequence[Card]) -> dict[str, str]:
    """The variables by which programs see these cards and no others. Whoever unsets them sees all: this is no isolation.

    ROCm takes names in ROCR_VISIBLE_DEVICES only; HIP then counts what is left from 0.
    """
    nvidia = [card.id for card in cards if card.vendor == "nvidia"]
    amd = [card.id for card in cards if card.vendor == "amd"]
    found = {"CUDA_VISIBLE_DEVICES": ",".join(nvidia)} if nvidia else {}
    if amd:
        found |= {"ROCR_VISIBLE_DEVICES": ",".join(amd), "HIP_VISIBLE_DEVICES": ",".join(str(number) for number in range(len(amd)))}
    return found


def device_files(cards: Sequence[Card], root: Path = Path("/dev")) -> tuple[str, ...]:
    """The device files that programs on these cards open; the drivers keep one set for all cards."""
    vendors = {card.vendor for card in cards}
    found = sorted(str(path) for path in root.glob("nvidia*")) if "nvidia" in vendors else []
    return (*found, *(str(root / name) for name in ("kfd", "dri") if "amd" in vendors))


def _nvidia(find: Find) -> tuple[Card, ...]:
    tool = find("nvidia-smi")
    return read_nvidia(_said(tool, *_NVIDIA_CARDS), _said(tool, *_NVIDIA_APPS)) if tool else ()


def _amd(find: Find) -> tuple[Card, ...]:
    if tool := find("amd-smi"):
        return read_amd(_said(tool, "static", "--json"), _said(tool, "process", "--json"))
    tool = find("rocm-smi")
    return read_rocm(_said(tool, *_ROCM_CARDS), users_by_card()) if tool else ()


def _amd_id(said: str, index: int) -> str:
    """What ROCm calls a card: by its unique id, or by its number where its maker gave it none (``N/A``)."""
    return f"GPU-{said.removeprefix('0x').lower()}" if _unique_id(said) else str(index)


def _unique_id(said: str) -> int:
    return int(said, 16) if re.fullmatch(r"(0x)?[0-9a-fA-F]+", said) else 0


def _used_by(card: Card, user: tuple[int, str] | None) -> Card:
    return replace(card, user=f"process {user[0]} ({user[1]})", user_pid=user[0]) if user else card


def _said(*words: str) -> str:
    ended = subprocess.run(words, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=_TOOL_LIMIT_SECONDS, check=False)
    if ended.returncode != 0:
        raise ValueError(f"{Path(words[0]).name}: {(ended.stdout + ended.stderr).strip() or f'exit {ended.returncode}'}")
    return ended.stdout


def _rows(text: str) -> list[list[str]]:
    return [[cell.strip() for cell in row] for row in csv.reader(text.splitlines()) if row]


def _listed(text: str) -> list[dict[str, Any]]:
    """Newer versions of amd-smi wrap the list."""
    found = json.loads(text)
    return list(found.get("gpu_data", ())) if isinstance(found, dict) else list(found)


def _amd_users(row: dict[str, Any]) -> Iterator[tuple[int, str]]:
    for entry in row.get("process_list", ()):
        about = entry.get("process_info")
        if isinstance(about, dict) and "pid" in about:
            yield int(about["pid"]), Path(str(about["name"])).name


def _tokens(product: str) -> list[str]:
    return re.findall(r"[a-z0-9]+", product.lower())
