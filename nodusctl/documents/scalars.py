"""What a plain scalar means, by the YAML 1.2 core schema and nothing more: ``no``, ``on`` and ``1:30`` are texts.

The surprise: integers are accepted only in the one spelling every reader agrees on. ``010`` is 10 here and 8 elsewhere,
so it stays an ``UnquotedNumber`` and the receiving field refuses it.
"""

from __future__ import annotations

import re

from nodusctl.documents.document import Reading, UnquotedNumber

_WORDS: dict[str, bool | None] = {"": None, "~": None, "null": None, "Null": None, "NULL": None}
_WORDS |= {"true": True, "True": True, "TRUE": True, "false": False, "False": False, "FALSE": False}
_NUMERIC_STARTS = frozenset("0123456789+-.")
_INTEGER = re.compile(r"(?:0|-?[1-9][0-9]{0,17})\Z")
_FRACTION = re.compile(
    r"[-+]?(?:\.[0-9]+|[0-9]+\.[0-9]*|[0-9]+(?:\.[0-9]*)?[eE][-+]?[0-9]+)\Z|[-+]?\.(?:inf|Inf|INF)\Z|\.(?:nan|NaN|NAN)\Z"
)
_AMBIGUOUS = re.compile(r"[-+]?(?:[0-9][0-9_]*|0o[0-7_]+|0x[0-9a-fA-F_]+|0b[01_]+|[0-9][0-9_]*\.[0-9_]*)\Z")

Scalar = str | int | bool | None | UnquotedNumber


def resolve_plain(text: str) -> Scalar:
    """The value of a scalar written without quotes."""
    if text in _WORDS:
        return _WORDS[text]
    if text[0] not in _NUMERIC_STARTS:
        return text
    if _INTEGER.match(text):
        return int(text)
    if _FRACTION.match(text):
        return UnquotedNumber(text, Reading.FRACTION)
    if _AMBIGUOUS.match(text):
        return UnquotedNumber(text, Reading.AMBIGUOUS)
    return text
