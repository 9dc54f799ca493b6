"""The three answers to any call that leaves this process.

There is no fourth: a time-out, a dropped connection or an exception of a plugin is ``Unknown``, and Unknown is not failure.
It blocks the object it belongs to until a look-up by client token settles it.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta
from enum import StrEnum
from typing import Generic, TypeVar

T_co = TypeVar("T_co", covariant=True)


class Scope(StrEnum):
    """What else a refusal speaks for: a sold-out zone says nothing about the next zone."""

    REQUEST = "request"
    DEVICE = "device"
    ZONE = "zone"
    REGION = "region"
    ACCOUNT = "account"


@dataclass(frozen=True, slots=True)
class Done(Generic[T_co]):
    """The platform did it, or answered; ``value`` says what."""

    value: T_co


@dataclass(frozen=True, slots=True)
class Refused:
    """The platform said no, and nothing was made. ``code`` is a registered reason such as CapacityUnavailable, Unauthorized or Invalid."""

    code: str
    scope: Scope = Scope.REQUEST
    message: str = ""
    retry_after: timedelta | None = None


@dataclass(frozen=True, slots=True)
class Unknown:
    """Nobody can say whether it happened."""

    detail: str


Reply = Done[T_co] | Refused | Unknown
