"""Takes the values out of a Secret's spec before anything else looks at it.

A key of ``data`` with an empty text means "the stored value stays": that is how a kept Secret is shown, so that
``get -o yaml | apply -f -`` changes nothing. Faults name keys, never values.
"""

from __future__ import annotations

import binascii
import re
from collections.abc import Iterator
from typing import Any

from nodusctl.base.redaction import REDACTOR
from nodusctl.resources.envelope import ENVELOPE
from nodusctl.resources.faulting import Fault
from nodusctl.resources.fragments import SECRET_KEY_PATTERN
from nodusctl.resources.resource import SecretMaterial, ValueSource, decode_base64
from nodusctl.resources.secret import SecretSpec
from nodusctl.resources.shapes import fields_of


def take_values(document: dict[str, Any], spec: dict[str, Any]) -> tuple[dict[str, Any], SecretMaterial, tuple[Fault, ...]]:
    """The spec with key names only (all under ``data``), the values, and what is wrong with them.

    Texts under keys that no Secret has, beside spec or in it, are remembered too: most often they are misplaced values.
    """
    _remember_all([inner for key, inner in document.items() if key not in ENVELOPE])
    _remember_all([inner for key, inner in spec.items() if key not in fields_of(SecretSpec)])
    literals: dict[str, bytes] = {}
    kept: set[str] = set()
    faults: list[Fault] = []
    for group in ("data", "stringData"):
        for key, value in _entries(spec, group):
            _remember(value)
            if not re.fullmatch(SECRET_KEY_PATTERN, key):
                faults.append(_wrong_key(group, key))
                continue
            if not isinstance(value, str):
                faults.append(_no_text(group, key, is_empty=value is None))
                continue
            if group == "data" and not value:
                kept.add(key)
                continue
            try:
                literals[key] = decode_base64(value) if group == "data" else value.encode()
            except (ValueError, binascii.Error):
                faults.append(_no_base64(key))
                continue
            _remember_bytes(literals[key])
    bare = {key: value for key, value in spec.items() if key not in ("data", "stringData")}
    names = sorted({*literals, *kept})
    if names:
        bare["data"] = dict.fromkeys(names, "")
    for group in ("data", "stringData"):
        if group in spec and not isinstance(spec[group], dict):
            bare[group] = [] if isinstance(spec[group], list) else ""
    sources = {key: source for key, value in _entries(spec, "valueFrom") if (source := _source(value)) is not None}
    return bare, SecretMaterial(literals, sources, frozenset(kept - set(literals))), tuple(faults)


def _remember_all(value: object) -> None:
    if isinstance(value, dict):
        for inner in value.values():
            _remember_all(inner)
    elif isinstance(value, list):
        for inner in value:
            _remember_all(inner)
    else:
        _remember(value)


def _entries(spec: dict[str, Any], group: str) -> Iterator[tuple[str, Any]]:
    found = spec.get(group)
    if isinstance(found, dict):
        yield from found.items()


def _remember(value: object) -> None:
    if isinstance(value, str) and value:
        REDACTOR.remember(value)


def _remember_bytes(value: bytes) -> None:
    try:
        _remember(value.decode())
    except UnicodeDecodeError:
        return


def _source(value: object) -> ValueSource | None:
    if not isinstance(value, dict):
        return None
    env, file, command = value.get("env"), value.get("file"), value.get("command")
    words = tuple(word for word in command if isinstance(word, str)) if isinstance(command, list) else ()
    return ValueSource(env if isinstance(env, str) else "", file if isinstance(file, str) else "", words)


def _wrong_key(group: str, key: str) -> Fault:
    detail = f"{key[:60]!r} was written; it is at most 253 letters, digits, '-', '_' and '.'."
    return Fault(reason="Invalid", summary="A Secret key has the wrong form.", detail=detail, paths=(("spec", group, key),), at_key=True)


def _no_text(group: str, key: str, *, is_empty: bool) -> Fault:
    summary = "A Secret value is empty." if is_empty else "A Secret value is no text."
    return Fault(
        reason="Invalid", summary=summary, detail=f"The value of {key!r} is a text.", fix="Quote it.", paths=(("spec", group, key),)
    )


def _no_base64(key: str) -> Fault:
    detail = f"The value of {key!r} under data is base64."
    return Fault(
        reason="Invalid",
        summary="A Secret value is no base64.",
        detail=detail,
        fix="Write plain text under stringData instead.",
        paths=(("spec", "data", key),),
    )
