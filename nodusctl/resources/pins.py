"""Pins that no machine can satisfy: an offering that names another accelerator, count or region than the spec asks for.

Only what an offering's own id says is compared (``<gpu>[-<form>]-<vram>g-x<count>-<region>`` or ``cpu-<vcpu>c-<memory>g-<region>``); an
id of another form is left to placement.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

from nodusctl.documents.document import FieldPath
from nodusctl.resources.faulting import Fault
from nodusctl.resources.shorthands import parse_gpu

_GPU_ID = re.compile(r"(?P<gpu>[a-z0-9]+(?:-[a-z0-9]+)*?)-(?P<vram>[0-9]+)g-x(?P<count>[0-9]+)-(?P<region>[a-z][a-z0-9-]*)\Z")
_CPU_ID = re.compile(r"cpu-[0-9]+c-[0-9]+g-(?P<region>[a-z][a-z0-9-]*)\Z")


def contradictory_pins(spec: Mapping[str, Any]) -> Iterator[Fault]:
    """One fault if every pinned offering contradicts the spec, with the contradiction of the first."""
    placement, resources = spec.get("placement"), spec.get("resources")
    offerings = placement.get("offerings") if isinstance(placement, dict) else None
    if (
        not isinstance(placement, dict)
        or not isinstance(offerings, list)
        or not offerings
        or not all(isinstance(entry, str) for entry in offerings)
    ):
        return
    gpu = resources.get("gpu") if isinstance(resources, dict) else None
    gpu = parse_gpu(gpu) if isinstance(gpu, str) else gpu
    regions = placement.get("regions")
    found = [
        _contradiction(offering, gpu if isinstance(gpu, dict) else None, regions if isinstance(regions, list) else [])
        for offering in offerings
    ]
    if not all(found) or found[0] is None:
        return
    words, field = found[0]
    yield Fault(
        reason="Invalid",
        summary="The pinned offerings contradict the rest of the spec.",
        detail=f"{offerings[0][:80]!r} {words}.",
        fix="Remove the pin, or make both agree.",
        paths=(("spec", "placement", "offerings"), field),
    )


def _contradiction(offering: str, gpu: Mapping[str, Any] | None, regions: list[Any]) -> tuple[str, FieldPath] | None:
    of_gpu, of_cpu = _GPU_ID.match(offering), _CPU_ID.match(offering)
    parsed = of_gpu or of_cpu
    if parsed is None:
        return None
    if regions and parsed["region"] not in regions:
        return f"lies in region {parsed['region']}, which placement.regions leaves out", ("spec", "placement", "regions")
    if gpu is None:
        return None
    types = [entry for entry in gpu.get("type", []) if isinstance(entry, str)] if isinstance(gpu.get("type"), list) else []
    if of_gpu is None:
        return "has no accelerator, and resources.gpu asks for one", ("spec", "resources", "gpu")
    if types and not any(_may_match(entry, of_gpu["gpu"]) for entry in types):
        return f"has another accelerator than {', '.join(types)}", ("spec", "resources", "gpu", "type")
    count = gpu.get("count", 1)
    if isinstance(count, int) and count > int(of_gpu["count"]):
        return f"has {of_gpu['count']} accelerators in a machine, and {count} are asked for", ("spec", "resources", "gpu", "count")
    return None


def _may_match(asked: str, offered: str) -> bool:
    """False only where the names cannot mean the same model; the exact match is placement's."""
    asked_parts = asked.lower().replace("_", "-").split("-")
    offered_parts = offered.split("-")
    joined = "".join(offered_parts)
    return joined.startswith(asked_parts[0]) or "".join(asked_parts).startswith(offered_parts[0])
