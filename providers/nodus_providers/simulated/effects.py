"""The faults a person can script, read from text such as ``error CapacityUnavailable scope zone`` or ``hang 60s``."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from datetime import timedelta
from typing import TypeVar

from nodusctl.base.diagnostics import error
from nodusctl.base.durations import parse_duration
from nodusctl.base.exits import ExitCode, UserError
from nodusctl.base.money import Money
from nodusctl.base.nearest import nearest
from nodusctl.provider.machines import MachineState
from nodusctl.provider.replies import Scope

OPERATIONS = (
    "create",
    "get",
    "list",
    "find",
    "delete",
    "stop",
    "start",
    "volume-create",
    "attach",
    "detach",
    "save",
    "restore",
    "grow",
    "volume-delete",
    "revision-delete",
    "price",
    "agent",
)
"""What a call can be; ``agent`` is a question to a machine's agent, the rest are calls to the platform."""

_SCOPES_BY_CODE = {"CapacityUnavailable": Scope.ZONE, "Unauthorized": Scope.ACCOUNT, "Forbidden": Scope.ACCOUNT}
_SCOPES_BY_CODE |= {"QuotaExceeded": Scope.ACCOUNT, "TooManyRequests": Scope.ACCOUNT, "DeviceBusy": Scope.DEVICE}


ECHO = "{request}"
"""In the message of a scripted error: stands for what the request carried, as careless platforms echo it."""


@dataclass(frozen=True, slots=True)
class Failure:
    """The platform refuses, and nothing happens."""

    code: str
    scope: Scope
    message: str
    retry_after: timedelta | None


@dataclass(frozen=True, slots=True)
class Hang:
    """The reply takes this long on the wall clock; the world acts before it, or with ``is_before`` after it."""

    duration: timedelta
    is_before: bool


@dataclass(frozen=True, slots=True)
class DropReply:
    """The world acts and nobody hears of it."""


@dataclass(frozen=True, slots=True)
class VisibleAfter:
    """What is made stays hidden from get, list and find for this much world time."""

    delay: timedelta


@dataclass(frozen=True, slots=True)
class Lie:
    """A wrong state is reported."""

    state: MachineState


@dataclass(frozen=True, slots=True)
class Gone:
    """The platform says that there is no such thing."""


@dataclass(frozen=True, slots=True)
class Forbidden:
    """A 403: unreadable where one thing is looked at, a refusal of the account elsewhere."""


@dataclass(frozen=True, slots=True)
class Partial:
    """Only this share is done (save, restore) or shown (list, price)."""

    percent: int


@dataclass(frozen=True, slots=True)
class Price:
    """The rate an offer is quoted at."""

    rate: Money


@dataclass(frozen=True, slots=True)
class Quota:
    """At most this many live machines, or disks."""

    limit: int


@dataclass(frozen=True, slots=True)
class NoEdge:
    """The machine is made without its armed edge."""


@dataclass(frozen=True, slots=True)
class Unreachable:
    """The machine's agent answers nobody."""


@dataclass(frozen=True, slots=True)
class Noise:
    """Values that change by themselves: a new etag, tags in another order, another spelling, disks 768 bytes larger."""


Effect = Failure | Hang | DropReply | VisibleAfter | Lie | Gone | Forbidden | Partial | Price | Quota | NoEdge | Unreachable | Noise

GRAMMAR = (
    "error CODE [scope request|device|zone|region|account] [retry-after D] [message TEXT]",
    "hang D",
    "hang-before D",
    "accept-then-drop",
    "visible-after D",
    "lie STATE",
    "gone",
    "forbidden",
    "partial PCT",
    "price USD",
    "quota N",
    "no-edge",
    "unreachable",
    "noise",
)
_Choice = TypeVar("_Choice", Scope, MachineState)
_CODE = re.compile(r"[A-Za-z0-9][A-Za-z0-9-]*\Z")


def parse_effect(text: str) -> Effect:
    """Read an effect; UserError (exit 64) lists what is valid."""
    word, _, rest = text.strip().partition(" ")
    reader = _READERS.get(word)
    if reader is None:
        close = nearest(word, _READERS)
        raise _misread(f"There is no effect {word!r}." + (f" Did you mean {close}?" if close else ""))
    try:
        return reader(rest.strip())
    except ValueError as problem:
        raise _misread(f"{text!r}: {problem}.") from None


def require_operation(operation: str) -> None:
    """UserError (exit 64) unless ``operation`` is one a world knows."""
    if operation in OPERATIONS:
        return
    close = nearest(operation, OPERATIONS)
    detail = f"There is no operation {operation!r}." + (f" Did you mean {close}?" if close else "")
    fix = "Operations: " + ", ".join(OPERATIONS) + "."
    raise UserError(error("NotSupported", "Unknown operation", detail, fix, field="op"), exit_code=ExitCode.USAGE)


def _misread(detail: str) -> UserError:
    fix = "Effects:\n" + "\n".join(f"  {line}" for line in GRAMMAR)
    return UserError(error("Invalid", "The effect of a fault is not understood", detail, fix, field="effect"), exit_code=ExitCode.USAGE)


def _failure(rest: str) -> Failure:
    words = rest.split()
    if not words or not _CODE.match(words[0]):
        raise ValueError("error needs a code, such as error CapacityUnavailable")
    code, scope, retry_after, message, position = words[0], None, None, "", 1
    while position < len(words):
        key, value = words[position], words[position + 1] if position + 1 < len(words) else ""
        if key == "message":
            message = re.split(r"\smessage(?:\s|$)", rest, maxsplit=1)[1].strip()
            break
        if key == "scope":
            scope = _one_of(Scope, value)
        elif key == "retry-after":
            retry_after = parse_duration(value)
        else:
            raise ValueError(f"{key!r} is not one of scope, retry-after, message")
        position += 2
    return Failure(code, scope or _SCOPES_BY_CODE.get(code, Scope.REQUEST), message or "scripted fault", retry_after)


def _lie(rest: str) -> Lie:
    return Lie(_one_of(MachineState, rest))


def _one_of(kind: type[_Choice], value: str) -> _Choice:
    try:
        return kind(value)
    except ValueError:
        raise ValueError(f"{value!r} is not one of {', '.join(kind)}") from None


def _whole(rest: str, highest: int | None = None) -> int:
    if not rest.isascii() or not rest.removesuffix("%").isdigit() or (highest is not None and int(rest.removesuffix("%")) > highest):
        raise ValueError("a whole number is needed" + (f" from 0 to {highest}" if highest is not None else ""))
    return int(rest.removesuffix("%"))


def _bare(effect: Effect) -> Callable[[str], Effect]:
    def read(rest: str) -> Effect:
        if rest:
            raise ValueError(f"{rest!r} is too much; this effect takes nothing")
        return effect

    return read


_READERS: dict[str, Callable[[str], Effect]] = {
    "error": _failure,
    "hang": lambda rest: Hang(parse_duration(rest), is_before=False),
    "hang-before": lambda rest: Hang(parse_duration(rest), is_before=True),
    "accept-then-drop": _bare(DropReply()),
    "visible-after": lambda rest: VisibleAfter(parse_duration(rest)),
    "lie": _lie,
    "gone": _bare(Gone()),
    "forbidden": _bare(Forbidden()),
    "partial": lambda rest: Partial(_whole(rest, 100)),
    "price": lambda rest: Price(Money.parse(rest)),
    "quota": lambda rest: Quota(_whole(rest)),
    "no-edge": _bare(NoEdge()),
    "unreachable": _bare(Unreachable()),
    "noise": _bare(Noise()),
}
