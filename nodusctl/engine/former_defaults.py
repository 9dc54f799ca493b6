"""The defaults of a spec that was applied before, as they follow from it today: so that a new default is no change of anybody's."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any


def former_defaults(kind: str, applied: Mapping[str, Any]) -> Mapping[str, Any]:
    """A spec that was applied before, with defaults as they follow from it today; as it is where today's rules refuse it."""
    from nodusctl.resources.decode import canonical_spec, read_spec
    from nodusctl.resources.defaults import with_defaults
    from nodusctl.resources.kinds import KINDS

    model, _ = read_spec(KINDS[kind], dict(applied))
    return applied if model is None else canonical_spec(with_defaults(kind, model))
