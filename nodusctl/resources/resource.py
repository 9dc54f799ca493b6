"""A Resource is one object as its file means it: checked, in long form, with the places of its fields.

``written`` holds only what the file says, in canonical spelling; ``spec`` adds the defaults. Both are plain JSON values with
the names of the file, so they can be compared, stored and printed. Secret values are in neither: they travel in ``material``,
whose text form shows nothing.
"""

from __future__ import annotations

import base64
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from nodusctl.base.diagnostics import Span
from nodusctl.base.ids import Address
from nodusctl.documents.document import Document, FieldPath
from nodusctl.resources.fields import SpecModel


@dataclass(frozen=True, slots=True)
class ValueSource:
    """Where a secret value is read at apply time: exactly one of an environment variable, a file and a command."""

    env: str = ""
    file: str = ""
    command: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class SecretMaterial:
    """The values of one Secret as its file gives them: literal bytes, and the sources of the others. Never printed.

    ``kept`` are keys written without a value: what is stored for them stays.
    """

    literals: Mapping[str, bytes] = field(default_factory=dict, repr=False)
    sources: Mapping[str, ValueSource] = field(default_factory=dict, repr=False)
    kept: frozenset[str] = frozenset()

    @property
    def keys(self) -> tuple[str, ...]:
        """All key names, sorted."""
        return tuple(sorted({*self.literals, *self.sources, *self.kept}))

    def __reduce__(self) -> str:
        raise TypeError("secret values are not pickled")


@dataclass(frozen=True, slots=True, kw_only=True)
class Resource:
    """One object; ``source`` is its file relative to the project, ``span`` the place of its metadata.name."""

    address: Address
    kind: str
    name: str
    labels: Mapping[str, str]
    annotations: Mapping[str, str]
    written: Mapping[str, Any]
    spec: Mapping[str, Any]
    model: SpecModel
    source: str
    span: Span
    document: Document | None = field(default=None, repr=False, compare=False)
    material: SecretMaterial | None = field(default=None, repr=False, compare=False)

    def field_span(self, path: FieldPath = (), *, key: bool = False) -> Span:
        """Where ``path`` (it begins with ``spec`` or ``metadata``) stands in the file, else its nearest written ancestor."""
        return self.document.span(path, key=key) if self.document is not None else self.span

    def annotation(self, name: str) -> str | None:
        """The value of ``nodus.dev/<name>``."""
        return self.annotations.get(f"nodus.dev/{name}")


def decode_base64(text: str) -> bytes:
    """The bytes of a ``data`` value; ValueError if it is no base64."""
    return base64.b64decode(text, validate=True)
