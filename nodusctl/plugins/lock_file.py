"""``.nodus.lock.yaml``: which plugins this project's providers are, by version and content. Only ``providers lock`` writes it.

UserError             the file can't be read; a lock that nobody understands locks nothing, so it stops the command
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from nodusctl.base.diagnostics import Diagnostic, Span, error
from nodusctl.base.exits import UserError
from nodusctl.documents.document import Document
from nodusctl.documents.reading import read_mapping
from nodusctl.documents.writing import dump_yaml

NAME = ".nodus.lock.yaml"
FORMAT = 1
_HEAD = """\
# Which plugins the providers of this project are. Made by `nodusctl providers lock`; commit it.
# A plugin that is another one is not imported, and nothing rewrites this file but that command.
"""
_ARTEFACT_KEYS = frozenset({"contents", "platform", "file", "sha256"})


@dataclass(frozen=True, slots=True, kw_only=True)
class Artefact:
    """One form of a version: ``contents`` is the digest of its files, ``file`` and ``sha256`` the wheel's where one was seen."""

    contents: str
    platform: str
    file: str = ""
    sha256: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class LockedPlugin:
    """One provider type. A plugin that ships with nodusctl is locked by its version alone; an editable one by its being editable."""

    type: str
    distribution: str
    version: str
    is_built_in: bool = False
    is_editable: bool = False
    artefacts: tuple[Artefact, ...] = ()
    span: Span | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class LockFile:
    """The file's content by provider type."""

    plugins: Mapping[str, LockedPlugin]
    shown: str = NAME


def read_lock(folder: Path) -> LockFile | None:
    """The project's lock; None where it has none. UserError with file, line and column for one that can't be read."""
    path = folder / NAME
    try:
        content = path.read_bytes()
    except (FileNotFoundError, NotADirectoryError):
        return None
    except OSError as fault:
        raise UserError(_unreadable(f"{path}: {fault.strerror}.", None)) from None
    document, faults = read_mapping(NAME, content)
    if document is None:
        raise UserError(*faults)
    return _lock_of(document)


def lock_text(plugins: Mapping[str, LockedPlugin]) -> str:
    """The file's text; plugins and artefacts in order, so that the same lock is the same text."""
    body = {"version": FORMAT, "providers": {name: _entry(plugins[name]) for name in sorted(plugins)}}
    return _HEAD + dump_yaml(body)


def _entry(plugin: LockedPlugin) -> dict[str, Any]:
    entry: dict[str, Any] = {"distribution": plugin.distribution, "version": plugin.version}
    if plugin.is_built_in:
        return {**entry, "builtIn": True}
    if plugin.is_editable:
        return {**entry, "editable": True}
    in_order = sorted(plugin.artefacts, key=lambda one: (one.platform, one.file, one.contents))
    return {**entry, "artefacts": [_artefact_entry(one) for one in in_order]}


def _artefact_entry(one: Artefact) -> dict[str, Any]:
    wheel = {"file": one.file, "sha256": f"sha256:{one.sha256}"} if one.file else {}
    return {"platform": one.platform, "contents": f"sha256:{one.contents}", **wheel}


def _lock_of(document: Document) -> LockFile:
    value = document.value if isinstance(document.value, dict) else {}
    version = value.get("version")
    if version != FORMAT or isinstance(version, bool):
        raise UserError(_unreadable(f"It has version {version!r}; this nodusctl reads version {FORMAT}.", document.span(("version",))))
    entries = value.get("providers")
    if not isinstance(entries, dict):
        raise UserError(_unreadable("It has no mapping providers.", document.span(("providers",))))
    return LockFile(plugins={str(name): _plugin(str(name), entry, document) for name, entry in entries.items()})


def _plugin(name: str, entry: Any, document: Document) -> LockedPlugin:
    span = document.span(("providers", name), key=True)
    known = {"distribution", "version", "builtIn", "editable", "artefacts"}
    if not isinstance(entry, dict) or set(entry) - known or not all(isinstance(entry.get(key), str) for key in ("distribution", "version")):
        raise UserError(_unreadable(f"The entry of {name} is not one that providers lock writes.", span))
    listed = entry.get("artefacts", [])
    if not isinstance(listed, (list, tuple)) or not all(_is_artefact(one) for one in listed):
        raise UserError(_unreadable(f"The artefacts of {name} are not what providers lock writes.", span))
    return LockedPlugin(
        type=name,
        distribution=entry["distribution"],
        version=entry["version"],
        is_built_in=entry.get("builtIn") is True,
        is_editable=entry.get("editable") is True,
        artefacts=tuple(_artefact(one) for one in listed),
        span=span,
    )


def _is_artefact(one: Any) -> bool:
    return (
        isinstance(one, dict)
        and {"contents", "platform"} <= set(one) <= _ARTEFACT_KEYS
        and all(isinstance(text, str) for text in one.values())
    )


def _artefact(one: Mapping[str, str]) -> Artefact:
    return Artefact(
        contents=one["contents"].removeprefix("sha256:"),
        platform=one["platform"],
        file=one.get("file", ""),
        sha256=one.get("sha256", "").removeprefix("sha256:"),
    )


def _unreadable(detail: str, span: Span | None) -> Diagnostic:
    fix = f"Bring {NAME} back from version control, or remove it and lock anew on purpose:\n  nodusctl providers lock"
    return error("PluginLockUnreadable", "The provider lock can't be read.", detail, fix, span=span)
