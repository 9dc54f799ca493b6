"""From bytes to Documents, and which of them are ours.

Files found by a glob may be anything: a document without a ``nodus.dev/`` apiVersion is counted and left alone, unless it
carries one of our kinds, which is then a spelling mistake worth an error. What a person names by hand is never left alone.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass

from nodusctl.base.diagnostics import Diagnostic, Span, error, in_order, warning
from nodusctl.documents.composing import compose
from nodusctl.documents.document import Document, Place, SourceFile
from nodusctl.documents.faults import MAX_BYTES, forbidden_characters, not_utf8, too_large

GROUP = "nodus.dev/"
KIND_NAMES = frozenset(
    {"Workspace", "Function", "Volume", "Secret", "SSHKey", "Budget", "Pool", "App", "FunctionCall", "Attempt", "Offering"}
)
_OUR_KIND = re.compile(r"kind[\"']?\s*:\s*[\"']?(?:" + "|".join(sorted(KIND_NAMES)) + r")\b")
_SEPARATOR = re.compile(r"^---(?:\s|$)", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class Loaded:
    """What was read: our documents in the order of the files, all faults, and how many documents were left alone."""

    documents: tuple[Document, ...]
    diagnostics: tuple[Diagnostic, ...]
    skipped: int


def read_source(path: str, content: bytes) -> tuple[SourceFile | None, tuple[Diagnostic, ...]]:
    """Decode one file: UTF-8 with or without a byte order mark, at most 1 MiB, no control characters."""
    if len(content) > MAX_BYTES:
        return None, (too_large(path, len(content)),)
    try:
        text = content.decode("utf-8-sig")
    except UnicodeDecodeError as problem:
        return None, (not_utf8(path, content, min(problem.start, len(content) - 1)),)
    faults = forbidden_characters(path, text)
    return (None, faults) if faults else (SourceFile(path, text), ())


def load_documents(files: Iterable[tuple[str, bytes]], *, named: frozenset[str] = frozenset()) -> Loaded:
    """Read files given as (path for people, bytes). ``named`` holds the paths a person named by hand.

    An empty file is an error when it was named or nothing else was found, else a warning.
    """
    documents: list[Document] = []
    faults: list[Diagnostic] = []
    empty: list[str] = []
    skipped = 0
    for path, content in files:
        is_named = path in named
        if not is_named and not _may_be_ours(content):
            count = _count_documents(content)
            skipped += count
            empty += [] if count else [path]
            continue
        source, problems = read_source(path, content)
        faults.extend(problems)
        if source is None:
            continue
        composed, problems = compose(source, is_named=is_named)
        faults.extend(problems)
        written = [document for document in composed if document.value is not None]
        kept = [document for document in written if is_named or _is_ours(document.value)]
        documents.extend(kept)
        skipped += len(written) - len(kept)
        if not written and not problems:
            empty.append(path)
    is_all = not documents and not skipped
    faults.extend(_empty_file(path, is_error=is_all or path in named) for path in empty)
    return Loaded(tuple(documents), in_order(faults), skipped)


def read_mapping(path: str, content: bytes) -> tuple[Document | None, tuple[Diagnostic, ...]]:
    """Read a settings file (nodusctl.yaml, a world file): exactly one document, a mapping. An empty file is an empty mapping."""
    source, faults = read_source(path, content)
    if source is None:
        return None, faults
    composed, faults = compose(source, is_named=True)
    written = [document for document in composed if document.value is not None]
    if faults:
        return None, in_order(faults)
    if not written:
        return Document(path, {}, Place(1, 1, fields={}), is_named=True), ()
    if len(written) > 1:
        return None, (
            error("Invalid", "The file holds more than one document.", "A settings file is one mapping.", span=written[1].span()),
        )
    if not isinstance(written[0].value, dict):
        return None, (
            error("Invalid", "The file holds no mapping.", "A settings file is a mapping of keys to values.", span=written[0].span()),
        )
    return written[0], ()


def _may_be_ours(content: bytes) -> bool:
    """A cheap look that spares parsing the other YAML files of a repository."""
    if GROUP.encode() in content or b"\x00" in content:
        return True
    return _OUR_KIND.search(content.decode("utf-8", "replace")) is not None


def _count_documents(content: bytes) -> int:
    text = content.decode("utf-8-sig", "replace")
    return sum(
        1 for part in _SEPARATOR.split(text) if any(line.strip() and not line.lstrip().startswith("#") for line in part.splitlines())
    )


def _is_ours(value: object) -> bool:
    if not isinstance(value, dict):
        return False
    api_version = value.get("apiVersion")
    return (isinstance(api_version, str) and api_version.startswith(GROUP)) or value.get("kind") in _kinds_of(value)


def _kinds_of(value: dict[str, object]) -> frozenset[str]:
    return KIND_NAMES if isinstance(value.get("kind"), str) else frozenset()


def _empty_file(path: str, *, is_error: bool) -> Diagnostic:
    make = error if is_error else warning
    return make("Invalid", "The file is empty.", "It holds no document.", "Write an object into it, or remove it.", span=Span(path, 1, 1))
