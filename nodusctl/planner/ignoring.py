"""The project's ``ignore`` rules: fields whose differences are left alone, each with a reason, counted in the plan's last line.

An ignored field keeps its live value, so that apply does what the plan shows.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from nodusctl.base.ids import Address


@dataclass(frozen=True, slots=True, kw_only=True)
class Ignored:
    """One rule: ``path`` as keys under ``spec``; ``address`` None for every object."""

    path: tuple[str, ...]
    address: Address | None = None
    reason: str = ""


def parse_ignored(text: str, reason: str) -> Ignored:
    """Read ``spec.env`` or ``workspace/lab spec.env``; ValueError says what is right."""
    *named, path = text.split()
    steps = tuple(path.split("."))
    if len(named) > 1 or steps[0] != "spec" or len(steps) < 2:
        raise ValueError("an ignored path is spec.FIELD, with kind/name and a space before it for one object")
    return Ignored(path=steps[1:], address=Address.parse(named[0]) if named else None, reason=reason)


def with_ignored(
    desired: Mapping[str, Any], live: Mapping[str, Any], address: Address, rules: Iterable[Ignored]
) -> tuple[dict[str, Any], int]:
    """``desired`` with live values where a rule holds, and how many fields that kept."""
    result, kept = dict(desired), 0
    for rule in rules:
        if rule.address not in {None, address}:
            continue
        after = _kept(result, live, rule.path)
        kept += after != result
        result = after
    return result, kept


def _kept(desired: Mapping[str, Any], live: Mapping[str, Any], path: tuple[str, ...]) -> dict[str, Any]:
    key, *rest = path
    result = dict(desired)
    if rest and (isinstance(desired.get(key), Mapping) or isinstance(live.get(key), Mapping)):
        result[key] = _kept(desired.get(key) or {}, live.get(key) or {}, tuple(rest))
        return result
    if key in live:
        result[key] = live[key]
    else:
        result.pop(key, None)
    return result
