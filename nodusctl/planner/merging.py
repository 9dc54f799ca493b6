"""The three-way merge: the file now, the file as last applied, and the live spec give the desired one.

* A field the file writes is desired as written.
* A field that was in the file and no longer is goes back to its default.
* A field the file never wrote is left alone, whatever a verb did to it; only a default that follows from another field moves with it.

The surprise: defaults of a newer nodusctl are not merged in. A field absent from the live spec stays absent, so an upgrade is no change.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any

from nodusctl.planner.diff import plain

_ABSENT: Any = object()
_NOTHING: Mapping[str, Any] = MappingProxyType({})


@dataclass(frozen=True, slots=True, kw_only=True)
class _Sides:
    """One mapping of the spec as each side has it. ``former`` holds the defaults that follow from the file as last applied."""

    written: Mapping[str, Any] = field(default_factory=lambda: _NOTHING)
    applied: Mapping[str, Any] = field(default_factory=lambda: _NOTHING)
    live: Mapping[str, Any] = field(default_factory=lambda: _NOTHING)
    defaults: Mapping[str, Any] = field(default_factory=lambda: _NOTHING)
    former: Mapping[str, Any] = field(default_factory=lambda: _NOTHING)

    def at(self, key: str) -> _Sides:
        """The mappings one level down."""
        return _Sides(
            written=_mapping(self.written, key),
            applied=_mapping(self.applied, key),
            live=_mapping(self.live, key),
            defaults=_mapping(self.defaults, key),
            former=_mapping(self.former, key),
        )

    def follows(self, key: str) -> bool:
        """True where a default is another one because the file changed elsewhere."""
        return bool(self.defaults.get(key, _ABSENT) != self.former.get(key, _ABSENT))


def desired_spec(
    *,
    written: Mapping[str, Any],
    applied: Mapping[str, Any] | None,
    live: Mapping[str, Any],
    defaults: Mapping[str, Any],
    former_defaults: Callable[[], Mapping[str, Any]],
) -> dict[str, Any]:
    """The spec apply should leave behind, as dict and list.

    ``defaults`` is ``written`` with defaults filled in. ``former_defaults`` gives ``applied`` with defaults as they are computed today;
    it is called only when the file changed.
    """
    sides = _Sides(written=plain(written), applied=plain(applied or _NOTHING), live=plain(live))
    if sides.written == sides.applied:
        return _merged(sides)
    former = plain(former_defaults())
    return _merged(_Sides(written=sides.written, applied=sides.applied, live=sides.live, defaults=plain(defaults), former=former))


def desired_texts(written: Mapping[str, str], applied: Mapping[str, str], live: Mapping[str, str]) -> dict[str, str]:
    """The same for labels and annotations, which have no defaults."""
    return _merged(_Sides(written=dict(written), applied=dict(applied), live=dict(live)))


def _merged(sides: _Sides) -> dict[str, Any]:
    keys = dict.fromkeys([*sides.live, *sides.written, *(key for key in sides.defaults if sides.follows(key))])
    wanted = {key: _field(key, sides) for key in keys}
    return {key: value for key, value in wanted.items() if value is not _ABSENT}


def _field(key: str, sides: _Sides) -> Any:
    if key in sides.written:
        value = sides.written[key]
        return _merged(sides.at(key)) if isinstance(value, dict) else value
    if key in sides.applied:
        return _back_to_default(key, sides)
    if sides.follows(key) and sides.live.get(key, _ABSENT) == sides.former.get(key, _ABSENT):
        return sides.defaults.get(key, _ABSENT)
    return sides.live.get(key, _ABSENT)


def _back_to_default(key: str, sides: _Sides) -> Any:
    """Inside a mapping that left the file, what the file never wrote is still left alone."""
    default = sides.defaults.get(key, _ABSENT)
    if not isinstance(sides.applied[key], dict) or not isinstance(sides.live.get(key), dict):
        return default
    return _merged(sides.at(key)) or default


def _mapping(source: Mapping[str, Any], key: str) -> Mapping[str, Any]:
    inner = source.get(key)
    return inner if isinstance(inner, dict) else _NOTHING
