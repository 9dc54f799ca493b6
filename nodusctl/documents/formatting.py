"""Canonical YAML: two spaces a level, list items under their key, one space in flow mappings, nothing at line ends; comments stay.

Every plain scalar travels as the text it is, so ``010``, ``5.10`` and ``2026-01-01T08:00:00Z`` come out as they went in. The surprise:
the result is trusted only after it was read again. A file whose values or comments would come out different is left exactly as it was,
with a warning, because no layout is worth a lost comment.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from io import StringIO
from typing import Any

from ruamel.yaml import YAML
from ruamel.yaml.error import YAMLError
from ruamel.yaml.resolver import VersionedResolver
from ruamel.yaml.tokens import CommentToken, ScalarToken

from nodusctl.base.diagnostics import Diagnostic, Span, warning
from nodusctl.documents.composing import compose
from nodusctl.documents.document import SourceFile
from nodusctl.documents.reading import read_source

_NULL = re.compile(r"(?:~|null|Null|NULL|)\Z")
_UNLIMITED_WIDTH = 1_000_000
_MOST_PASSES = 4


@dataclass(frozen=True, slots=True)
class Formatted:
    """``text`` is the file's text in canonical form, or as it was where ``diagnostics`` say why."""

    text: str
    diagnostics: tuple[Diagnostic, ...] = ()


def format_yaml(path: str, content: bytes) -> Formatted:
    """One file. Faults of its form come back as diagnostics, and then nothing is changed. Formatting twice changes nothing more."""
    source, faults = read_source(path, content)
    if source is None:
        return Formatted(content.decode("utf-8", "replace"), faults)
    documents, faults = compose(source, is_named=True)
    if faults or not documents:
        return Formatted(source.text, faults)
    formatted = _settled(source.text)
    if formatted is None or not _says_the_same(source, SourceFile(path, formatted)):
        return Formatted(source.text, (_left_alone(path),))
    return Formatted(formatted)


def _settled(text: str) -> str | None:
    """The form that formatting no longer changes; None where there is none, or the round trip fails."""
    for _ in range(_MOST_PASSES):
        try:
            after = _once(text)
        except (YAMLError, ValueError, TypeError, AttributeError, AssertionError, IndexError):
            return None
        if after == text:
            return after
        text = after
    return None


def _once(text: str) -> str:
    reader = _round_trip()
    documents = list(reader.load_all(text.replace("\r\n", "\n")))
    reader.explicit_start = text.lstrip().startswith("---")
    page = StringIO()
    reader.dump_all(documents, page)
    return _tidy(page.getvalue().removesuffix("...\n"))


def _tidy(text: str) -> str:
    """Comments two blanks after what they stand behind, or at a level of their neighbours; no blanks at line ends, no two empty lines."""
    layout = _layout_of(text)
    lines = text.split("\n")
    kept: list[str] = []
    for number, line in enumerate(lines):
        if number in layout.inside_scalars:
            kept.append(line)
            continue
        column = layout.comments.get(number)
        if line.lstrip().startswith("#"):
            kept.append(" " * _level(lines, number, layout) + line.strip())
        elif column is not None and line[:column].strip() and line[column - 1 :].lstrip().startswith("#"):
            kept.append(f"{line[:column].rstrip()}  {line[column:].rstrip()}")
        elif line.strip() or not kept or kept[-1].strip():
            kept.append(line.rstrip())
    return "\n".join(kept).strip("\n") + "\n"


@dataclass(frozen=True, slots=True)
class _Layout:
    """By line from 0: the column of a comment, and lines that are the inside of a scalar, whose blanks are content."""

    comments: dict[int, int]
    inside_scalars: frozenset[int]


def _layout_of(text: str) -> _Layout:
    comments: dict[int, int] = {}
    inside: set[int] = set()
    for token in _round_trip().scan(text):
        if isinstance(token, ScalarToken) and token.end_mark.line > token.start_mark.line:
            last = token.end_mark.line if token.end_mark.column else token.end_mark.line - 1
            inside.update(range(token.start_mark.line + (0 if token.style in ("'", '"', None, "") else 1), last + 1))
        comments.update((one.start_mark.line, one.start_mark.column) for one in _held(token))
    return _Layout(comments, frozenset(inside))


def _level(lines: list[str], number: int, layout: _Layout) -> int:
    """The indentation of a comment line: what it has, kept between that of the content after it and of the content before it."""
    own = len(lines[number]) - len(lines[number].lstrip())
    before = next((found for found in reversed(lines[:number]) if _is_content(found)), "")
    after = next((found for found in lines[number + 1 :] if _is_content(found)), "")
    levels = sorted(len(found) - len(found.lstrip()) for found in (before, after))
    return min(max(own, levels[0]), levels[1])


def _is_content(line: str) -> bool:
    return bool(line.strip()) and not line.lstrip().startswith("#") and not line.startswith("---")


def _round_trip() -> Any:
    reader: Any = YAML(typ="rt", pure=True)
    reader.Resolver = _TextResolver
    reader.preserve_quotes = True
    reader.width = _UNLIMITED_WIDTH
    reader.allow_duplicate_keys = True
    reader.indent(mapping=2, sequence=2, offset=0)
    return reader


class _TextResolver(VersionedResolver):
    """Takes every plain scalar for text; only what means null stays null."""

    @property
    def versioned_resolver(self) -> dict[str | None, list[tuple[str, re.Pattern[str]]]]:
        rule = ("tag:yaml.org,2002:null", _NULL)
        return {first: [rule] for first in ("~", "n", "N", "")}


def _says_the_same(before: SourceFile, after: SourceFile) -> bool:
    former, _ = compose(before, is_named=True)
    later, faults = compose(after, is_named=True)
    same_values = [_exact(one.value) for one in former] == [_exact(one.value) for one in later]
    return not faults and same_values and sorted(_comments(before.text)) == sorted(_comments(after.text))


def _exact(value: object) -> object:
    """A value with its types and the order of its keys, so that ``1`` isn't taken for ``true``."""
    if isinstance(value, dict):
        return [("mapping", key, _exact(inner)) for key, inner in value.items()]
    if isinstance(value, list):
        return ["list", *(_exact(inner) for inner in value)]
    return type(value).__name__, value


def _comments(text: str) -> Iterator[str]:
    """The comments' words, found by the scanner of the pure reader: a ``#`` in a text is none."""
    for token in _round_trip().scan(text):
        for one in _held(token):
            yield from (line.strip() for line in str(one.value).splitlines() if line.strip().startswith("#"))


def _held(token: Any) -> Iterator[Any]:
    """The comment tokens that hang on another token, in lists in lists."""
    waiting = [token if isinstance(token, CommentToken) else getattr(token, "_comment", None)]
    while waiting:
        one = waiting.pop()
        if isinstance(one, (list, tuple)):
            waiting.extend(one)
        elif isinstance(one, CommentToken):
            yield one


def _left_alone(path: str) -> Diagnostic:
    detail = "A comment or a value would not have come out as it is."
    fix = "Move comments out of flow mappings ({…} and […]), onto lines of their own."
    return warning("NotFormatted", "The file was left as it is.", detail, fix, span=Span(path, 1, 1))
