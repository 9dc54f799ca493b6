"""Which fields differ between two specs.

Lists of named things (env, secrets, sidecars, volumes) are compared by name, so that removing the first entry is one line and not all
of them, and their order is no difference. Other lists are one value each. A walk this small needs no diff library, and importing none
keeps an empty plan fast.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

_NAMING_KEYS = ("name", "mountPath")


@dataclass(frozen=True, slots=True)
class Difference:
    """One field: ``path`` as keys from the spec, names of list entries in brackets; None where it is absent on that side."""

    path: tuple[str, ...]
    before: Any
    after: Any

    @property
    def dotted(self) -> str:
        """``spec.env[HF_HOME].value``."""
        text = "spec"
        for step in self.path:
            text += step if step.startswith("[") else f".{step}"
        return text

    @property
    def field(self) -> tuple[str, ...]:
        """The path of the field as kinds declare it: from ``spec``, without names of list entries."""
        return ("spec", *(step for step in self.path if not step.startswith("[")))


def plain(value: Any) -> Any:
    """``value`` as dict and list, the one form in which specs from files and from the state can be compared."""
    if isinstance(value, Mapping):
        return {key: plain(inner) for key, inner in value.items()}
    if isinstance(value, (list, tuple)):
        return [plain(inner) for inner in value]
    return value


def differences(before: Mapping[str, Any], after: Mapping[str, Any]) -> tuple[Difference, ...]:
    """Fields that differ, sorted by path; empty for equal specs."""
    old, new = plain(before), plain(after)
    if old == new:
        return ()
    return tuple(sorted(_compared(by_name(old), by_name(new), ()), key=lambda one: one.dotted))


def by_name(value: Any) -> Any:
    """``value`` with each list of named things as a mapping from ``[name]`` to thing."""
    if isinstance(value, dict):
        return {key: by_name(inner) for key, inner in value.items()}
    if not isinstance(value, list):
        return value
    key = next((k for k in _NAMING_KEYS if value and all(isinstance(one, dict) and k in one for one in value)), "")
    if key and len({one[key] for one in value}) == len(value):
        return {f"[{one[key]}]": by_name(one) for one in value}
    return [by_name(inner) for inner in value]


def _compared(old: Any, new: Any, path: tuple[str, ...]) -> Iterator[Difference]:
    if _is_walked(old, new):
        for key in {**(old or {}), **(new or {})}:
            yield from _compared((old or {}).get(key), (new or {}).get(key), (*path, key))
    elif old != new:
        yield Difference(path, _as_written(old), _as_written(new))


def _is_walked(old: Any, new: Any) -> bool:
    """Two mappings are compared key by key; so are named things of which one side has none."""
    sides = [side for side in (old, new) if side is not None]
    if not all(isinstance(side, dict) for side in sides):
        return False
    return len(sides) == 2 or any(_is_named(side) for side in sides)


def _is_named(value: Any) -> bool:
    return isinstance(value, dict) and bool(value) and all(key.startswith("[") for key in value)


def _as_written(value: Any) -> Any:
    """Named things as the list they are in the file."""
    if _is_named(value):
        return [_as_written(inner) for inner in value.values()]
    return {key: _as_written(inner) for key, inner in value.items()} if isinstance(value, dict) else value
