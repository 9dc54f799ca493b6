"""NoTicker: an object needs somebody who ticks, and for three intervals nobody did so with success.

Nothing else shows a dead ticker: a pass that isn't made leaves no trace. In a simulated world this is a note, not a warning, because there
time itself goes on by hand.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from nodusctl.base.diagnostics import Diagnostic, Severity
from nodusctl.base.durations import format_duration
from nodusctl.base.timestamps import format_time
from nodusctl.engine.cron_record import DEFAULT_EVERY, TickerRecord
from nodusctl.lifecycle.needing import Need, need_of
from nodusctl.ports.journal import Journal
from nodusctl.ports.passes import Passes, PassNote

INTERVALS = 3
_NAMED = 3


@dataclass(frozen=True, slots=True, kw_only=True)
class Watch:
    """What a verdict rests on. ``ticker`` is what ``cron install`` wrote down, ``lead`` the project's windowLead."""

    now: datetime
    lead: timedelta
    ticker: TickerRecord | None = None
    is_simulated: bool = False

    @property
    def patience(self) -> timedelta:
        """How old the last good pass may be."""
        return INTERVALS * (self.ticker.every if self.ticker is not None else DEFAULT_EVERY)


def no_ticker(watch: Watch, journal: Journal, passes: Passes) -> Diagnostic | None:
    """The warning, or None. Objects are only read where the last good pass is old."""
    latest = passes.latest()
    good = next((one for one in latest if one.is_good), None)
    if good is not None and watch.now - good.ended_at <= watch.patience:
        return None
    needs = [need for standing in journal.snapshot() if (need := need_of(standing, watch.now, watch.lead)) is not None]
    urgent = [need for need in needs if _is_urgent(need, watch, has_passes=bool(latest))]
    return _said(urgent, watch, latest, good) if urgent else None


def _is_urgent(need: Need, watch: Watch, *, has_passes: bool) -> bool:
    """A promise counts at once, unless a ticker was set up that simply hadn't its turn yet; the rest after three intervals."""
    if need.is_promised and (has_passes or watch.ticker is None):
        return True
    since = need.since
    if need.is_promised and watch.ticker is not None:
        since = max(since, watch.ticker.installed_at)
    return watch.now - since > watch.patience


def _said(needs: Sequence[Need], watch: Watch, latest: Sequence[PassNote], good: PassNote | None) -> Diagnostic:
    detail = f"{_last_words(watch, latest, good)} {'; '.join(_named(needs))}."
    severity = Severity.NOTE if watch.is_simulated else Severity.WARNING
    said = "Nothing looks after this project between commands."
    return Diagnostic(severity=severity, code="NoTicker", summary=said, detail=detail, fix=_fix(watch))


def _named(needs: Sequence[Need]) -> Iterable[str]:
    yield from (f"{need.address}: {need.why}" for need in needs[:_NAMED])
    if len(needs) > _NAMED:
        yield f"and {len(needs) - _NAMED} more"


def _last_words(watch: Watch, latest: Sequence[PassNote], good: PassNote | None) -> str:
    if not latest:
        return "No tick was ever made here."
    age = format_duration(timedelta(minutes=(watch.now - good.ended_at) // timedelta(minutes=1))) if good is not None else ""
    said = f"The last good tick ended {age} ago, at {format_time(good.ended_at)}." if good is not None else "No tick was good yet."
    last = latest[0]
    return said if last.is_good else f"{said} The last one failed: {'; '.join(last.failures[:_NAMED])}."


def _fix(watch: Watch) -> str:
    if watch.is_simulated:
        return "A simulated world's time goes on by hand; let it go on with ticks on the way:\n  nodusctl sim advance 1h --tick 5m"
    if watch.ticker is not None:
        return "See what is installed and how its ticks went; installing again tries it out:\n  nodusctl cron show\n  nodusctl cron install"
    return "Let cron tick every 5 minutes:\n  nodusctl cron install"
