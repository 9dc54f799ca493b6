"""Apply: from a Plan to a world that matches it.

The plan lock is held only while the plan is compared, consumed and its records are written. What follows is the executor's loop over the
objects the plan touches, and over those an earlier apply left unfinished.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from datetime import timedelta
from typing import Protocol

from nodusctl.base.diagnostics import Diagnostic, error, has_errors, warning
from nodusctl.base.exits import ExitCode, UserError
from nodusctl.base.ids import Address
from nodusctl.engine.locking import under_plan_lock
from nodusctl.engine.refusing import refuse_if_behind
from nodusctl.engine.repricing import AskedRate, reprice
from nodusctl.engine.starting_plan import SecretValues, Start, write_down
from nodusctl.engine.thresholds import note_thresholds
from nodusctl.executor.drive import drive
from nodusctl.executor.outside import Outside
from nodusctl.executor.runs import Interrupts, Limits, ObjectOutcome
from nodusctl.lifecycle.homes import restore_is_pending
from nodusctl.plan.plan import Plan
from nodusctl.plan.reasons import BlockingReason, exit_code_of_reasons
from nodusctl.ports.keys import KEY_TROUBLES
from nodusctl.state.snapshot import Snapshot, Standing
from nodusctl.state.status import Phase

UNFINISHED = frozenset({Phase.PENDING, Phase.STARTING, Phase.RECOVERING, Phase.STOPPING, Phase.TERMINATING})


@dataclass(frozen=True, slots=True, kw_only=True)
class ApplySettings:
    """What the person allowed.

    ``is_saved_plan``: it runs its own Actions only, and other bytes of a Secret than it saw are refused. ``asks_prices``: time has passed
    since its prices were printed, so they are asked again first.
    """

    parallelism: int = 10
    timeout: timedelta = timedelta(minutes=30)
    lock_timeout: timedelta = timedelta(0)
    skip_blocked: bool = False
    is_saved_plan: bool = False
    asks_prices: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class ApplyResult:
    """What became of each object, and the one exit code that says so."""

    exit_code: ExitCode
    outcomes: tuple[ObjectOutcome, ...] = ()
    diagnostics: tuple[Diagnostic, ...] = ()
    skipped: tuple[BlockingReason, ...] = ()


class Recheck(Protocol):
    """What a saved plan meets now, beside the state: its base branch, today's prices, and what would block it if it were made now."""

    def moved_base(self) -> tuple[Diagnostic, ...]:
        """Why its base branch has left it behind: an error; a note where nobody can tell; nothing where it hasn't."""
        ...

    def rate_of(self) -> AskedRate:
        """Today's rates."""
        ...

    def reasons(self) -> tuple[BlockingReason, ...]:
        """Blocking reasons that are true now."""
        ...


def apply_plan(
    plan: Plan,
    *,
    outside: Outside,
    rate_of: AskedRate,
    command: str,
    settings: ApplySettings,
    interrupts: Interrupts,
    secrets: SecretValues | None = None,
    recheck: Recheck | None = None,
) -> ApplyResult:
    """Carry a plan out.

    UserError for a lock that is held (13), a plan the state has left behind (11), a price above its ceiling (12), a state's key that isn't
    here (1).
    """
    # Asked before the lock too: a refused plan leaves the state byte for byte, and the order of refusals puts price and reasons last.
    journal = outside.journal
    refuse_if_behind(plan, journal.snapshot(), journal, outside.providers)
    plan, repriced, notes = checked_outside(plan, outside, rate_of, settings, recheck)
    blocked = blocking(plan, settings)
    if blocked:
        return blocked_result(blocked)
    require_key(plan, outside)
    start = Start(
        plan=plan,
        repriced=repriced,
        outside=outside,
        command=command,
        secrets=secrets or SecretValues(),
        is_reviewed=settings.is_saved_plan,
    )

    def consume() -> tuple[Snapshot, Snapshot]:
        before = journal.snapshot()
        refuse_if_behind(plan, before, journal, outside.providers)
        return before, write_down(start, before)

    before, after = under_plan_lock(outside.claims, command, settings.lock_timeout, consume)
    own = tuple(action.address for action in plan.actions if action.address not in start.skipped)
    unfinished = () if settings.is_saved_plan else unfinished_in(after)
    outcomes = carry_on(outside, dict.fromkeys((*own, *_under_changed_keys(own, before), *unfinished)), after, settings, interrupts)
    return finished(plan, outcomes, notes, interrupts)


def require_key(plan: Plan, outside: Outside) -> None:
    """UserError where the plan would be started by somebody who can't carry it out: the keys of machines are sealed in the state."""
    if any(action.address.kind in DRIVEN for action in plan.actions):
        outside.journal.require_key()


def checked_outside(
    plan: Plan, outside: Outside, rate_of: AskedRate, settings: ApplySettings, recheck: Recheck | None
) -> tuple[Plan, Plan, tuple[Diagnostic, ...]]:
    """The plan with the reasons that are true now, the same at today's rates, and notes.

    UserError (11) for a base that moved, (12) for a price.
    """
    said = recheck.moved_base() if recheck is not None else ()
    if has_errors(said):
        raise UserError(*said, exit_code=ExitCode.REFUSED)
    asks = settings.is_saved_plan or settings.asks_prices
    repriced, notes = reprice(plan, recheck.rate_of() if recheck is not None else rate_of, outside.clock.now()) if asks else (plan, ())
    known = {(reason.code, reason.address, reason.field) for reason in plan.reasons}
    fresh = (one for one in (recheck.reasons() if recheck is not None else ()) if (one.code, one.address, one.field) not in known)
    return replace(plan, reasons=(*plan.reasons, *fresh)), repriced, (*said, *notes)


def blocking(plan: Plan, settings: ApplySettings) -> tuple[BlockingReason, ...]:
    """The reasons that stop this apply: every plan-scoped one, and object-scoped ones that are neither skipped by rule nor by flag."""
    return tuple(reason for reason in plan.reasons if reason in plan.plan_scoped or not (settings.skip_blocked or reason.is_always_skipped))


def blocked_result(reasons: tuple[BlockingReason, ...]) -> ApplyResult:
    """Nothing was done, and why."""
    return ApplyResult(exit_code=exit_code_of_reasons(reasons), diagnostics=tuple(as_diagnostic(reason) for reason in reasons))


def as_diagnostic(reason: BlockingReason) -> Diagnostic:
    """A blocking reason as an error."""
    address = str(reason.address) if reason.address is not None else ""
    return error(reason.code, "Apply is blocked.", reason.message, reason.fix, field=reason.field, address=address)


def unfinished_in(snapshot: Snapshot) -> Iterable[Address]:
    """Objects an earlier apply left on their way, and those whose outcome is not known."""
    return (standing.record.address for standing in snapshot if is_unfinished(standing))


def is_unfinished(standing: Standing) -> bool:
    """True where something is still to be done for an object whose record says already what is wanted."""
    record, status = standing.record, standing.status
    is_on_its_way = record.address.kind == "workspace" and (status.phase in UNFINISHED or status.start_is_asked)
    is_on_its_way = is_on_its_way or restore_is_pending(record, status)
    return is_on_its_way or standing.has_open_intent or record.deletion_requested_at is not None


def _under_changed_keys(own: Iterable[Address], snapshot: Snapshot) -> Iterable[Address]:
    """Running Workspaces an SSHKey of this plan may log in to.

    A key takes effect, or ends its sessions, with the apply that says so.
    """
    changed = {address.name for address in own if address.kind == "sshkey"}
    for standing in snapshot if changed else ():
        named = set(standing.record.spec.get("sshKeys") or changed)
        if standing.record.address.kind == "workspace" and standing.status.phase is Phase.RUNNING and named & changed:
            yield standing.record.address


def carry_on(
    outside: Outside, touched: Iterable[Address], snapshot: Snapshot, settings: ApplySettings, interrupts: Interrupts
) -> tuple[ObjectOutcome, ...]:
    """Drive the objects that have something outside until nothing is due."""
    addresses = {standing.record.address: standing.record.uid for standing in snapshot}
    objects = [(addresses[address], address) for address in touched if address in addresses and address.kind in DRIVEN]
    limits = Limits(parallelism=settings.parallelism, timeout=settings.timeout)
    outcomes = drive(outside, objects, addresses, limits, interrupts)
    note_thresholds(outside)
    return outcomes


DRIVEN = frozenset({"workspace", "volume"})
"""Kinds with something outside."""


def resume(outside: Outside, addresses: Iterable[Address], settings: ApplySettings, interrupts: Interrupts) -> ApplyResult:
    """Carry objects on whose records already say what is wanted (start, stop)."""
    snapshot = outside.journal.snapshot()
    outcomes = carry_on(outside, addresses, snapshot, settings, interrupts)
    return ApplyResult(exit_code=exit_code_of(outcomes, (), interrupts), outcomes=outcomes)


def finished(plan: Plan, outcomes: tuple[ObjectOutcome, ...], notes: tuple[Diagnostic, ...], interrupts: Interrupts) -> ApplyResult:
    """What became of the plan, once all that can be done is done."""
    skipped = _still_skipped(plan, outcomes)
    return ApplyResult(exit_code=exit_code_of(outcomes, skipped, interrupts), outcomes=outcomes, diagnostics=notes, skipped=skipped)


def _still_skipped(plan: Plan, outcomes: tuple[ObjectOutcome, ...]) -> tuple[BlockingReason, ...]:
    """Reasons that left an object out. One whose open intent was settled in this run left nothing out."""
    settled = {outcome.address for outcome in outcomes if outcome.is_ok}
    return tuple(r for r in plan.reasons if not (r.code == "IntentUnsettled" and r.address in settled))


def exit_code_of(outcomes: tuple[ObjectOutcome, ...], skipped: tuple[BlockingReason, ...], interrupts: Interrupts) -> ExitCode:
    """cli.md, "Exit codes": all done 0; an open intent, something left out, or part done 14; nothing done 1; interrupted 130."""
    if interrupts.is_soft:
        return ExitCode.INTERRUPTED
    bad = [outcome for outcome in outcomes if not outcome.is_ok]
    if not bad and not skipped:
        return ExitCode.DONE
    something_done = any(outcome.is_ok and outcome.address.kind == "workspace" for outcome in outcomes)
    is_open = any(outcome.has_open_intent or outcome.code == "Unfinished" for outcome in outcomes)
    return ExitCode.PARTIAL if something_done or is_open or skipped else ExitCode.ERROR


_ONCE_IT_ANSWERS = "Apply again once the provider answers; see what is wrong with it:\n  nodusctl doctor"
_FIXES = {
    "IntentUnsettled": _ONCE_IT_ANSWERS,
    "ProviderNotReady": _ONCE_IT_ANSWERS,
    "MachineLost": "Start it again; every approved offer is tried anew:\n  nodusctl start {name}",
    "NodeUnreachable": "Nothing of it is lost. Once its network is well again, apply again; see what is known of it:\n  nodusctl doctor",
    **dict.fromkeys(
        KEY_TROUBLES, "Give this process the state's key, then apply again; see where it was looked for:\n  nodusctl config view --origin"
    ),
}


def notes_of(result: ApplyResult) -> tuple[Diagnostic, ...]:
    """What to tell about objects that are not where they should be."""
    failed = tuple(
        warning(
            o.code or "Failed",
            "An object is not where it should be.",
            o.message,
            _FIXES.get(o.code, "").format(name=o.address.name),
            address=str(o.address),
        )
        for o in result.outcomes
        if not o.is_ok
    )
    left_out = tuple(replace(as_diagnostic(r), summary="An object was left out.") for r in result.skipped)
    return (*failed, *left_out)
