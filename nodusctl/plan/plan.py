"""A Plan: Actions, costs, blocking reasons and the basis they stand on.

Text, JSON, exit code and the apply prompt all ask the Plan; nobody re-derives them.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime

from nodusctl.base.diagnostics import Diagnostic
from nodusctl.base.exits import ExitCode
from nodusctl.base.ids import Address
from nodusctl.base.money import Money
from nodusctl.plan.actions import Action, Verb
from nodusctl.plan.comparison import Comparison
from nodusctl.plan.costs import CostLine
from nodusctl.plan.reasons import BlockingReason, ReasonScope, exit_code_of_reasons
from nodusctl.plan.timetables import Timetable


@dataclass(frozen=True, slots=True, kw_only=True)
class Basis:
    """What the plan was made from. ``is_fresh_state`` means no state existed: its lineage then counts as empty in the plan hash.

    ``providers`` are versions by instance, ``plugin_digests`` those of the files of plugins that don't ship with the program.
    ``base_ref`` is the branch the plan was made against as it was named, ``base_commit`` what it was then; empty where there was none.
    ``snapshot_at`` is when the snapshot of the state was written that stood in for the state; None where the state itself was read.
    """

    project: str
    lineage: str
    serial: int
    state_url: str
    is_fresh_state: bool = False
    base_ref: str = ""
    base_commit: str = ""
    book_version: str = ""
    nodusctl_version: str = ""
    providers: Mapping[str, str] = field(default_factory=dict)
    plugin_digests: Mapping[str, str] = field(default_factory=dict)
    snapshot_at: datetime | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Totals:
    """Sums over the cost lines. ``is_at_least`` where an unknown price is left out; ``has_limit`` False where some line has no limit."""

    p50_usd: Money
    p90_usd: Money
    at_most_usd: Money
    is_at_least: bool = False
    has_limit: bool = True


@dataclass(frozen=True, slots=True, kw_only=True)
class DueStep:
    """A step that is due now whatever the files say: its own section of a plan, not a change."""

    address: Address
    what: str
    because: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Burning:
    """A machine that bills while nothing desired explains it; ``machine_id`` is empty where nobody knows yet whether there is one."""

    address: Address
    machine_id: str
    rate_usd_per_hour: Money
    since: datetime | None
    why: str


@dataclass(frozen=True, slots=True, kw_only=True)
class RunningOn:
    """A running object that the plan leaves as it is. ``rate_usd_per_hour`` is the approved one, None where none is known."""

    address: Address
    offering: str = ""
    rate_usd_per_hour: Money | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class AllowFlags:
    """What the person allowed for this plan; part of the plan hash."""

    max_deletes: int
    prunes: bool = False
    skips_blocked: bool = False
    restarts: tuple[Address, ...] = ()
    accepts_no_edge: bool = False
    accepts_base_moved: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """Everything apply needs and a reviewer should see."""

    id: str
    created_at: datetime
    created_by: str
    basis: Basis
    allow: AllowFlags
    actions: tuple[Action, ...] = ()
    costs: tuple[CostLine, ...] = ()
    totals: Totals | None = None
    comparison: Comparison | None = None
    reasons: tuple[BlockingReason, ...] = ()
    due: tuple[DueStep, ...] = ()
    burning: tuple[Burning, ...] = ()
    running_on: tuple[RunningOn, ...] = ()
    timetables: tuple[Timetable, ...] = ()
    hints: tuple[str, ...] = ()
    diagnostics: tuple[Diagnostic, ...] = ()
    ignored_fields: int = 0
    valid_until: datetime | None = None

    @property
    def counts(self) -> Mapping[Verb, int]:
        """How many Actions of each verb."""
        return Counter(action.verb for action in self.actions)

    @property
    def has_changes(self) -> bool:
        """True when apply would change anything desired; a kept Volume already kept is no Action at all."""
        return bool(self.actions)

    @property
    def is_blocked(self) -> bool:
        """True when any reason stands."""
        return bool(self.reasons)

    @property
    def plan_scoped(self) -> tuple[BlockingReason, ...]:
        """Reasons that stop everything."""
        return tuple(r for r in self.reasons if r.scope is ReasonScope.PLAN)

    def exit_code(self, *, is_detailed: bool) -> ExitCode:
        """The exit code of ``plan``: blocked, else policy failed, else (with ``--detailed-exitcode``) changes."""
        if self.is_blocked:
            return exit_code_of_reasons(self.reasons)
        return ExitCode.CHANGES if is_detailed and self.has_changes else ExitCode.DONE
