"""Builds the value of one document and the places of its parts from a stream of events.

An explicit stack with a depth limit: no nesting in a file can exhaust ours. A wrong key takes its value out of the document
but never out of reading, so that faults inside it are still found.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from nodusctl.base.diagnostics import Diagnostic, Span, error
from nodusctl.documents.document import FieldPath, Place, dotted
from nodusctl.documents.scalars import resolve_plain

MAX_DEPTH = 64
MAX_ALIASED_VALUES = 10_000

Container = dict[str, object] | list[object]


class LimitReachedError(Exception):
    """Ends the reading of one file whose cost would grow beyond its size; the fault is already kept."""


@dataclass(slots=True)
class Frame:
    """A mapping or list that is still open. ``key`` None while a value is awaited means: read it and drop it."""

    value: Container
    place: Place
    anchor: str | None
    is_key: bool = False
    awaits_value: bool = False
    key: str | None = None
    key_line: int = 0
    key_column: int = 0


@dataclass(slots=True)
class Builder:
    """Local to the reading of one file; ``root`` holds the document that was closed last."""

    file: str
    faults: list[Diagnostic] = field(default_factory=list)
    root: tuple[object, Place] | None = None
    stack: list[Frame] = field(default_factory=list)
    anchors: dict[str, tuple[object, Place]] = field(default_factory=dict)
    aliased: int = 0

    def begin(self) -> None:
        """Start a document: anchors never reach into the next one."""
        self.root, self.anchors, self.aliased = None, {}, 0

    def open(self, value: Container, place: Place, anchor: str | None) -> None:
        """A mapping or list begins."""
        if len(self.stack) >= MAX_DEPTH:
            self.fault(place, "The file is nested too deeply.", f"At most {MAX_DEPTH} levels are read.")
            raise LimitReachedError
        is_key = self.expects_key()
        if is_key:
            self.refuse_key(place, "A key is a mapping or a list.", fix="Quote a text that begins with { or [.")
        self.stack.append(Frame(value, place, anchor, is_key))

    def close(self) -> None:
        """The innermost mapping or list ends."""
        frame = self.stack.pop()
        if frame.is_key:
            return
        if frame.anchor:
            self.anchors[frame.anchor] = (frame.value, frame.place)
        self.add(frame.value, frame.place)

    def scalar(self, text: str, place: Place, anchor: str | None, *, is_plain: bool) -> None:
        """A scalar, as key or as value."""
        if self.expects_key():
            self.key(text, place, is_plain=is_plain)
            return
        value = resolve_plain(text) if is_plain else text
        if anchor:
            self.anchors[anchor] = (value, place)
        self.add(value, place)

    def key(self, text: str, place: Place, *, is_plain: bool) -> None:
        """A key of the innermost mapping."""
        frame = self.stack[-1]
        fields = frame.place.fields or {}
        if is_plain and text == "<<":
            self.refuse_key(place, "A merge key is not allowed.", "Merge keys are no part of YAML 1.2.", "Write the keys out.")
        elif not text:
            self.refuse_key(place, "A key is empty.", "Every value needs a key.", "Write the key before the colon, or quote the text.")
        elif text in fields:
            detail = f"The key {text!r} stands already at line {fields[text].key_line}."
            self.refuse_key(place, "A key is written twice.", detail, "Keep one of the two.", name=text)
        else:
            frame.awaits_value, frame.key, frame.key_line, frame.key_column = True, text, place.line, place.column

    def refuse_key(self, place: Place, summary: str, detail: str = "A key is a text.", fix: str = "", *, name: str | None = None) -> None:
        """Keep the fault and drop the value that follows; ``name`` is the key that is written twice."""
        frame = self.stack[-1]
        frame.key = name
        self.fault(place, summary, detail, fix, code="Duplicate" if name else "Invalid")
        frame.awaits_value, frame.key = True, None

    def alias(self, name: str, place: Place) -> None:
        """An alias stands for what its anchor holds; both share one value, and the limit counts it each time."""
        if self.expects_key():
            self.refuse_key(place, "A key is an alias.", fix="Quote a text that begins with *.")
            return
        found = self.anchors.get(name)
        if found is None:
            self.fault(
                place, "An alias has no anchor before it.", f"No anchor &{name} ends before this place.", "Quote a text that begins with *."
            )
            self.add(None, place)
            return
        value, target = found
        self.aliased += target.size
        if self.aliased > MAX_ALIASED_VALUES:
            detail = f"Aliases may repeat at most {MAX_ALIASED_VALUES} values in a document."
            self.fault(place, "Aliases expand to too much.", detail, "Write the values out.")
            raise LimitReachedError
        self.add(value, Place(place.line, place.column, 0, 0, target.fields, target.entries, target.size))

    def add(self, value: object, place: Place) -> None:
        """A finished value goes into the innermost mapping or list, or becomes the document."""
        if not self.stack:
            self.root = (value, place)
            return
        frame = self.stack[-1]
        frame.place.size += place.size
        if isinstance(frame.value, list):
            frame.value.append(value)
            if frame.place.entries is not None:
                frame.place.entries.append(place)
            return
        frame.awaits_value = False
        if frame.key is not None and frame.place.fields is not None:
            place.key_line, place.key_column = frame.key_line, frame.key_column
            frame.value[frame.key] = value
            frame.place.fields[frame.key] = place

    def expects_key(self) -> bool:
        """True if the next event is a key of the innermost mapping."""
        return bool(self.stack) and not self.stack[-1].awaits_value and isinstance(self.stack[-1].value, dict)

    def fault(self, place: Place, summary: str, detail: str, fix: str = "", *, code: str = "Invalid") -> None:
        """Keep a fault at ``place``, with the field that is being read."""
        span = Span(self.file, place.line, place.column)
        self.faults.append(error(code, summary, detail, fix, span=span, field=dotted(self.path()[:8])))

    def path(self) -> FieldPath:
        """The field that is being read."""
        steps: list[str | int] = []
        for frame in self.stack:
            if isinstance(frame.value, list):
                steps.append(len(frame.value))
            elif frame.key is not None:
                steps.append(frame.key)
        return tuple(steps)
