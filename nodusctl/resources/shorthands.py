"""The short forms a person may write, turned into the long form that is validated and stored.

Only well-formed short forms are touched; anything else is left for validation to name at its place.
"""

from __future__ import annotations

import re
from typing import Any

_GPU = re.compile(r"(?P<type>[A-Za-z0-9][A-Za-z0-9._-]*)(?P<pin>!?)(?::(?P<count>[1-9][0-9]*))?(?P<late_pin>!?)\Z")


def expand(kind: str, spec: dict[str, Any]) -> dict[str, Any]:
    """``spec`` in long form; a new mapping where anything changed."""
    if kind not in ("Workspace", "Function"):
        return spec
    changed = dict(spec)
    if isinstance(secrets := spec.get("secrets"), list):
        changed["secrets"] = [{"name": entry} if isinstance(entry, str) else entry for entry in secrets]
    resources = spec.get("resources")
    if isinstance(resources, dict) and isinstance(gpu := resources.get("gpu"), str) and (found := parse_gpu(gpu)) is not None:
        changed["resources"] = {**resources, "gpu": found}
    return changed


def parse_gpu(text: str) -> dict[str, Any] | None:
    """``H100:8``, ``L4``, ``H100-SXM!`` as the long form; None if it is no short form."""
    found = _GPU.match(text)
    if found is None or (found["pin"] and found["late_pin"]):
        return None
    gpu: dict[str, Any] = {"type": [found["type"]]}
    if found["count"]:
        gpu["count"] = int(found["count"][:9])
    if found["pin"] or found["late_pin"]:
        gpu["exact"] = True
    return gpu
