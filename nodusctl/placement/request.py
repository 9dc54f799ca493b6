"""What one object needs of capacity, read from its spec; and pins in it that contradict each other.

The spec comes as the canonical mapping of a Workspace or a Function (objects.md field names). Pools and Volumes are
resolved by the caller, who knows them: ``providers`` and ``locations`` arrive as plain names.

The surprise: CPU work matches CPU offers only, never a GPU machine that happens to be free, unless an offering is pinned.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from nodusctl.base.money import Money
from nodusctl.base.quantities import quantity_milli, quantity_units, shown_bytes
from nodusctl.placement.accelerators import GIB, accelerator, is_known, matches, nearest_name, read_name, variants_of
from nodusctl.placement.offering_ids import OfferingId, parse_offering_id


class Interruptible(StrEnum):
    """``placement.interruptible``."""

    NEVER = "Never"
    ALLOW = "Allow"
    PREFER = "Prefer"


class Profile(StrEnum):
    """``placement.profile``."""

    BALANCED = "Balanced"
    COST = "Cost"
    SPEED = "Speed"


@dataclass(frozen=True, slots=True, kw_only=True)
class CapacityRequest:
    """Floors and pins of one machine. Empty tuples and zeros mean "any"; memory is in bytes, CPU in thousandths of a core.

    ``gpu_count`` 0 is CPU work. ``locations`` is where the disk of an existing Volume can be attached; ``tools`` are those the
    spec writes itself (a default tool removes no offer).
    """

    gpu_types: tuple[str, ...] = ()
    gpu_count: int = 0
    is_exact: bool = False
    needs_nvlink: bool = False
    min_gpu_memory_bytes: int = 0
    vcpu_milli: int = 0
    memory_bytes: int = 0
    disk_bytes: int = 0
    interruptible: Interruptible = Interruptible.NEVER
    max_rate: Money | None = None
    offerings: tuple[str, ...] = ()
    region_classes: tuple[str, ...] = ()
    pool: str = ""
    providers: tuple[str, ...] = ()
    profile: Profile = Profile.BALANCED
    locations: tuple[str, ...] = ()
    tools: tuple[str, ...] = ()
    egress_policy: str = ""

    @property
    def is_gpu(self) -> bool:
        """True if accelerators are asked for."""
        return self.gpu_count > 0


def request_from_spec(
    spec: Mapping[str, Any],
    *,
    providers: Sequence[str] = (),
    locations: Sequence[str] = (),
    written_tools: Sequence[str] = (),
) -> CapacityRequest:
    """Read the canonical spec of a Workspace or a Function.

    Args:
        spec: the ``spec`` mapping, already validated; quantities and amounts may be text or numbers of the kinds' own types.
        providers: provider names the Pool or the caller restricts to; empty means any.
        locations: where an existing Volume's disk is; empty for a Volume that has no place yet.
        written_tools: tools written in the file, not those added as defaults.
    """
    resources: Mapping[str, Any] = spec.get("resources") or {}
    placement: Mapping[str, Any] = spec.get("placement") or {}
    egress: Mapping[str, Any] = (spec.get("network") or {}).get("egress") or {}
    return CapacityRequest(
        **_gpu_fields(resources.get("gpu") or {}),
        vcpu_milli=quantity_milli(resources.get("cpu") or 0),
        memory_bytes=quantity_units(resources.get("memory") or 0),
        disk_bytes=quantity_units(resources.get("disk") or 0),
        interruptible=Interruptible(placement.get("interruptible") or Interruptible.NEVER),
        max_rate=_money(placement.get("maxRateUSDPerHour")),
        offerings=tuple(placement.get("offerings") or ()),
        region_classes=tuple(placement.get("regions") or ()),
        pool=placement.get("pool") or "",
        providers=tuple(providers),
        profile=Profile(placement.get("profile") or Profile.BALANCED),
        locations=tuple(locations),
        tools=tuple(written_tools),
        egress_policy=egress.get("policy") or "",
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class Contradiction:
    """Two pins of one spec that no offer can satisfy at once. ``field`` is dotted, under ``spec``; ``message`` a whole sentence."""

    field: str
    offering: str
    message: str


def contradictions(request: CapacityRequest) -> tuple[Contradiction, ...]:
    """Each pinned offering that the rest of the spec excludes, whatever is on sale (a silent pick would hide the mistake)."""
    found = (_against(request, text, index) for index, text in enumerate(request.offerings))
    return tuple(one for one in found if one is not None)


@dataclass(frozen=True, slots=True, kw_only=True)
class UnknownType:
    """A ``gpu.type`` entry the catalog can't place. ``nearest`` is the closest name, or the variants a pin could mean."""

    index: int
    word: str
    nearest: str
    is_ambiguous_pin: bool = False


def unknown_types(request: CapacityRequest) -> tuple[UnknownType, ...]:
    """GPU types that name no accelerator of the catalog, and pins of a family that has several variants."""
    found: list[UnknownType] = []
    for index, word in enumerate(request.gpu_types):
        named = read_name(word)
        variants = variants_of(named.family)
        if not is_known(word):
            near = ", ".join(card.id for card in variants) or nearest_name(word) or ""
            found.append(UnknownType(index=index, word=word, nearest=near))
        elif (request.is_exact or named.is_pinned) and not named.is_variant and len(variants) > 1:
            names = ", ".join(card.id for card in variants)
            found.append(UnknownType(index=index, word=word, nearest=names, is_ambiguous_pin=True))
    return tuple(found)


def _gpu_fields(gpu: Mapping[str, Any]) -> dict[str, Any]:
    if not gpu:
        return {}
    types = gpu.get("type") or ()
    return {
        "gpu_types": (types,) if isinstance(types, str) else tuple(types),
        "gpu_count": int(gpu.get("count") or 1),
        "is_exact": bool(gpu.get("exact")),
        "needs_nvlink": gpu.get("interconnect") == "NVLink",
        "min_gpu_memory_bytes": quantity_units(gpu.get("minMemory") or 0),
    }


def _money(value: object) -> Money | None:
    if value is None or isinstance(value, Money):
        return value
    return Money.parse(str(value))


def _against(request: CapacityRequest, text: str, index: int) -> Contradiction | None:
    pinned = parse_offering_id(text)
    if pinned is None:
        return None
    complaint = _gpu_complaint(request, pinned) if request.is_gpu else _floor_complaint(request, pinned)
    if not complaint and request.region_classes and pinned.region_class not in request.region_classes:
        complaint = f"is in region class {pinned.region_class}, and placement.regions allows {', '.join(request.region_classes)}"
    if not complaint:
        return None
    return Contradiction(field=f"placement.offerings[{index}]", offering=text, message=f"Offering {text} {complaint}.")


def _gpu_complaint(request: CapacityRequest, pinned: OfferingId) -> str:
    if not pinned.family:
        return "has no GPU, and resources.gpu asks for one"
    card = accelerator(pinned.family, pinned.form, pinned.memory_gib)
    if request.gpu_types and not any(matches(word, card, is_exact=request.is_exact) for word in request.gpu_types):
        return f"is {card.id}, and resources.gpu.type asks for {' or '.join(request.gpu_types)}"
    if pinned.count != request.gpu_count:
        return f"has {pinned.count} GPUs, and resources.gpu.count asks for {request.gpu_count}"
    if card.memory_bytes < request.min_gpu_memory_bytes:
        return f"has {pinned.memory_gib}Gi per GPU, and resources.gpu.minMemory asks for {shown_bytes(request.min_gpu_memory_bytes)}"
    return ""


def _floor_complaint(request: CapacityRequest, pinned: OfferingId) -> str:
    if pinned.family:
        return ""
    if pinned.vcpu * 1000 < request.vcpu_milli:
        return f"has {pinned.vcpu} cores, and resources.cpu asks for more"
    if pinned.memory_gib * GIB < request.memory_bytes:
        return f"has {pinned.memory_gib}Gi of memory, and resources.memory asks for {shown_bytes(request.memory_bytes)}"
    return ""
