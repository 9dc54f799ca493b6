"""What a pass of ``tick`` is given and what comes of it, as values."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import TYPE_CHECKING

from nodusctl.base.clock import Clock
from nodusctl.base.exits import ExitCode
from nodusctl.base.ids import Address, IdSource
from nodusctl.lifecycle.passing import Brief, Turn
from nodusctl.ports.passes import Glance, Passes

if TYPE_CHECKING:
    from nodusctl.engine.notifying import Deliver
    from nodusctl.engine.repricing import RateOf


@dataclass(frozen=True, slots=True, kw_only=True)
class Ticker:
    """What a pass needs besides the executor's ports. ``rates`` makes a fresh price question, because prices are asked once a pass.

    ``clock``, ``ids`` and ``window_lead`` are those of the executor's ports too. ``notify`` takes each notice once; None where the project
    wants none.
    """

    passes: Passes
    clock: Clock
    ids: IdSource
    window_lead: timedelta
    rates: Callable[[], RateOf]
    host: str
    parallelism: int = 10
    notify: Deliver | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Due:
    """What a pass begins with: everything at a glance, and whose turn it is."""

    now: datetime
    glance: Glance
    turns: Mapping[Turn, Sequence[Brief]]

    @property
    def has_turns(self) -> bool:
        """False where it is nobody's turn."""
        return any(self.turns.values())


@dataclass(frozen=True, slots=True, kw_only=True)
class Moved:
    """One object that this pass moved on, or could not."""

    address: Address
    before: str
    after: str
    code: str = ""
    message: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Waiting:
    """One object on its way that this pass left where it would have had to wait, and what for."""

    address: Address
    phase: str
    waits_for: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Worked:
    """What came of a pass with something to do.

    ``failures`` are by provider instance or object; ``seen`` are the instances that told of their machines; ``told`` and ``unsent`` are
    notices that stand, and those that the project's command didn't take.
    """

    moved: tuple[Moved, ...] = ()
    waiting: tuple[Waiting, ...] = ()
    failures: Mapping[str, str] = field(default_factory=dict)
    seen: tuple[str, ...] = ()
    told: tuple[str, ...] = ()
    unsent: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class TickResult:
    """What came of a pass. ``failures`` are by provider instance or object; ``looked_at`` counts objects that could have been due.

    ``waiting`` are on their way and didn't move; ``unsent`` are notices that the project's command didn't take.
    """

    started_at: datetime
    ended_at: datetime
    looked_at: int
    moved: tuple[Moved, ...] = ()
    waiting: tuple[Waiting, ...] = ()
    failures: Mapping[str, str] | None = None
    unsent: tuple[str, ...] = ()

    @property
    def exit_code(self) -> ExitCode:
        """1 where something went wrong that the next pass has to make good."""
        return ExitCode.ERROR if self.failures else ExitCode.DONE
