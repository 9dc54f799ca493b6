"""The values of the Secrets in the files: read where their file says, fingerprinted with the state's key, and forgotten.

A plan carries only the fingerprints. Apply reads the sources again, and other bytes mean that what was reviewed isn't what would be stored.
"""

from __future__ import annotations

import base64
from collections.abc import Iterable, Mapping

from nodusctl.base.diagnostics import Diagnostic, warning
from nodusctl.base.exits import UserError
from nodusctl.base.ids import Address
from nodusctl.base.redaction import REDACTOR
from nodusctl.ports.journal import Journal
from nodusctl.ports.secrets import SecretSource
from nodusctl.resources.resource import Resource
from nodusctl.state.snapshot import Snapshot


def read_values(resource: Resource, secrets: SecretSource) -> Mapping[str, bytes]:
    """Key → bytes of one Secret, keys that keep their stored value aside. UserError where a source can't be read."""
    material = resource.material
    if material is None:
        return {}
    values = {**material.literals, **{key: secrets.read(source) for key, source in material.sources.items()}}
    for value in values.values():
        REDACTOR.remember(value.decode("utf-8", "replace"))
    return values


def fingerprints(journal: Journal, values: Mapping[str, bytes]) -> Mapping[str, str] | None:
    """Key → keyed HMAC; None where this process has no key of the state."""
    found = {key: journal.fingerprint_secret(base64.b64encode(value).decode()) for key, value in sorted(values.items())}
    return None if any(not text for text in found.values()) else found


def planned_fingerprints(
    resources: Iterable[Resource], snapshot: Snapshot, journal: Journal, secrets: SecretSource
) -> tuple[Mapping[Address, Mapping[str, str]], tuple[Diagnostic, ...]]:
    """For every Secret whose values can be read now; a warning for each other, whose value is then taken at apply."""
    found: dict[Address, Mapping[str, str]] = {}
    warnings: list[Diagnostic] = []
    for resource in resources:
        if resource.material is None:
            continue
        try:
            hmacs = fingerprints(journal, read_values(resource, secrets))
        except UserError as fault:
            warnings += [
                warning(one.code, one.summary, one.detail, one.fix, span=resource.span, address=str(resource.address))
                for one in fault.diagnostics
            ]
            continue
        kept = _kept(resource, snapshot)
        if hmacs is not None and kept is not None:
            found[resource.address] = {**kept, **hmacs}
    return found, tuple(warnings)


def _kept(resource: Resource, snapshot: Snapshot) -> Mapping[str, str] | None:
    """Stored fingerprints of the keys written without a value; None where one of them isn't stored."""
    keys = resource.material.kept if resource.material is not None else frozenset()
    standing = snapshot.get(resource.address)
    known = standing.status.secret.hmacs if standing is not None and standing.status.secret is not None else {}
    return {key: known[key] for key in sorted(keys)} if keys <= set(known) else None
