"""Plain values as YAML that reads back equal, here and in YAML 1.1 readers.

A text is left without quotes only when no reader could take it for anything else.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping

_PLAIN = re.compile(r"[0-9]+(?:[KMGTP]i|[hms])\Z|[A-Za-z_/][A-Za-z0-9_./@+-]*(?:[: ][A-Za-z0-9_./@+-]+)*\Z")
_WORDS = frozenset({"null", "true", "false", "yes", "no", "on", "off", "y", "n"})
_ESCAPED = re.compile("[\x7f-\x9f\u2028\u2029\ufeff\ufffe\uffff\ud800-\udfff]")


def dump_yaml(value: object) -> str:
    """Block-style YAML of dict, list, tuple, str, int, bool and None, ending in a newline; key order is kept."""
    lines: list[str] = []
    _write(value, "", lines, "")
    return "\n".join(lines) + "\n"


def _write(value: object, indent: str, lines: list[str], prefix: str) -> None:
    """Append ``value``; ``prefix`` is what already stands on its first line (``key:`` or ``-``)."""
    lead = f"{prefix} " if prefix else ""
    if isinstance(value, Mapping) and value:
        _write_mapping(value, indent, lines, prefix)
    elif isinstance(value, (list, tuple)) and value:
        if prefix.endswith(":"):
            lines.append(prefix)
            prefix = ""
        for index, entry in enumerate(value):
            dash = f"{prefix} -" if prefix and index == 0 else f"{indent}-"
            _write(entry, indent + "  ", lines, dash)
    else:
        lines.append(f"{lead or indent}{_scalar(value)}")


def _write_mapping(value: Mapping[object, object], indent: str, lines: list[str], prefix: str) -> None:
    if prefix.endswith(":"):
        lines.append(prefix)
        prefix = ""
    for index, (key, inner) in enumerate(value.items()):
        start = f"{prefix} " if prefix and index == 0 else indent
        is_list = isinstance(inner, (list, tuple)) and bool(inner)
        _write(inner, indent if is_list else indent + "  ", lines, f"{start}{_text(str(key))}:")


def _scalar(value: object) -> str:
    match value:
        case None:
            return "null"
        case bool():
            return "true" if value else "false"
        case int():
            return str(value)
        case str():
            return _text(value)
        case Mapping():
            return "{}"
        case list() | tuple():
            return "[]"
        case _:
            raise TypeError(f"{type(value).__name__} has no YAML form here")


def _text(text: str) -> str:
    if _PLAIN.match(text) and text.lower() not in _WORDS:
        return text
    return _ESCAPED.sub(lambda found: f"\\u{ord(found[0]):04x}", json.dumps(text, ensure_ascii=False))
