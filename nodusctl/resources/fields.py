"""How a kind declares its fields: one line each with description, default, rule and mutability.

From these declarations come decoding, JSON Schemas, ``explain`` and the mutability rules, so none of them can disagree.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final

from pydantic import BaseModel, ConfigDict, Field
from pydantic_core import PydanticCustomError

from nodusctl.resources.mutability import ChangeHint, Mutability

REQUIRED: Final = ...
_SPELLED = {"usd": "USD", "gpu": "GPU", "gib": "GiB"}


def camel(name: str) -> str:
    """The name in files of a Python name: ``max_cost_usd`` → ``maxCostUSD``, ``from_`` → ``from``."""
    first, *rest = name.rstrip("_").split("_")
    return first + "".join(_SPELLED.get(part, part[:1].upper() + part[1:]) for part in rest)


class SpecModel(BaseModel):
    """A part of a spec: frozen and closed; only the names of the file are accepted."""

    model_config = ConfigDict(frozen=True, extra="forbid", alias_generator=camel, validate_by_alias=True, validate_by_name=False)


class StatusModel(BaseModel):
    """A part of a status: frozen and closed; built by Python names or read by the names of the file."""

    model_config = ConfigDict(frozen=True, extra="forbid", alias_generator=camel, validate_by_alias=True, validate_by_name=True)

    def to_json(self) -> dict[str, Any]:
        """A plain dict with the names of the file and without empty fields."""
        return self.model_dump(mode="json", by_alias=True, exclude_none=True)


@dataclass(frozen=True, slots=True)
class FieldFacts:
    """What pydantic doesn't know about a field."""

    rule: str
    mutability: Mutability | None
    hint: ChangeHint | None


def spec_field(
    description: str,
    default: Any = None,
    *,
    factory: Callable[[], Any] | None = None,
    rule: str = "",
    mut: Mutability | None = None,
    hint: ChangeHint | None = None,
    **constraints: Any,
) -> Any:
    """Declare a field. ``default`` None means the field is left out; ``REQUIRED`` that it must be written.

    ``constraints`` are pydantic's (ge, le, min_length, max_length).
    """
    facts: Any = {"facts": FieldFacts(rule, mut, hint)}
    if factory is not None:
        return Field(default_factory=factory, description=description, json_schema_extra=facts, **constraints)
    return Field(default, description=description, json_schema_extra=facts, **constraints)


def refuse(reason: str, summary: str, detail: str = "", fix: str = "") -> PydanticCustomError:
    """The error a field's check raises: a registered reason, a summary without user data, what was seen, what to do."""
    return PydanticCustomError("refused", "{summary}", {"reason": reason, "summary": summary, "detail": detail, "fix": fix})
