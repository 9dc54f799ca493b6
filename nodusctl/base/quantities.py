"""Kubernetes quantities (``16Gi``, ``4``, ``4000m``), compared as numbers so that two spellings of one size are no change."""

from __future__ import annotations

import re
from fractions import Fraction

_SUFFIXES = {"n": Fraction(1, 10**9), "u": Fraction(1, 10**6), "m": Fraction(1, 1000), "": Fraction(1)}
_SUFFIXES |= {suffix: Fraction(10 ** (3 * power)) for power, suffix in enumerate("kMGTPE", start=1)}
_SUFFIXES |= {suffix + "i": Fraction(1024**power) for power, suffix in enumerate("KMGTPE", start=1)}
_QUANTITY = re.compile(r"(0|[1-9][0-9]*)(\.[0-9]+)?(n|u|m|k|Ki|M|Mi|G|Gi|T|Ti|P|Pi|E|Ei)?\Z")
_BINARY = ("Ei", "Pi", "Ti", "Gi", "Mi", "Ki")


def parse_quantity(text: str | int) -> Fraction:
    """The exact number a quantity stands for (bytes, or cores); ValueError says what is right."""
    found = _QUANTITY.match(str(text))
    if found is None or isinstance(text, bool):
        raise ValueError("a quantity is a number without leading zero and an optional suffix, such as 4, 4000m, 16Gi or 1.5Ti")
    return Fraction(found[1] + (found[2] or "")) * _SUFFIXES[found[3] or ""]


def canonical_quantity(text: str | int) -> str:
    """One spelling for equal quantities: the largest binary suffix that leaves an integer, else a plain or milli number."""
    value = parse_quantity(text)
    if value.denominator != 1:
        milli = value * 1000
        return f"{-(-milli.numerator // milli.denominator)}m"
    for suffix in _BINARY:
        if value and value % _SUFFIXES[suffix] == 0:
            return f"{value // _SUFFIXES[suffix]}{suffix}"
    return str(value)


def quantity_units(text: str | int) -> int:
    """The quantity rounded up to whole units (bytes, cores)."""
    value = parse_quantity(text)
    return -(-value.numerator // value.denominator)


def quantity_milli(text: str | int) -> int:
    """The quantity in thousandths, rounded up (millicores)."""
    value = parse_quantity(text) * 1000
    return -(-value.numerator // value.denominator)


def shown_bytes(count: int) -> str:
    """Bytes for people, as a quantity: ``16Gi``."""
    return canonical_quantity(count)
