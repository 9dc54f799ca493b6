"""Which version of each Secret an Attempt gets: the one written, else the one it got before, else the latest.

A version is pinned for the Attempt. Only a refresh that was asked for moves a running session to the latest; a push for any other
reason (a login key that changed) brings the same versions again.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from nodusctl.lifecycle.situation import Situation
from nodusctl.lifecycle.wanted import is_asked
from nodusctl.state.requests import REFRESH_REQUEST


@dataclass(frozen=True, slots=True, kw_only=True)
class Pin:
    """One Secret at one version. ``keys`` None means that this version isn't stored."""

    name: str
    uid: str
    version: int
    keys: tuple[str, ...] | None


def pin_of(situation: Situation, name: str) -> Pin | None:
    """The pin of one Secret by name; None where the Secret is not in the state."""
    facts = situation.secrets.get(name)
    if facts is None:
        return None
    version = _written_version(situation, name) or _pinned_before(situation, name) or facts.version
    return Pin(name=name, uid=facts.uid, version=version, keys=facts.keys.get(version))


def missing_secret(situation: Situation) -> str:
    """Why this Workspace can't get its secrets, in words; empty where it can."""
    for name, key in _named(situation):
        pin = pin_of(situation, name)
        if pin is None:
            return f"its Secret {name} is not in the state, or has no value yet"
        if pin.keys is None:
            return f"its Secret {name} has no version {pin.version}"
        if key and key not in pin.keys:
            return f"its Secret {name}@{pin.version} has no key {key}"
    return ""


def _written_version(situation: Situation, name: str) -> int:
    """The version its mount names. A variable takes the same one, so that one Attempt never sees two versions of a Secret."""
    mounts: tuple[Mapping[str, Any], ...] = tuple(situation.record.spec.get("secrets") or ())
    return next((int(mount.get("version") or 0) for mount in mounts if mount["name"] == name), 0)


def _pinned_before(situation: Situation, name: str) -> int:
    pushed = situation.attempt.pushed_versions if situation.attempt is not None else None
    return 0 if pushed is None or is_asked(situation, REFRESH_REQUEST) else pushed.get(name, 0)


def _named(situation: Situation) -> Iterator[tuple[str, str]]:
    """Secrets the spec names, with the key where one is named."""
    for mount in situation.record.spec.get("secrets") or ():
        yield str(mount["name"]), ""
    for variable in situation.record.spec.get("env") or ():
        selector = (variable.get("valueFrom") or {}).get("secretKeyRef")
        if selector is not None:
            yield str(selector["name"]), str(selector["key"])
