"""By which catalog name a graphics card is offered: from its PCI ids, or from what the settings say of them.

The surprise: a display device that nobody named is not offered at all. On servers it is usually the management controller's own screen.
"""

from __future__ import annotations

import csv
import functools
import io
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path

from nodus_providers.libvirt.pci import AMD, NVIDIA, PciDevice
from nodusctl.provider.offers import Accelerator

_DATA = Path(__file__).parent / "data" / "gpus.csv"
_GIB = 2**30
_VENDORS = {NVIDIA: "nvidia", AMD: "amd", 0x8086: "intel"}
# Screens of management controllers and of virtual machines: ASPEED, Matrox, Bochs, Red Hat (virtio), VMware, Cirrus.
_SCREENS = frozenset({0x1A03, 0x102B, 0x1234, 0x1AF4, 0x1B36, 0x15AD, 0x1013})


@dataclass(frozen=True, slots=True, kw_only=True)
class Model:
    """A kind of card. ``memory_gib`` is of one device, as it is sold; ``form`` is "" where the family has one only."""

    family: str
    form: str = ""
    memory_gib: int
    accelerator_id: str = ""
    vendor: str = ""

    @property
    def accelerator(self) -> Accelerator:
        """The card as the catalog names it."""
        name = self.accelerator_id or (f"{self.family}-{self.form}" if self.form else self.family)
        return Accelerator(id=name, family=self.family, vendor=self.vendor, memory_bytes=self.memory_gib * _GIB)

    def offer_id(self, count: int) -> str:
        """The offering of ``count`` such cards: ``rtx4090-24g-x1-local``."""
        form = f"-{self.form}" if self.form else ""
        return f"{self.family}{form}-{self.memory_gib}g-x{count}-local"


@functools.lru_cache(maxsize=1)
def known_models() -> Mapping[tuple[int, int], Model]:
    """The shipped table, by vendor and product."""
    rows = csv.DictReader(io.StringIO(_DATA.read_text(encoding="utf-8")))
    return {
        (int(row["vendor"], 16), int(row["product"], 16)): Model(
            family=row["family"],
            form=row["form"],
            memory_gib=int(row["memory_gib"]),
            accelerator_id=row["accelerator"],
            vendor=_VENDORS[int(row["vendor"], 16)],
        )
        for row in rows
    }


def model_of(device: PciDevice, named: Mapping[str, Model] | None = None) -> Model | None:
    """The model of a display device; ``named`` are those of the settings, by ``vendor:product`` in hex, and win. None: not offered."""
    own = (named or {}).get(device.ids)
    if own is not None:
        return own if own.vendor else replace(own, vendor=_VENDORS.get(device.vendor, f"{device.vendor:04x}"))
    return known_models().get((device.vendor, device.product))


def is_screen(device: PciDevice) -> bool:
    """True for the display of a management controller or of a virtual machine: not being offered is what everybody expects of it."""
    return device.vendor in _SCREENS
