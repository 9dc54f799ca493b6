"""One byte form for a value, so that equal values have equal digests (RFC 8785 in spirit: sorted keys, no spaces, UTF-8)."""

from __future__ import annotations

import hashlib
import json


def canonical_json(value: object) -> str:
    """Compact JSON with sorted keys; floats are refused because money and sizes must be exact."""
    _refuse_floats(value)
    return json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=False, allow_nan=False)


def digest(value: object) -> str:
    """64 hex digits of SHA-256 over the canonical JSON of ``value``."""
    return hashlib.sha256(canonical_json(value).encode()).hexdigest()


def _refuse_floats(value: object) -> None:
    if isinstance(value, float):
        raise TypeError("a float has no canonical form here; use a string or an integer")
    if isinstance(value, dict):
        for inner in value.values():
            _refuse_floats(inner)
    elif isinstance(value, (list, tuple)):
        for inner in value:
            _refuse_floats(inner)
