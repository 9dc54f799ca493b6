"""Exact US dollars.

An amount is an integer of micro-USD, so sums never drift and two spellings of one amount are one value. Floats never
become money: a rate times a time is computed as a fraction and rounded half-up once, at the end.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pydantic import GetCoreSchemaHandler
    from pydantic_core import CoreSchema

MICRO = 1_000_000
_AMOUNT = re.compile(r"[0-9]+(\.[0-9]{1,6})?\Z")


@dataclass(frozen=True, slots=True, order=True)
class Money:
    """An amount in micro-USD; may be negative (a posting), never fractional."""

    micro: int

    @classmethod
    def parse(cls, text: str) -> Money:
        """Read a decimal string such as ``"5"`` or ``"0.125"``; ValueError says what is wrong with it."""
        if not _AMOUNT.match(text):
            raise ValueError("an amount is digits with at most 6 decimals, without sign, exponent, comma or bare dot")
        whole, _, decimals = text.partition(".")
        return cls(int(whole) * MICRO + int(decimals.ljust(6, "0") or "0"))

    @classmethod
    def from_fraction(cls, usd: Fraction) -> Money:
        """Round ``usd`` half-up to a micro-USD."""
        scaled = usd * MICRO
        floor, rest = divmod(scaled.numerator, scaled.denominator)
        return cls(floor + (1 if 2 * rest >= scaled.denominator else 0))

    def __add__(self, other: Money) -> Money:
        return Money(self.micro + other.micro)

    def __sub__(self, other: Money) -> Money:
        return Money(self.micro - other.micro)

    def __neg__(self) -> Money:
        return Money(-self.micro)

    def __mul__(self, count: int) -> Money:
        return Money(self.micro * count)

    def __bool__(self) -> bool:
        return self.micro != 0

    def scaled(self, factor: Fraction) -> Money:
        """This amount times an exact factor, rounded half-up once."""
        return Money.from_fraction(Fraction(self.micro, MICRO) * factor)

    def __str__(self) -> str:
        """Decimal text padded to 2 decimals, up to 6 when needed: ``4.40``, ``0.000001``."""
        sign = "-" if self.micro < 0 else ""
        whole, rest = divmod(abs(self.micro), MICRO)
        decimals = f"{rest:06d}".rstrip("0").ljust(2, "0")
        return f"{sign}{whole}.{decimals}"

    @property
    def shown(self) -> str:
        """For people: ``$1,606.00``."""
        sign = "-" if self.micro < 0 else ""
        whole, _, decimals = str(Money(abs(self.micro))).partition(".")
        return f"{sign}${int(whole):,}.{decimals}"

    @classmethod
    def __get_pydantic_core_schema__(cls, source: Any, handler: GetCoreSchemaHandler) -> CoreSchema:
        from pydantic_core import core_schema

        def read(value: object) -> Money:
            if isinstance(value, Money):
                return value
            if isinstance(value, str):
                return -cls.parse(value[1:]) if value.startswith("-") else cls.parse(value)
            raise ValueError("an amount is a decimal string")

        return core_schema.no_info_plain_validator_function(
            read, serialization=core_schema.plain_serializer_function_ser_schema(str, return_schema=core_schema.str_schema())
        )


ZERO = Money(0)


def total(amounts: object) -> Money:
    """The sum of an iterable of Money."""
    return Money(sum(amount.micro for amount in amounts))  # type: ignore[attr-defined]
