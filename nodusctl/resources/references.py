"""Who names whom, whether the named exist, and an order in which everything comes after what it names.

Linear in objects and references, and without recursion, so that a chain of thousands is no special case.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from heapq import heapify, heappop, heappush
from typing import Any

from nodusctl.base.diagnostics import Diagnostic, error, in_order
from nodusctl.base.ids import Address
from nodusctl.base.nearest import nearest
from nodusctl.documents.document import FieldPath, dotted
from nodusctl.resources.resource import Resource

PERSON_KEY = Address("sshkey", "cli")
"""The SSHKey of the person at the command line, which always exists."""


@dataclass(frozen=True, slots=True)
class Reference:
    """One object names another in one field; ``field_path`` begins with ``spec`` and follows the long form."""

    from_address: Address
    field_path: FieldPath
    to_address: Address


def references_of(resource: Resource) -> tuple[Reference, ...]:
    """All references of one object, in the order of its fields. placement.offerings are checked by placement."""
    return tuple(Reference(resource.address, path, Address(kind, name)) for path, kind, name in _named_in(resource.kind, resource.spec))


def addresses_named(kind: str, spec: Mapping[str, Any]) -> frozenset[Address]:
    """What a stored spec of ``kind`` (``Workspace``) names, wherever it came from."""
    return frozenset(Address(target, name) for _, target, name in _named_in(kind, spec))


def _named_in(kind: str, spec: Mapping[str, Any]) -> Iterator[tuple[FieldPath, str, str]]:
    if kind not in ("Workspace", "Function"):
        return
    if volume := spec.get("volume"):
        yield ("spec", "volume"), "volume", volume
    for index, mount in enumerate(spec.get("volumes", ())):
        yield ("spec", "volumes", index, "volume"), "volume", mount["volume"]
    for index, name in enumerate(spec.get("imagePullSecrets", ())):
        yield ("spec", "imagePullSecrets", index), "secret", name
    yield from _env_secrets(spec.get("env", ()), ("spec", "env"))
    for index, mount in enumerate(spec.get("secrets", ())):
        yield ("spec", "secrets", index, "name"), "secret", mount["name"]
    for index, name in enumerate(spec.get("sshKeys", ())):
        yield ("spec", "sshKeys", index), "sshkey", name
    for index, sidecar in enumerate(spec.get("sidecars", ())):
        yield from _env_secrets(sidecar.get("env", ()), ("spec", "sidecars", index, "env"))
    if pool := spec.get("placement", {}).get("pool"):
        yield ("spec", "placement", "pool"), "pool", pool


def _env_secrets(env: Sequence[Mapping[str, Any]], base: FieldPath) -> Iterator[tuple[FieldPath, str, str]]:
    for index, variable in enumerate(env):
        if source := variable.get("valueFrom"):
            yield (*base, index, "valueFrom", "secretKeyRef", "name"), "secret", source["secretKeyRef"]["name"]


def check_references(resources: Iterable[Resource], known: Iterable[Address] = ()) -> tuple[Diagnostic, ...]:
    """NotFound (NoSSHKey for SSHKeys) for each named object that is neither among ``resources`` nor ``known`` to the state."""
    resources = tuple(resources)
    by_address = {resource.address: resource for resource in resources}
    exists = {*by_address, *known, PERSON_KEY}
    names: dict[str, list[str]] = defaultdict(list)
    for address in sorted(exists):
        names[address.kind].append(address.name)
    found: list[Diagnostic] = []
    for resource in resources:
        for reference in references_of(resource):
            if reference.to_address not in exists:
                found.append(_not_found(resource, reference, names[reference.to_address.kind]))
            elif (target := by_address.get(reference.to_address)) is not None:
                found.extend(_unfit(resource, reference, target))
    return in_order(found)


def _not_found(resource: Resource, reference: Reference, names: Sequence[str]) -> Diagnostic:
    target = reference.to_address
    close = nearest(target.name, names)
    detail = f"{resource.address} names {target}, which is in no file and not in the state."
    fix = f"Did you mean {close!r}?" if close else f"Add {target}, or remove the name."
    is_key = target.kind == "sshkey"
    code, summary = ("NoSSHKey", "A named SSHKey does not exist.") if is_key else ("NotFound", "A named object does not exist.")
    span = resource.field_span(reference.field_path)
    return error(code, summary, detail, fix, span=span, field=dotted(reference.field_path), address=str(resource.address))


def _unfit(resource: Resource, reference: Reference, target: Resource) -> Iterator[Diagnostic]:
    """A target that exists and can't serve: a home that isn't ReadWriteOnce, a pull secret that isn't Registry, a missing key."""
    path, summary, detail, fix = reference.field_path, "", "", ""
    if path == ("spec", "volume") and target.spec.get("accessMode") != "ReadWriteOnce":
        summary, detail = "A home Volume is not ReadWriteOnce.", f"{target.address} is {target.spec.get('accessMode')}."
        fix = "Name a Volume with accessMode ReadWriteOnce."
    elif path[1] == "imagePullSecrets" and target.spec.get("type") != "Registry":
        summary, detail, fix = (
            "A pull Secret is not of type Registry.",
            f"{target.address} is {target.spec.get('type')}.",
            "Name a Secret with type Registry.",
        )
    elif path[-2:] == ("secretKeyRef", "name") and target.material is not None:
        keys = target.material.keys
        wanted = _at(resource.spec, (*path[1:-1], "key"))
        if wanted not in keys:
            close = nearest(str(wanted), keys)
            path = (*path[:-1], "key")
            summary, detail = "A Secret has no such key.", f"{target.address} has the keys {', '.join(keys)}."
            fix = f"Did you mean {close!r}?" if close else ""
    if summary:
        code = "NotFound" if path[-1] == "key" else "Invalid"
        yield error(code, summary, detail, fix, span=resource.field_span(path), field=dotted(path), address=str(resource.address))


def _at(value: Any, path: FieldPath) -> object:
    for step in path:
        value = value[step]
    return value


@dataclass(frozen=True, slots=True)
class Ordered:
    """All resources, each after those it names; those of a cycle come last, and each cycle is a diagnostic."""

    resources: tuple[Resource, ...]
    diagnostics: tuple[Diagnostic, ...]


def in_dependency_order(resources: Iterable[Resource]) -> tuple[Resource, ...]:
    """Each resource after those it names; ties by kind and name, so the order never depends on the files."""
    return ordered(resources).resources


def ordered(resources: Iterable[Resource], references: Mapping[Address, Sequence[Address]] | None = None) -> Ordered:
    """The order and the cycles. ``references`` replaces the objects' own, for callers that know more edges."""
    by_address = {resource.address: resource for resource in resources}
    named = (
        references
        if references is not None
        else {address: [r.to_address for r in references_of(resource)] for address, resource in by_address.items()}
    )
    waits_for = {address: {target for target in named.get(address, ()) if target in by_address} for address in by_address}
    followers: dict[Address, list[Address]] = defaultdict(list)
    for address, targets in waits_for.items():
        for target in targets:
            followers[target].append(address)
    open_counts = {address: len(targets) for address, targets in waits_for.items()}
    free = [address for address, count in open_counts.items() if count == 0]
    heapify(free)
    order: list[Address] = []
    while free:
        address = heappop(free)
        order.append(address)
        for follower in followers[address]:
            open_counts[follower] -= 1
            if open_counts[follower] == 0:
                heappush(free, follower)
    placed = set(order)
    left = {
        address: sorted(target for target in targets if target not in placed)
        for address, targets in waits_for.items()
        if address not in placed
    }
    faults = [_cycle_fault(by_address[cycle[0]], cycle) for cycle in _cycles(left)]
    return Ordered(tuple(by_address[address] for address in (*order, *sorted(left))), in_order(faults))


def _cycles(left: Mapping[Address, Sequence[Address]]) -> Iterator[list[Address]]:
    """One cycle for each knot: from every unseen address, walk to the first open neighbour until one repeats."""
    seen: set[Address] = set()
    for start in sorted(left):
        walk: list[Address] = []
        positions: dict[Address, int] = {}
        current: Address | None = start
        while current is not None and current not in seen and current not in positions:
            positions[current] = len(walk)
            walk.append(current)
            current = left[current][0] if left.get(current) else None
        if current is not None and current in positions:
            yield walk[positions[current] :]
        seen.update(walk)


def _cycle_fault(resource: Resource, cycle: Sequence[Address]) -> Diagnostic:
    chain = " → ".join(str(address) for address in (*cycle, cycle[0]))
    return error(
        "Invalid",
        "Objects name each other in a circle.",
        f"{chain}.",
        "Remove one of these names.",
        span=resource.span,
        address=str(resource.address),
    )
