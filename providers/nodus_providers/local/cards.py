"""Cards as exclusive units: who holds which, and taking them for a machine.

A claim is a file beside all provider instances of this user, one a card, that names the machine's folder. It counts while that machine
exists and hasn't ended, so nothing has to be given back. Processes of others that compute on a card hold it too. Two launches are kept
apart by a lock that is held from the look to the claim.
"""

from __future__ import annotations

import fcntl
import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path

from nodus_providers.local.folders import read_json, write_json
from nodus_providers.local.gpus import Card, Find, Inventory, inventory
from nodus_providers.local.guest import Guest
from nodusctl.base.diagnostics import Diagnostic, warning
from nodusctl.provider.offers import Availability, Offer, Unit
from nodusctl.provider.replies import Refused, Scope
from nodusctl.provider.requests import LaunchRequest

COUNTS = (1, 2, 4, 8)
_TOOLS = ("nvidia-smi", "amd-smi", "rocm-smi")
_VENDORS = (("0x10de", "nvidia-smi", "nvidia-smi nvidia-driver"), ("0x1002", "amd-smi rocm-smi", "rocm-smi"))
_ASK_THE_KERNEL = "See why:\n    dmesg | grep -iE 'nvrm|amdgpu'"
_INSTALL = "Run as root:\n    apt-get install "
_DISPLAY_CLASSES = ("0x0300", "0x0302", "0x0380")
_NOT_ISOLATION = (
    "Graphics cards are given to a machine by CUDA_VISIBLE_DEVICES or ROCR_VISIBLE_DEVICES. That is an agreement between programs, "
    "not isolation: a program that unsets it sees every card."
)


@dataclass(frozen=True, slots=True)
class Cards:
    """The cards of this computer for one provider instance; ``folder`` is shared by all instances of this user."""

    folder: Path
    find: Find

    def seen(self) -> Inventory:
        """Ask the vendors' tools now."""
        return inventory(self.find)

    def offers(self, whole: Offer, families: Sequence[str] = ()) -> Iterator[Offer]:
        """The offers of cards, each with every card of its kind as a unit; ``whole`` is the offer of this computer without cards."""
        kinds: dict[str, list[Card]] = {}
        for card in self.seen().cards:
            kinds.setdefault(card.offer_id(1), []).append(card)
        for cards in kinds.values():
            first = cards[0]
            if families and first.family not in families:
                continue
            units = tuple(Unit(id=card.id, devices=(card.id,), holder=self.holder(card)) for card in cards)
            free = sum(not unit.holder for unit in units)
            for count in (count for count in COUNTS if count <= len(cards)):
                yield replace(
                    whole,
                    id=first.offer_id(count),
                    accelerator=first.accelerator,
                    gpu_count=count,
                    has_nvlink=first.form == "sxm" and count > 1,
                    units=units,
                    availability=Availability.AVAILABLE if free >= count else Availability.SOLD_OUT,
                )

    def notes(self) -> tuple[str, ...]:
        """What a person should know where there are cards."""
        return (_NOT_ISOLATION,) if any(self.find(tool) for tool in _TOOLS) else ()

    def findings(self, buses: Path = Path("/sys/bus/pci/devices")) -> Iterator[Diagnostic]:
        """Cards that are there and can't be offered, each with the command that mends it."""
        for failure in self.seen().failures:
            detail = f"Its cards can't be offered: {' '.join(failure.split())}"
            yield warning(
                "ProviderNotReady", "A tool for graphics cards does not answer", detail, "See why:\n    dmesg | grep -iE 'nvrm|amdgpu'"
            )
        vendors = {_read(path / "vendor") for path in buses.glob("*") if _read(path / "class").startswith(_DISPLAY_CLASSES)}
        for number, tool, package in _VENDORS:
            if number in vendors and not any(self.find(name) for name in tool.split()):
                detail = f"This computer has a card that only {tool.replace(' ', ' or ')} can tell us about."
                yield warning(
                    "ProviderNotReady", "The tool for a graphics card is missing", detail, f"Run as root:\n    apt-get install {package}"
                )

    def holder(self, card: Card) -> str:
        """Who has the card: the address of a machine's owner, or a process of somebody else; "" where it is free."""
        claim = self._claim(card.id)
        if claim:
            return str(claim["holder"])
        return card.user

    @contextmanager
    def taken(self, request: LaunchRequest, machine: Path) -> Iterator[tuple[Card, ...] | Refused]:
        """The request's cards, claimed for ``machine`` as soon as its folder is there when the block ends; or why it can't have them."""
        if "-x" not in request.offer_id:
            yield ()
            return
        self.folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        lock = os.open(self.folder / ".lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        try:
            fcntl.flock(lock, fcntl.LOCK_EX)
            chosen = self._chosen(request)
            if isinstance(chosen, tuple):
                for card in chosen:
                    holder = request.tags.get("nodus-address") or machine.name
                    write_json(self.folder / f"{card.id}.json", {"machine": str(machine), "holder": holder})
            yield chosen
        finally:
            os.close(lock)

    def _chosen(self, request: LaunchRequest) -> tuple[Card, ...] | Refused:
        cards = [card for card in self.seen().cards if request.offer_id in {card.offer_id(count) for count in COUNTS}]
        count = next((count for count in COUNTS if cards and cards[0].offer_id(count) == request.offer_id), 0)
        if count > len(cards) or not count:
            return Refused("Invalid", message=f"this computer has no {request.offer_id}")
        by_id = {card.id: card for card in cards}
        if strange := [unit for unit in request.unit_ids if unit not in by_id]:
            return Refused("Invalid", Scope.DEVICE, f"this computer has no card {', '.join(strange)}")
        wanted = [by_id[unit] for unit in request.unit_ids] or [card for card in cards if not self.holder(card)][:count] or cards
        held = [f"{card.id} is held by {holder}" for card in wanted if (holder := self.holder(card))]
        if held or len(wanted) != count:
            return Refused("DeviceBusy", Scope.DEVICE, "; ".join(held) or f"{len(wanted)} of {count} cards are free")
        return tuple(wanted)

    def _claim(self, card_id: str) -> Mapping[str, str]:
        claim = read_json(self.folder / f"{card_id}.json")
        if not claim:
            return {}
        guest = Guest(Path(claim["machine"]))
        is_alive = guest.folder.is_dir() and not guest.ended() and (not guest.has_begun or guest.has_keeper())
        return claim if is_alive else {}


def _read(path: Path) -> str:
    try:
        return path.read_text(encoding="ascii").strip()
    except OSError:
        return ""
