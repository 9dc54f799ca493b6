"""A Document is a plain value plus the place of every part of it.

Values are ``dict``, ``list``, ``str``, ``int``, ``bool``, ``None`` and, the one surprise, ``UnquotedNumber``: a scalar
without quotes that YAML readers turn into different numbers (``5.1``, ``3.10``, ``010``, ``1_000``). Keeping its text lets
the field that receives it say what was lost, instead of passing on 3.1.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import Enum

from nodusctl.base.diagnostics import Span

FieldPath = tuple[str | int, ...]


class Reading(Enum):
    """Why a number without quotes is not simply an integer."""

    FRACTION = "a decimal fraction"
    AMBIGUOUS = "a number that YAML readers disagree about"


@dataclass(frozen=True, slots=True)
class UnquotedNumber:
    """A number written without quotes that is no plain decimal integer; ``text`` is what stands in the file."""

    text: str
    reading: Reading

    def __str__(self) -> str:
        return self.text


@dataclass(slots=True)
class Place:
    """Where a value stands; ``line`` and ``column`` count from 1. ``size`` counts the values in it, itself included."""

    line: int
    column: int
    key_line: int = 0
    key_column: int = 0
    fields: dict[str, Place] | None = None
    entries: list[Place] | None = None
    size: int = 1

    def child(self, step: str | int) -> Place | None:
        """The place of one field or entry, or None where the file has none."""
        if isinstance(step, str):
            return self.fields.get(step) if self.fields else None
        return self.entries[step] if self.entries is not None and 0 <= step < len(self.entries) else None


@dataclass(frozen=True, slots=True)
class SourceFile:
    """One file as read: its path relative to the project (for people) and its text without a byte order mark."""

    path: str
    text: str = field(repr=False)


@dataclass(frozen=True, slots=True)
class Document:
    """One YAML document. ``value`` is plain and never contains a tag, an anchor or a merge key."""

    file: str
    value: object = field(repr=False)
    place: Place = field(repr=False)
    is_named: bool = False

    def nearest_place(self, path: FieldPath) -> tuple[Place, bool]:
        """The place of ``path`` or of its nearest written ancestor, and whether it stands for ``path`` itself.

        A scalar stands for everything asked below it: it is a short form of the whole.
        """
        place = self.place
        for step in path:
            inner = place.child(step)
            if inner is None:
                return place, place.fields is None and place.entries is None
            place = inner
        return place, True

    def span(self, path: FieldPath = (), *, key: bool = False) -> Span:
        """Where ``path`` stands; ``key`` asks for its key. A path that isn't written gives its nearest written ancestor.

        The ancestor is given by its key, because the fault is then about what it lacks.
        """
        place, is_written = self.nearest_place(path)
        if (key or not is_written) and place.key_line:
            return Span(self.file, place.key_line, place.key_column)
        return Span(self.file, place.line, place.column)

    def order_of(self, path: FieldPath) -> tuple[int, int]:
        """A sort key: the line and column of ``path``."""
        span = self.span(path)
        return span.line, span.column


def dotted(path: FieldPath) -> str:
    """``spec.env[0].name``; a key that is no plain word stands in brackets and quotes."""
    text = ""
    for step in path:
        if isinstance(step, int):
            text += f"[{step}]"
        elif step and all(character.isalnum() or character in "_-" for character in step):
            text += f".{step}" if text else step
        else:
            text += f'["{step}"]'
    return text
