"""Apply: from a Plan to a world that matches it.

The plan lock is held only while the plan is compared, consumed and its records are written. What follows is the executor's loop over the
objects the plan touches, and over those an earlier apply left unfinished.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from datetime import timedelta

from nodusctl.base.diagnostics import Diagnostic, error, warning
from nodusctl.base.exits import ExitCode, UserError
from nodusctl.base.ids import Address
from nodusctl.engine.locking import under_plan_lock
from nodusctl.engine.refusing import facts_moved, secret_moved, stale_diagnostic, wrong_provider_version
from nodusctl.engine.repricing import RateOf, reprice
from nodusctl.engine.sealing_secrets import sealed_values
from nodusctl.engine.secret_values import fingerprints
from nodusctl.engine.thresholds import note_thresholds
from nodusctl.executor.drive import drive
from nodusctl.executor.outside import Outside
from nodusctl.executor.runs import Interrupts, Limits, ObjectOutcome
from nodusctl.lifecycle.homes import restore_is_pending
from nodusctl.plan.hashing import plan_hash
from nodusctl.plan.plan import Plan
from nodusctl.plan.reasons import BlockingReason
from nodusctl.planner.records import RecordsAfter, records_after
from nodusctl.ports.journal import Consumption
from nodusctl.state.snapshot import Snapshot
from nodusctl.state.status import Phase

UNFINISHED = frozenset({Phase.PENDING, Phase.STARTING, Phase.RECOVERING, Phase.STOPPING, Phase.TERMINATING})


@dataclass(frozen=True, slots=True, kw_only=True)
class ApplySettings:
    """What the person allowed. ``is_saved_plan``: it runs its own Actions only, and its prices are asked again first."""

    parallelism: int = 10
    timeout: timedelta = timedelta(minutes=30)
    lock_timeout: timedelta = timedelta(0)
    skip_blocked: bool = False
    is_saved_plan: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class ApplyResult:
    """What became of each object, and the one exit code that says so."""

    exit_code: ExitCode
    outcomes: tuple[ObjectOutcome, ...] = ()
    diagnostics: tuple[Diagnostic, ...] = ()
    skipped: tuple[BlockingReason, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class SecretValues:
    """Values read for this apply, in clear: by Secret address, then key. Sealed at once; never in a plan."""

    by_address: Mapping[Address, Mapping[str, bytes]] = field(default_factory=dict, repr=False)


def apply_plan(
    plan: Plan,
    *,
    outside: Outside,
    rate_of: RateOf,
    command: str,
    settings: ApplySettings,
    interrupts: Interrupts,
    secrets: SecretValues | None = None,
) -> ApplyResult:
    """Carry a plan out. UserError for a lock that is held (13), a plan the state has left behind (11), a price above its ceiling (12)."""
    # Asked before the lock too: a refused plan leaves the state byte for byte, and the order of refusals puts the price last.
    _refuse_if_behind(plan, plan_hash(plan), outside.journal.snapshot(), outside)
    repriced, notes = reprice(plan, rate_of, outside.clock.now()) if settings.is_saved_plan else (plan, ())
    blocked = blocking(plan, settings)
    if blocked:
        return ApplyResult(exit_code=ExitCode.BLOCKED, diagnostics=tuple(as_diagnostic(reason) for reason in blocked))
    start = _Start(plan=plan, repriced=repriced, outside=outside, command=command, settings=settings, secrets=secrets or SecretValues())
    consumed = under_plan_lock(outside.claims, command, settings.lock_timeout, lambda: _consume(start))
    outcomes = _drive(outside, consumed.touched, consumed.snapshot, settings, interrupts)
    skipped = _still_skipped(plan, outcomes)
    return ApplyResult(exit_code=exit_code_of(outcomes, skipped, interrupts), outcomes=outcomes, diagnostics=notes, skipped=skipped)


def blocking(plan: Plan, settings: ApplySettings) -> tuple[BlockingReason, ...]:
    """The reasons that stop this apply: every plan-scoped one, and object-scoped ones that are neither skipped by rule nor by flag."""
    return tuple(reason for reason in plan.reasons if reason in plan.plan_scoped or not (settings.skip_blocked or reason.is_always_skipped))


def as_diagnostic(reason: BlockingReason) -> Diagnostic:
    """A blocking reason as an error."""
    address = str(reason.address) if reason.address is not None else ""
    return error(reason.code, "Apply is blocked.", reason.message, reason.fix, field=reason.field, address=address)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Consumed:
    snapshot: Snapshot
    touched: tuple[Address, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class _Start:
    """One apply about to be started."""

    plan: Plan
    repriced: Plan
    outside: Outside
    command: str
    settings: ApplySettings
    secrets: SecretValues


def _consume(start: _Start) -> _Consumed:
    """Compare, and write everything the plan wants of the state in one transaction."""
    plan, journal = start.plan, start.outside.journal
    snapshot = journal.snapshot()
    digest_shown = plan_hash(plan)
    _refuse_if_behind(plan, digest_shown, snapshot, start.outside)
    skipped = {reason.address for reason in plan.reasons if reason.address is not None}
    after = records_after(
        start.repriced,
        snapshot,
        start.outside.ids,
        plan_hash=digest_shown,
        by=start.outside.owner,
        now=start.outside.clock.now(),
        skipped=skipped,
        secret_hmacs=_hmacs(start, snapshot),
    )
    if after.records:
        journal.consume(_consumption(start, digest_shown, after))
    unfinished = () if start.settings.is_saved_plan else _unfinished(journal.snapshot())
    own = tuple(action.address for action in plan.actions if action.address not in skipped)
    touched = dict.fromkeys((*own, *_under_changed_keys(own, snapshot), *unfinished))
    return _Consumed(snapshot=journal.snapshot(), touched=tuple(touched))


def _under_changed_keys(own: Iterable[Address], snapshot: Snapshot) -> Iterable[Address]:
    """Running Workspaces an SSHKey of this plan may log in to.

    A key takes effect, or ends its sessions, with the apply that says so.
    """
    changed = {address.name for address in own if address.kind == "sshkey"}
    for standing in snapshot if changed else ():
        named = set(standing.record.spec.get("sshKeys") or changed)
        if standing.record.address.kind == "workspace" and standing.status.phase is Phase.RUNNING and named & changed:
            yield standing.record.address


def _hmacs(start: _Start, snapshot: Snapshot) -> dict[Address, Mapping[str, str]]:
    """Fingerprints of the values read now. UserError (11) where a reviewed plan saw other bytes."""
    found: dict[Address, Mapping[str, str]] = {}
    planned = {action.address: action.secret_hmacs for action in start.plan.actions}
    for address, values in start.secrets.by_address.items():
        fresh = fingerprints(start.outside.journal, values) or {}
        standing = snapshot.get(address)
        known = standing.status.secret.hmacs if standing is not None and standing.status.secret is not None else {}
        then = planned.get(address)
        found[address] = {**known, **fresh}
        if start.settings.is_saved_plan and then is not None and any(then.get(key) != text for key, text in fresh.items()):
            raise UserError(secret_moved(address), exit_code=ExitCode.REFUSED)
    return found


def _refuse_if_behind(plan: Plan, digest_shown: str, snapshot: Snapshot, outside: Outside) -> None:
    """The refusals of cli.md, "Plan file", in their order: consumed, lineage, serial, a fact, a provider's version."""
    by = outside.journal.consumed_by(digest_shown, plan.id)
    if by is not None:
        raise UserError(stale_diagnostic("consumed", plan, snapshot, by), exit_code=ExitCode.REFUSED)
    basis = plan.basis
    if snapshot.lineage and basis.lineage != snapshot.lineage:
        raise UserError(stale_diagnostic("lineage", plan, snapshot, None), exit_code=ExitCode.REFUSED)
    if basis.serial != snapshot.serial:
        newest = next(iter(outside.journal.operations(limit=1)), None)
        raise UserError(stale_diagnostic("serial", plan, snapshot, newest), exit_code=ExitCode.REFUSED)
    moved = facts_moved(plan, snapshot) or wrong_provider_version(plan, outside.providers)
    if moved is not None:
        raise UserError(moved, exit_code=ExitCode.REFUSED)


def _consumption(start: _Start, digest_shown: str, after: RecordsAfter) -> Consumption:
    plan, outside = start.plan, start.outside
    return Consumption(
        operation_id=outside.ids.new_uid(),
        command=start.command,
        by=outside.owner,
        at=outside.clock.now(),
        lineage=plan.basis.lineage,
        serial=plan.basis.serial,
        plan_hash=digest_shown,
        plan_id=plan.id,
        action_addresses=tuple(str(action.address) for action in plan.actions),
        records=after.records,
        statuses=after.statuses,
        sealed=sealed_values(start.secrets.by_address, after, outside.journal, outside.journal.snapshot()),
        project=plan.basis.project,
    )


def _unfinished(snapshot: Snapshot) -> Iterable[Address]:
    """Objects an earlier apply left on their way, and those whose outcome is not known."""
    for standing in snapshot:
        record, status = standing.record, standing.status
        is_on_its_way = record.address.kind == "workspace" and (status.phase in UNFINISHED or status.start_is_asked)
        is_on_its_way = is_on_its_way or restore_is_pending(record, status)
        if is_on_its_way or standing.has_open_intent or record.deletion_requested_at is not None:
            yield record.address


def _drive(
    outside: Outside, touched: Iterable[Address], snapshot: Snapshot, settings: ApplySettings, interrupts: Interrupts
) -> tuple[ObjectOutcome, ...]:
    addresses = {standing.record.address: standing.record.uid for standing in snapshot}
    objects = [(addresses[address], address) for address in touched if address in addresses and address.kind in _DRIVEN]
    limits = Limits(parallelism=settings.parallelism, timeout=settings.timeout)
    outcomes = drive(outside, objects, addresses, limits, interrupts)
    note_thresholds(outside)
    return outcomes


_DRIVEN = frozenset({"workspace", "volume"})


def resume(outside: Outside, addresses: Iterable[Address], settings: ApplySettings, interrupts: Interrupts) -> ApplyResult:
    """Carry objects on whose records already say what is wanted (start, stop)."""
    snapshot = outside.journal.snapshot()
    outcomes = _drive(outside, addresses, snapshot, settings, interrupts)
    return ApplyResult(exit_code=exit_code_of(outcomes, (), interrupts), outcomes=outcomes)


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


def notes_of(result: ApplyResult) -> tuple[Diagnostic, ...]:
    """What to tell about objects that are not where they should be."""
    failed = tuple(
        warning(o.code or "Failed", "An object is not where it should be.", o.message, address=str(o.address))
        for o in result.outcomes
        if not o.is_ok
    )
    left_out = tuple(replace(as_diagnostic(r), summary="An object was left out.") for r in result.skipped)
    return (*failed, *left_out)
