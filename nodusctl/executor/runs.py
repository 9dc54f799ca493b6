"""Values of one run of the executor: limits in, where each object is, outcomes out."""

from __future__ import annotations

import threading
from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import StrEnum
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from nodusctl.attempts.intents import Intent
    from nodusctl.base.ids import Address
    from nodusctl.lifecycle.situation import Sightings
    from nodusctl.lifecycle.steps import Look, Probe, Resend, Settle
    from nodusctl.ports.journal import Claim


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """``parallelism`` provider calls at once; ``timeout`` for waiting, by the domain's clock and by the wall, whichever is first.

    Without ``waits`` each object is carried on until it would have to wait for a time, or for somebody who works on it.
    """

    parallelism: int = 10
    timeout: timedelta = timedelta(minutes=30)
    waits: bool = True


class Interrupts:
    """How often the person asked to stop. The first is soft: nothing new starts. The second leaves at once."""

    def __init__(self) -> None:
        self.signal = threading.Event()
        self._count = 0

    def interrupt(self) -> None:
        """One more Ctrl-C (or SIGTERM), and whoever waits is woken. Not in a signal handler: its thread may hold ``signal``'s lock."""
        self.count_one()
        self.signal.set()

    def count_one(self) -> None:
        """Count it and wake nobody: safe in a signal handler."""
        self._count += 1

    @property
    def is_soft(self) -> bool:
        """True from the first on."""
        return self._count > 0

    @property
    def is_hard(self) -> bool:
        """True from the second on."""
        return self._count > 1


class Standing(StrEnum):
    """What an object of this run is doing."""

    READY = "ready"
    CALLING = "calling"
    WAITING = "waiting"
    CLAIMED_ELSEWHERE = "claimed-elsewhere"
    PARKED = "parked"
    OVER = "over"


@dataclass(frozen=True, slots=True, kw_only=True)
class InFlight:
    """A call under way. ``intent`` is None for looks and probes; ``number`` tells a late reply of an abandoned call apart.

    A look with ``is_together`` is one of several of that number, asked in one call.
    """

    step: Look | Probe | Settle | Resend | object
    intent: Intent | None
    number: int
    started_at: float
    heartbeat_at: float
    is_together: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class ObjectRun:
    """One object of this run. ``looks_alone`` once a look together with others brought nothing.

    ``waits_for`` says who works on it, while that is somebody else; ``trouble`` is the code of what it waits to try again.
    """

    uid: str
    address: Address
    sightings: Sightings
    standing: Standing = Standing.READY
    wake_at: datetime | None = None
    wall_wake_at: float = 0.0
    in_flight: InFlight | None = None
    looks_alone: bool = False
    claim: Claim | None = None
    phase: str = ""
    because: str = ""
    code: str = ""
    is_removed: bool = False
    is_waiting: bool = False
    waits_for: str = ""
    trouble: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class ObjectOutcome:
    """How one object ended. ``code`` is a reason of errors.py where it is not ``is_ok``.

    ``waits_for`` says what one waits for that was left where it would have had to wait, or whose machine doesn't answer.
    """

    address: Address
    phase: str
    is_ok: bool
    code: str = ""
    message: str = ""
    has_open_intent: bool = False
    is_removed: bool = False
    waits_for: str = ""
