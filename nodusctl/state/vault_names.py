"""Under which names sealed values lie in a state."""

from __future__ import annotations


def secret_value(uid: str, version: int, key: str) -> str:
    """One key of one version of a Secret: the base64 text of its bytes, which is also what its fingerprint is taken of."""
    return f"secret/{uid}/{version}/{key}"
