"""The scalar types of specs: each reads one spelling, says what is right, and writes one canonical form.

Quantities stay text (in canonical spelling), because cores and bytes are counted by different rules; money and durations
become exact values.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from fractions import Fraction
from functools import lru_cache
from typing import Annotated, TypeVar

from pydantic import AfterValidator, BeforeValidator, PlainSerializer, PlainValidator, StrictBool, StrictInt

from nodusctl.base.durations import format_duration, parse_duration
from nodusctl.base.money import Money
from nodusctl.base.quantities import canonical_quantity, parse_quantity
from nodusctl.base.timestamps import format_time, parse_time
from nodusctl.documents.document import UnquotedNumber
from nodusctl.resources.fields import refuse

_T = TypeVar("_T")

# Many objects write the same few sizes and times; exact arithmetic on each is most of the cost of decoding.
_exact_duration = lru_cache(maxsize=1024)(parse_duration)
_canonical = lru_cache(maxsize=1024)(canonical_quantity)
_duration_text = lru_cache(maxsize=1024)(format_duration)

_DNS_LABEL = re.compile(r"[a-z0-9]([-a-z0-9]*[a-z0-9])?\Z")


@dataclass(frozen=True, slots=True, eq=False)
class Shape:
    """How a scalar looks to people and in JSON Schema."""

    name: str
    schema: Mapping[str, object]


def _plain_text(value: object, what: str, example: str) -> str:
    """``value`` if it is text; a number gets the hint to quote it."""
    if isinstance(value, str):
        return value
    if isinstance(value, (int, UnquotedNumber)) and not isinstance(value, bool):
        raise refuse(
            "Invalid",
            f"{what} is written as a number.",
            f"{value} has no quotes; {what.lower()} is a text such as {example}.",
            f"Write {example}.",
        )
    raise refuse("Invalid", f"{what} has the wrong type.", f"{what} is a text such as {example}.")


def _parsed(parse: Callable[[str], _T], text: str, summary: str, fix: str) -> _T:
    try:
        return parse(text)
    except (ValueError, OverflowError) as problem:
        raise refuse("Invalid", summary, f"{text[:60]!r} was written; {problem}.", fix) from None


def _read_money(value: object) -> Money:
    if isinstance(value, Money):
        return value
    if isinstance(value, (int, UnquotedNumber)) and not isinstance(value, bool):
        detail = f"{value} has no quotes; an amount is a text, so that no reader turns it into a binary fraction."
        raise refuse("Invalid", "An amount is written as a number.", detail, f'Quote it: "{value}"')
    return _parsed(Money.parse, _plain_text(value, "An amount", '"5.00"'), "An amount is not readable.", 'Write it like "5.00".')


def _read_duration(value: object) -> timedelta:
    if isinstance(value, timedelta):
        return value
    if isinstance(value, (int, UnquotedNumber)) and not isinstance(value, bool):
        detail = f"{value} has no unit; a duration is a number with a unit, such as 90s, 45m or 1h30m."
        raise refuse("Invalid", "A duration has no unit.", detail, f"Write {value}s for seconds or {value}m for minutes.")
    return _parsed(
        _exact_duration, _plain_text(value, "A duration", "1h30m"), "A duration is not readable.", "Write it like 90s, 45m or 1h30m."
    )


def _read_time(value: object) -> datetime:
    if isinstance(value, datetime):
        return value
    return _parsed(
        parse_time,
        _plain_text(value, "A time", "2026-10-26T09:00:00+02:00"),
        "A time is not readable.",
        "Write it like 2026-10-26T09:00:00+02:00.",
    )


def _read_quantity(value: object) -> str:
    if isinstance(value, UnquotedNumber):
        fraction = f'A fraction such as {value} is quoted: "{value}".'
        right = "a whole number without leading zero, underscore or prefix, or a quantity such as 16Gi or 4000m"
        detail = f"{value} stands without quotes; write {right}."
        raise refuse("Invalid", "A quantity is not readable.", detail, fraction if "." in value.text else "")
    if isinstance(value, bool) or not isinstance(value, (int, str)):
        raise refuse("Invalid", "A quantity has the wrong type.", "A quantity is a whole number or a text such as 16Gi or 4000m.")
    text = _parsed(_canonical, str(value), "A quantity is not readable.", _quantity_meant(str(value)))
    if text == "0":
        raise refuse("Invalid", "A quantity is zero.", "It must be more than zero.")
    return text


def _quantity_meant(text: str) -> str:
    """The fix of a size with a unit that isn't one of Kubernetes, such as 512MB, 16 GB, 16gi or 1,5Gi."""
    found = re.fullmatch(r"\s*((?:0|[1-9][0-9]*)(?:[.,][0-9]+)?)\s*([kmgtp])(?:i?b|i)?\s*", text, re.IGNORECASE)
    if found is None:
        return "Write a number of cores such as 4 or 500m, or a size such as 512Mi."
    return f"Write {found[1].replace(',', '.')}{found[2].upper()}i."


def _read_decimal(value: object) -> int | str:
    """A number that may have decimals, kept exactly: whole ones as int, others as decimal text."""
    text = value.text if isinstance(value, UnquotedNumber) else str(value)
    if isinstance(value, bool) or not re.fullmatch(r"(0|[1-9][0-9]{0,8})(\.[0-9]{1,6})?", text):
        raise refuse("Invalid", "A number is not readable.", "It is digits with at most 6 decimals, such as 2 or 1.5.")
    exact = Fraction(text)
    return int(exact) if exact.denominator == 1 else text.rstrip("0")


def duration_between(low: str, high: str, *, or_zero: bool = False) -> AfterValidator:
    """Both bounds are allowed; ``or_zero`` allows ``0s`` beside them."""

    shortest, longest = parse_duration(low), parse_duration(high)

    def check(value: timedelta) -> timedelta:
        if not (shortest <= value <= longest or (or_zero and not value)):
            zero = ", or 0s" if or_zero else ""
            raise refuse(
                "Invalid", "A duration is out of range.", f"{format_duration(value)} was written; allowed is {low} to {high}{zero}."
            )
        return value

    return AfterValidator(check)


def decimal_between(low: int, high: int) -> AfterValidator:
    """Both bounds are allowed."""

    def check(value: int | str) -> int | str:
        if not low <= Fraction(value) <= high:
            raise refuse("Invalid", "A number is out of range.", f"{value} was written; allowed is {low} to {high}.")
        return value

    return AfterValidator(check)


def quantity_between(low: str | None, high: str | None) -> AfterValidator:
    """Both bounds are allowed; None is no bound."""

    def check(value: str) -> str:
        exact = parse_quantity(value)
        if (low and exact < parse_quantity(low)) or (high and exact > parse_quantity(high)):
            allowed = " and ".join(part for part in (f"at least {low}" if low else "", f"at most {high}" if high else "") if part)
            raise refuse("Invalid", "A quantity is out of range.", f"{value} was written; allowed is {allowed}.", _unit_meant(value, low))
        return value

    return AfterValidator(check)


def _unit_meant(value: str, low: str | None) -> str:
    """The fix of a size that is too small for want of a unit: 512 is bytes, and 512m is half of one."""
    digits = value.removesuffix("m")
    meant = f"{digits}{low.lstrip('0123456789')}" if low and digits.isdigit() else ""
    is_enough = meant and low and parse_quantity(meant) >= parse_quantity(low)
    return f"Write {meant}: {'m stands for thousandths' if digits != value else 'without a unit it counts bytes'}." if is_enough else ""


def money_above_zero(value: Money) -> Money:
    """Refuse an amount of zero."""
    if not value:
        raise refuse("Invalid", "An amount is zero.", "It must be more than zero.")
    return value


def matching(pattern: str, what: str) -> AfterValidator:
    """The whole text matches ``pattern``; ``what`` completes the sentence "It is …"."""
    compiled = re.compile(pattern)

    def check(value: str) -> str:
        if not compiled.fullmatch(value):
            raise refuse("Invalid", "A text has the wrong form.", f"{value[:60]!r} was written; it is {what}.")
        return value

    return AfterValidator(check)


def check_label(value: str) -> str:
    """A DNS-1123 label of at most 63 characters, the form of every metadata.name."""
    if len(value) > 63 or not _DNS_LABEL.match(value):
        right = "at most 63 lower-case letters, digits and '-', with a letter or digit at both ends"
        detail = f"{value[:70]!r} was written; a name is {right}."
        raise refuse("Invalid", "A name has the wrong form.", detail)
    return value


_DURATION_SCHEMA = {"type": "string", "pattern": r"^([0-9]+(\.[0-9]*)?(ns|us|µs|ms|s|m|h))+$|^0$"}
_QUANTITY_PATTERN = r"^(0|[1-9][0-9]*)(\.[0-9]+)?(n|u|m|k|Ki|M|Mi|G|Gi|T|Ti|P|Pi|E|Ei)?$"
_NAME_SCHEMA = {"type": "string", "pattern": r"^[a-z0-9]([-a-z0-9]*[a-z0-9])?$", "maxLength": 63}

Text = Annotated[str, Shape("string", {"type": "string"})]
Count = Annotated[StrictInt, Shape("integer", {"type": "integer"})]
Flag = Annotated[StrictBool, Shape("boolean", {"type": "boolean"})]
Name = Annotated[str, AfterValidator(check_label), Shape("name", _NAME_SCHEMA)]
Amount = Annotated[
    Money,
    BeforeValidator(_read_money),
    PlainSerializer(str, return_type=str),
    Shape("amount in USD", {"type": "string", "pattern": r"^[0-9]+(\.[0-9]{1,6})?$"}),
]
Duration = Annotated[
    timedelta, PlainValidator(_read_duration), PlainSerializer(_duration_text, return_type=str), Shape("duration", _DURATION_SCHEMA)
]
Time = Annotated[
    datetime,
    PlainValidator(_read_time),
    PlainSerializer(format_time, return_type=str),
    Shape("time", {"type": "string", "format": "date-time"}),
]
Quantity = Annotated[
    str,
    PlainValidator(_read_quantity),
    Shape("quantity", {"anyOf": [{"type": "integer", "minimum": 1}, {"type": "string", "pattern": _QUANTITY_PATTERN}]}),
]
Decimal = Annotated[
    int | str,
    PlainValidator(_read_decimal),
    Shape("number", {"anyOf": [{"type": "number"}, {"type": "string", "pattern": r"^[0-9]+(\.[0-9]{1,6})?$"}]}),
]
AnyValue = Annotated[object, Shape("any value", {})]
