"""Offering ids: ``h100-sxm-80g-x8-us`` and ``cpu-4c-16g-us``. Equal shapes have equal ids at every provider.

The region class may itself hold a hyphen (``us-gov``), so an id is read from the left.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

_CPU = re.compile(r"cpu-(?P<vcpu>\d+)c-(?P<memory>\d+)g-(?P<region>[a-z0-9][a-z0-9-]*)\Z")
_GPU = re.compile(
    r"(?P<gpu>[a-z0-9]+)(?:-(?P<form>sxm|pcie|nvl|oam))?-(?P<memory>\d+)g-x(?P<count>\d+)-(?P<region>[a-z0-9][a-z0-9-]*)\Z",
)


@dataclass(frozen=True, slots=True, kw_only=True)
class OfferingId:
    """An offering id taken apart. ``family`` is empty for CPU; memory is per GPU, or the host's for CPU, in GiB."""

    family: str = ""
    form: str = ""
    memory_gib: int
    count: int = 0
    vcpu: int = 0
    region_class: str

    def __str__(self) -> str:
        if not self.family:
            return f"cpu-{self.vcpu}c-{self.memory_gib}g-{self.region_class}"
        form = f"-{self.form}" if self.form else ""
        return f"{self.family}{form}-{self.memory_gib}g-x{self.count}-{self.region_class}"


def parse_offering_id(text: str) -> OfferingId | None:
    """Take an id apart; None where it isn't of either form (a provider may name an offering in its own way)."""
    if found := _CPU.match(text):
        return OfferingId(memory_gib=int(found["memory"]), vcpu=int(found["vcpu"]), region_class=found["region"])
    if found := _GPU.match(text):
        return OfferingId(
            family=found["gpu"],
            form=found["form"] or "",
            memory_gib=int(found["memory"]),
            count=int(found["count"]),
            region_class=found["region"],
        )
    return None
