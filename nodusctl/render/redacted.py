"""JSON values with every string redacted, before they become text: a secret with a quote in it would be escaped past recognition after."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from nodusctl.base.redaction import clean


def redacted(value: Any) -> Any:
    """The same shape; keys are cleaned too."""
    if isinstance(value, str):
        return clean(value)
    if isinstance(value, Mapping):
        return {clean(str(key)): redacted(inner) for key, inner in value.items()}
    if isinstance(value, (list, tuple)):
        return [redacted(inner) for inner in value]
    return value
