"""From text to Documents, reading the events of libyaml one by one.

Events are read, not loaded values, because only there the quotes, anchors and tags of a scalar can still be seen; and reading
stops at a limit before the parser's own cost grows with the square of the nesting.

The surprise: libyaml is older than YAML 1.2 in one place and refuses ``{gpu: H100:8}``. A text it refuses for such a colon is
read again by the slower reader in Python, which knows better.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

from ruamel.yaml import YAML
from ruamel.yaml.cyaml import CParser  # type: ignore[attr-defined]
from ruamel.yaml.error import MarkedYAMLError, YAMLError
from ruamel.yaml.events import (
    AliasEvent,
    DocumentEndEvent,
    DocumentStartEvent,
    MappingStartEvent,
    ScalarEvent,
    SequenceStartEvent,
    StreamEndEvent,
)

from nodusctl.base.diagnostics import Diagnostic
from nodusctl.documents.building import Builder, LimitReachedError
from nodusctl.documents.document import Document, Place, SourceFile
from nodusctl.documents.faults import syntax_fault, unknown_syntax_fault

_SEPARATOR = re.compile(r"^---(?=\s|\Z)", re.MULTILINE)
_MAX_RESTARTS = 20
_MAX_SLOW_CHARACTERS = 64 * 1024


@dataclass(slots=True)
class _Reading:
    """What one stretch of a file gave; ``error_line`` is that of a syntax error, counted in the whole file."""

    documents: list[Document] = field(default_factory=list)
    faults: list[Diagnostic] = field(default_factory=list)
    error_line: int | None = None


def compose(source: SourceFile, *, is_named: bool = False) -> tuple[tuple[Document, ...], tuple[Diagnostic, ...]]:
    """All documents of one file and all faults in their form; after a syntax error, reading goes on at the next ``---``."""
    documents: list[Document] = []
    faults: list[Diagnostic] = []
    start, line_offset = 0, 0
    for _ in range(_MAX_RESTARTS):
        part = SourceFile(source.path, source.text[start:])
        reading = _read(part, line_offset, is_named=is_named)
        documents.extend(reading.documents)
        faults.extend(reading.faults)
        if reading.error_line is None:
            break
        following = next((at for at in _separators(source.text, start + 1) if _line_of(source.text, at) >= reading.error_line), None)
        if following is None:
            break
        start, line_offset = following, _line_of(source.text, following) - 1
    return tuple(documents), tuple(faults)


def _read(part: SourceFile, line_offset: int, *, is_named: bool) -> _Reading:
    """Read with libyaml, and again in Python where libyaml is known to be wrong."""
    reading, problem = _read_with(_fast_events, part, line_offset, is_named=is_named)
    if problem is not None and "unexpected ':'" in str(problem.problem) and len(part.text) <= _MAX_SLOW_CHARACTERS:
        return _read_with(_slow_events, part, line_offset, is_named=is_named)[0]
    return reading


def _read_with(
    events: Callable[[str], Iterator[Any]], part: SourceFile, line_offset: int, *, is_named: bool
) -> tuple[_Reading, MarkedYAMLError | None]:
    reading, builder = _Reading(), Builder(part.path)
    try:
        for _ in _documents(events(part.text), builder, line_offset + 1):
            if builder.root is not None:
                reading.documents.append(Document(part.path, builder.root[0], builder.root[1], is_named))
    except MarkedYAMLError as problem:
        fault = syntax_fault(part.path, part.text, line_offset, problem)
        reading.error_line = fault.span.line if fault.span else None
        reading.faults = [*builder.faults, fault]
        return reading, problem
    except (YAMLError, ValueError, RecursionError):
        builder.faults.append(unknown_syntax_fault(part.path, line_offset + 1))
    except LimitReachedError:
        pass
    reading.faults = builder.faults
    return reading, None


def _documents(events: Iterator[Any], builder: Builder, first_line: int) -> Iterator[None]:
    """Feed the builder; each yield means that a document is whole."""
    for event in events:
        mark = event.start_mark
        place = Place(mark.line + first_line, mark.column + 1)
        match event:
            case ScalarEvent():
                _refuse_tag(event, builder, place)
                builder.scalar(event.value, place, event.anchor, is_plain=event.style in ("", None))
            case MappingStartEvent():
                _refuse_tag(event, builder, place)
                place.fields = {}
                builder.open({}, place, event.anchor)
            case SequenceStartEvent():
                _refuse_tag(event, builder, place)
                place.entries = []
                builder.open([], place, event.anchor)
            case AliasEvent():
                builder.alias(event.anchor, place)
            case DocumentStartEvent():
                builder.begin()
            case DocumentEndEvent():
                yield
            case _:
                if builder.stack:
                    builder.close()


def _refuse_tag(event: Any, builder: Builder, place: Place) -> None:
    if event.tag is not None:
        builder.fault(
            place,
            "A YAML tag is not allowed.",
            "Types come from the field, not from tags.",
            "Remove the tag, or quote a text that begins with !.",
        )


def _fast_events(text: str) -> Iterator[Any]:
    parser = CParser(text)
    while True:
        event = parser.get_event()
        yield event
        if isinstance(event, StreamEndEvent):
            return


def _slow_events(text: str) -> Iterator[Any]:
    reader: Any = YAML(typ="safe", pure=True)
    return iter(reader.parse(text))


def _separators(text: str, start: int) -> Iterator[int]:
    return (found.start() for found in _SEPARATOR.finditer(text, start))


def _line_of(text: str, position: int) -> int:
    return text.count("\n", 0, position) + 1
