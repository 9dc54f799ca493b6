"""Setting a tick up, looking at it, and taking it away: one a project, by one timekeeper at a time."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from pathlib import Path

from nodusctl.base.diagnostics import Diagnostic, error
from nodusctl.base.exits import UserError
from nodusctl.engine.cron_command import LONGEST_LINE, TickCommand, crontab_line
from nodusctl.engine.cron_programs import CrontabProgram, SystemdUser, Timekeeper, missing_program
from nodusctl.engine.cron_record import TickerRecord, forget_ticker, read_ticker, write_ticker
from nodusctl.engine.cron_trial import Account, Trial, failures_of
from nodusctl.ports.passes import Passes, PassNote

_SHOWN = 5


@dataclass(frozen=True, slots=True, kw_only=True)
class Places:
    """Where a tick can be set up on this computer."""

    crontab: CrontabProgram
    systemd: SystemdUser

    @property
    def all(self) -> tuple[Timekeeper, ...]:
        """Both."""
        return (self.crontab, self.systemd)


@dataclass(frozen=True, slots=True, kw_only=True)
class Wish:
    """What the person asked for. ``kind`` is crontab, systemd, or empty for whatever works best here."""

    command: TickCommand
    every: timedelta
    kind: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Around:
    """Where it is asked: the account, its environment, the state's folder and key file, the time and the host."""

    account: Account
    environment: Mapping[str, str]
    state_folder: Path
    key_file: Path
    now: datetime
    host: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Ticker:
    """A tick that is set up. ``text`` is the crontab's line, or the units."""

    kind: str
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class TickerReport:
    """What ``cron show`` tells: what is set up, how often, and how the last passes went."""

    tickers: tuple[Ticker, ...] = ()
    record: TickerRecord | None = None
    passes: tuple[PassNote, ...] = ()
    doubts: tuple[Diagnostic, ...] = ()

    @property
    def last_good(self) -> PassNote | None:
        """The newest pass without a failure among those shown."""
        return next((one for one in self.passes if one.is_good), None)


Tried = Callable[[Trial], tuple[Diagnostic, ...]]
"""What would fail, found by trying."""


def install(wish: Wish, places: Places, around: Around, tried: Tried = failures_of) -> TickerReport:
    """Try it in an empty environment, then set it up in place of whatever was. UserError with all that failed; then nothing was written."""
    keeper = chosen(wish.kind, places)
    _refuse_long(wish, keeper)
    added = keeper.variables(wish.command.folder)
    failed = tried(Trial(command=wish.command, account=around.account, here=around.environment, key_file=around.key_file, added=added))
    if failed:
        raise UserError(_trial_failed(wish), *failed)
    for other in places.all:
        if other.kind != keeper.kind and other.installed(wish.command.folder):
            other.remove(wish.command.folder)
    text = keeper.install(wish.command, wish.every)
    record = TickerRecord(kind=keeper.kind, every=wish.every, installed_at=around.now, host=around.host)
    write_ticker(around.state_folder, record)
    return TickerReport(tickers=(Ticker(kind=keeper.kind, text=text),), record=record, doubts=tuple(keeper.doubts()))


def remove(folder: Path, places: Places, state_folder: Path) -> tuple[Ticker, ...]:
    """Take away what is set up for the project; what that was."""
    found = _set_up(folder, places)
    for one in found:
        next(keeper for keeper in places.all if keeper.kind == one.kind).remove(folder)
    forget_ticker(state_folder)
    return found


def look(folder: Path, places: Places, state_folder: Path, passes: Passes) -> TickerReport:
    """What is set up and how it went."""
    found = _set_up(folder, places)
    kinds = {one.kind for one in found}
    doubts = [doubt for keeper in places.all if keeper.kind in kinds for doubt in keeper.doubts()]
    return TickerReport(tickers=found, record=read_ticker(state_folder), passes=passes.latest(_SHOWN), doubts=tuple(doubts))


def chosen(kind: str, places: Places) -> Timekeeper:
    """The timekeeper asked for; unasked, a crontab that somebody reads, else systemd, else a crontab that nobody reads yet."""
    has_crontab = places.crontab.is_here()
    if kind == "systemd" or (not kind and not (has_crontab and places.crontab.daemon_runs())):
        if places.systemd.is_usable():
            return places.systemd
        if kind == "systemd":
            detail = "systemctl --user doesn't answer: there is no systemd here, or no session of yours that it looks after."
            raise UserError(error("CronRefused", "systemd can't be used.", detail, "Use the crontab:\n  nodusctl cron install"))
    if not has_crontab:
        raise missing_program("crontab")
    return places.crontab


def _set_up(folder: Path, places: Places) -> tuple[Ticker, ...]:
    found: Sequence[tuple[str, str]] = [(keeper.kind, keeper.installed(folder)) for keeper in places.all]
    return tuple(Ticker(kind=kind, text=text) for kind, text in found if text)


def _refuse_long(wish: Wish, keeper: Timekeeper) -> None:
    line = crontab_line(wish.command, wish.every)
    if "\n" in line:
        raise UserError(error("Usage", "A folder's name has a line break in it", "No crontab can hold it.", "Rename the folder."))
    if keeper.kind == "crontab" and len(line.encode(errors="surrogateescape")) > LONGEST_LINE:
        detail = f"It would have {len(line)} characters; cron reads {LONGEST_LINE}."
        raise UserError(error("Usage", "The crontab's line would be too long", detail, "Keep fewer variables (--keep)."))


def _trial_failed(wish: Wish) -> Diagnostic:
    detail = f"Nothing was written. This was run with an empty environment, as cron does:\n  {wish.command.shell()}"
    return error("TrialFailed", "A tick would fail under cron.", detail, "Mend what follows, then repeat:\n  nodusctl cron install")
