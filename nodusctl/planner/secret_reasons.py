"""Why a Workspace's secrets can't be given to it: a version or a key that isn't there, or a key that was to keep a value nobody stored.

Said at plan, because the same would otherwise be found out by a machine that already costs money.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from nodusctl.base.ids import Address
from nodusctl.plan.reasons import BlockingReason
from nodusctl.planner.drafts import Draft
from nodusctl.planner.world import World
from nodusctl.state.status import SecretStanding


@dataclass(frozen=True, slots=True, kw_only=True)
class _Coming:
    """A Secret as it will be: versions up to ``latest``, where ``is_open`` perhaps one more; ``keys`` of the latest."""

    stored: SecretStanding | None
    latest: int
    is_open: bool
    keys: frozenset[str]


def secret_reasons(drafts: Iterable[Draft], specs: Mapping[Address, Mapping[str, Any]], world: World) -> Iterator[BlockingReason]:
    """Reasons of the Secrets in this plan, then of the Workspaces and Functions that name them."""
    known = tuple(drafts)
    by_address = {one.address: one for one in known}
    for one in known:
        yield from _kept_nothing(one)
    for one in known:
        if one.address.kind in {"workspace", "function"} and one.action is not None:
            yield from _missing(one, by_address, world)


def _kept_nothing(one: Draft) -> Iterator[BlockingReason]:
    material = one.resource.material
    stored = one.standing.status.secret if one.standing is not None else None
    unknown = sorted((material.kept if material is not None else frozenset()) - set(stored.hmacs if stored is not None else ()))
    if unknown:
        are = "keys have" if len(unknown) > 1 else "key has"
        yield BlockingReason(
            code="Invalid",
            address=one.address,
            message=f"The {are} an empty value, which keeps what is stored, and nothing is stored: {', '.join(unknown)}.",
            fix=f"Store a value, or say under valueFrom where it is:\n  nodusctl secret set {one.address.name} {unknown[0]}",
            field=f"spec.data.{unknown[0]}",
        )


def _missing(one: Draft, drafts: Mapping[Address, Draft], world: World) -> Iterator[BlockingReason]:
    for index, mount in enumerate(one.desired.get("secrets") or ()):
        coming, version = _coming(str(mount["name"]), drafts, world), mount.get("version")
        if coming is not None and version is not None and not _has_version(coming, int(version)):
            yield _no_version(one.address, str(mount["name"]), int(version), coming, f"spec.secrets[{index}].version")
    for index, variable in enumerate(one.desired.get("env") or ()):
        selector = (variable.get("valueFrom") or {}).get("secretKeyRef")
        if selector is None:
            continue
        coming = _coming(str(selector["name"]), drafts, world)
        if coming is not None and selector["key"] not in coming.keys:
            yield _no_key(one.address, str(selector["name"]), str(selector["key"]), coming, f"spec.env[{index}].valueFrom.secretKeyRef.key")


def _coming(name: str, drafts: Mapping[Address, Draft], world: World) -> _Coming | None:
    """None for a Secret that is nowhere: that is said where references are checked."""
    address = Address("secret", name)
    draft, standing = drafts.get(address), world.snapshot.get(address)
    stored = standing.status.secret if standing is not None else None
    before = stored.version if stored is not None else 0
    if draft is None:
        keys = frozenset(stored.hmacs if stored is not None else ())
        return _Coming(stored=stored, latest=before, is_open=False, keys=keys) if standing is not None else None
    planned, material = world.secret_hmacs.get(address), draft.resource.material
    written = frozenset(material.keys if material is not None else ())
    live = {key for group in ("data", "stringData", "valueFrom") for key in draft.desired.get(group) or ()}
    is_changed = planned is not None and (stored is None or _differs(stored, planned, frozenset(live) | written))
    return _Coming(stored=stored, latest=before + is_changed, is_open=planned is None, keys=frozenset(live) | written)


def _differs(stored: SecretStanding, planned: Mapping[str, str], keys: frozenset[str]) -> bool:
    return bool(set(stored.hmacs) - keys) or any(stored.hmacs.get(key) != text for key, text in planned.items())


def _has_version(coming: _Coming, version: int) -> bool:
    if coming.stored is not None and version <= coming.stored.version:
        return coming.stored.keys_of(version) is not None
    return version == coming.latest or (coming.is_open and version == coming.latest + 1)


def _no_version(address: Address, name: str, version: int, coming: _Coming, field: str) -> BlockingReason:
    latest = f"its latest is {name}@{coming.latest}" if coming.latest else "it has none yet"
    return BlockingReason(
        code="NotFound",
        address=address,
        message=f"Secret {name} has no version {version}; {latest}.",
        fix="Write a version that is stored, or none, which takes the latest at each start.",
        field=field,
    )


def _no_key(address: Address, name: str, key: str, coming: _Coming, field: str) -> BlockingReason:
    keys = ", ".join(sorted(coming.keys)) or "none"
    return BlockingReason(
        code="NotFound",
        address=address,
        message=f"Secret {name} has no key {key}; its keys: {keys}.",
        fix=f"Write one of its keys, or store a value:\n  nodusctl secret set {name} {key}",
        field=field,
    )
