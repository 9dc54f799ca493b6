"""A state as a whole: pulled to a file, pushed from one, kept, and brought back.

A push moves a state on, or to another place: it takes only the same state, not behind what is there. A restore goes back on purpose; its
serial rises past everything there was, so that no plan made in between fits any more. Both keep what they replace.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import partial
from pathlib import Path

from nodusctl.base.diagnostics import Diagnostic, error
from nodusctl.base.exits import ExitCode, UserError
from nodusctl.base.nearest import nearest
from nodusctl.base.timestamps import format_time
from nodusctl.engine.locking import under_plan_lock
from nodusctl.ports.claims import Claims
from nodusctl.ports.pulled import Backup, Identity, PulledState, Replaced, Replacement, StateCopies

_LEAP = 1000


@dataclass(frozen=True, slots=True, kw_only=True)
class WholeState:
    """A state open for writing, as a whole."""

    copies: StateCopies
    claims: Claims


@dataclass(frozen=True, slots=True, kw_only=True)
class Keeper:
    """Who does it, for which project, with which command, when, under which operation id."""

    project: str
    operation_id: str
    command: str
    by: str
    at: datetime
    lock_timeout: timedelta


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """What came of a push or a restore."""

    before: Identity
    state: PulledState
    replaced: Replaced


def pull(copies: StateCopies, by: str, at: datetime) -> PulledState:
    """All of the state. UserError where there is none."""
    state = copies.pull(by, at)
    if not state.identity.lineage:
        raise UserError(_no_state())
    return state


def keep_by_hand(copies: StateCopies, by: str, at: datetime) -> Backup:
    """Keep the state as it is, for as long as nobody removes the file. UserError where there is none."""
    if not copies.identity().lineage:
        raise UserError(_no_state())
    return copies.keep("by-hand", by, at)


def push(path: Path, *, state: WholeState, keeper: Keeper, is_forced: bool) -> Outcome:
    """Put the state of a file in the place of what is there.

    UserError: ForeignState (11) for another state or project, StateBehind (11) for one that lacks what is there, Locked (13) while somebody
    works; ``is_forced`` allows the first two, and an edited file. Another project's state is never taken.
    """
    pulled = state.copies.read(path, takes_edited=is_forced)
    deed = _Deed(
        check=partial(_refuse_push, pulled, keeper.project, is_forced=is_forced),
        serial=_pushed_serial(pulled),
        code="StatePushed",
        message=f"{keeper.by} pushed the state {_shown(pulled)}.",
        why="before-push",
    )
    return _replace(pulled, state, keeper, deed)


def restore(path: Path, *, state: WholeState, keeper: Keeper, is_forced: bool) -> Outcome:
    """Go back to a kept state. UserError as for a push, but that being behind is what it is for."""
    pulled = state.copies.read(path)
    deed = _Deed(
        check=partial(_refuse_restore, pulled, keeper.project, is_forced=is_forced),
        serial=_restored_serial(pulled),
        code="StateRestored",
        message=f"{keeper.by} went back to the state {_shown(pulled)}.",
        why="before-restore",
    )
    return _replace(pulled, state, keeper, deed)


def find_kept(word: str, start: Path, backups: Sequence[Backup]) -> Path:
    """The file of a backup's name, or the file at a path. UserError, with the nearest name, for neither."""
    named = next((one.path for one in backups if word in (one.name, one.name.removesuffix(".json"))), None)
    if named is not None:
        return named
    if (start / word).is_file():
        return start / word
    near = nearest(word, [one.name for one in backups])
    fix = f"Did you mean {near}?" if near else "See what is kept:\n  nodusctl state backup --list"
    raise UserError(error("NotFound", "There is no such kept state.", f"{word} is neither the name of a backup nor a file.", fix))


@dataclass(frozen=True, slots=True, kw_only=True)
class _Deed:
    """What tells a push from a restore."""

    check: Callable[[Identity], None]
    serial: Callable[[int], int]
    code: str
    message: str
    why: str


def _replace(pulled: PulledState, state: WholeState, keeper: Keeper, deed: _Deed) -> Outcome:
    before: list[Identity] = []

    def check(present: Identity) -> None:
        deed.check(present)
        before.append(present)

    replacement = Replacement(
        state=pulled,
        check=check,
        serial=deed.serial,
        command=keeper.command,
        by=keeper.by,
        at=keeper.at,
        operation_id=keeper.operation_id,
        code=deed.code,
        message=deed.message,
        why=deed.why,
    )
    done = under_plan_lock(state.claims, keeper.command, keeper.lock_timeout, lambda: state.copies.replace(replacement))
    return Outcome(before=before[-1], state=pulled, replaced=done)


def _refuse_push(pulled: PulledState, project: str, present: Identity, *, is_forced: bool) -> None:
    _refuse_always(pulled, project, present)
    if is_forced or not present.lineage:
        return
    refused = _foreign(pulled, present) or _behind(pulled, present)
    if refused is not None:
        raise UserError(refused, exit_code=ExitCode.REFUSED)


def _refuse_restore(pulled: PulledState, project: str, present: Identity, *, is_forced: bool) -> None:
    _refuse_always(pulled, project, present)
    refused = _foreign(pulled, present) if present.lineage and not is_forced else None
    if refused is not None:
        raise UserError(refused, exit_code=ExitCode.REFUSED)


def _refuse_always(pulled: PulledState, project: str, present: Identity) -> None:
    theirs = pulled.identity.project
    if theirs != project:
        detail = f"The file holds the state of project {theirs}; the project file says {project}."
        fix = "Name the file of this project's state, or work in that project's folder."
        raise UserError(error("ForeignState", "The file is another project's state.", detail, fix), exit_code=ExitCode.REFUSED)
    if present.at_work:
        detail = "\n".join(("Their work would be lost from the record, though not from the bill:", *present.at_work))
        fix = "Wait until it has ended, then repeat. A claim of a process that is gone ends by itself within minutes."
        raise UserError(error("Locked", "Somebody works on objects of this state.", detail, fix), exit_code=ExitCode.LOCKED)


def _foreign(pulled: PulledState, present: Identity) -> Diagnostic | None:
    theirs = pulled.identity
    if theirs.lineage == present.lineage:
        return None
    detail = (
        f"The file has lineage {theirs.lineage}, serial {theirs.serial}; the state here has lineage {present.lineage}, serial "
        f"{present.serial}. Machines carry the lineage: what runs by the state here would be nobody's."
    )
    fix = "If that is meant (what is here is kept first):\n  nodusctl state push FILE --force"
    return error("ForeignState", "The file is another state.", detail, fix)


def _behind(pulled: PulledState, present: Identity) -> Diagnostic | None:
    theirs = pulled.identity
    lacking = (
        (theirs.serial < present.serial, f"the file is at serial {theirs.serial}, the state at {present.serial}"),
        *_lacks("event", pulled, "journal", theirs.last_event.number, present.last_event),
        *_lacks("ledger entry", pulled, "entries", theirs.last_entry.number, present.last_entry),
    )
    why = next((words for is_so, words in lacking if is_so), "")
    if not why:
        return None
    fix = (
        "Pull the state as it is, and go on from that:\n  nodusctl state pull -o FILE\n"
        "To go back on purpose (what is here is kept first):\n  nodusctl state restore FILE"
    )
    return error("StateBehind", "The state here has what the file lacks.", f"{why[:1].upper()}{why[1:]}.", fix)


def _lacks(what: str, pulled: PulledState, table: str, theirs: int, newest: tuple[int, str]) -> tuple[tuple[bool, str], ...]:
    number, body = newest
    return (
        (theirs < number, f"the file ends at {what} {theirs}, the state has {number}"),
        (pulled.body_of(table, number) != body, f"{what} {number} is another one in the file than in the state"),
    )


def _pushed_serial(pulled: PulledState) -> Callable[[int], int]:
    """The file's own; past both where it was forced onto something further on, so that no plan fits that was made meanwhile."""
    own = pulled.identity.serial
    return lambda present: own if own >= present else present + 1


def _restored_serial(pulled: PulledState) -> Callable[[int], int]:
    """Past both. Where nothing is there nobody knows how far the lost state had come, so it is a leap: plans made for it must not fit."""
    own = pulled.identity.serial
    return lambda present: max(own, present) + 1 if present else (own // _LEAP + 1) * _LEAP


def _shown(pulled: PulledState) -> str:
    return f"that was pulled at {format_time(pulled.pulled_at)} by {pulled.pulled_by}, at serial {pulled.identity.serial}"


def _no_state() -> Diagnostic:
    return error("NotFound", "There is no state yet.", "Its first apply makes it.", "nodusctl apply")
