"""What ticks a project, and how the last ticks went, as text and as JSON."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from nodusctl.base.durations import format_duration
from nodusctl.base.timestamps import format_time
from nodusctl.engine.cron_setup import Ticker, TickerReport
from nodusctl.ports.passes import PassNote
from nodusctl.render.spans import moment_text
from nodusctl.render.style import Style
from nodusctl.render.tables import table

_WHERE = {"crontab": "your crontab", "systemd": "a timer of your systemd"}


def installed_text(report: TickerReport, style: Style) -> str:
    """What was written where, after the trial."""
    lines = [f"Written to {_WHERE[one.kind]}{_every(report)}:\n{_indented(one.text)}" for one in report.tickers]
    return "\n".join(["Tried in an environment as empty as cron's: good.", *lines])


def removed_text(removed: Sequence[Ticker], style: Style) -> str:
    """What was taken away."""
    if not removed:
        return "Nothing was installed for this project."
    return "\n".join(f"Removed from {_WHERE[one.kind]}:\n{_indented(one.text)}" for one in removed)


def report_text(report: TickerReport, style: Style) -> str:
    """What is installed, then the last passes, newest first."""
    lines = [f"In {_WHERE[one.kind]}{_every(report)}:\n{_indented(one.text)}" for one in report.tickers]
    if not lines:
        lines = ["Nothing is installed for this project. To have cron tick every 5 minutes:\n  nodusctl cron install"]
    if not report.passes:
        return "\n".join([*lines, "No tick was made yet."])
    rows = [[moment_text(one.started_at), _took(one), one.host, _outcome(one, style)] for one in report.passes]
    return "\n".join([*lines, "", table(("LAST TICKS", "TOOK", "HOST", "OUTCOME"), rows, Style(width=style.width))])


def report_document(report: TickerReport) -> dict[str, Any]:
    """The same as JSON."""
    good = report.last_good
    return {
        "installed": tickers_document(report.tickers),
        "every": format_duration(report.record.every) if report.record is not None else None,
        "installedAt": format_time(report.record.installed_at) if report.record is not None else None,
        "lastGoodTickAt": format_time(good.started_at) if good is not None else None,
        "ticks": [_pass_document(one) for one in report.passes],
    }


def tickers_document(tickers: Sequence[Ticker]) -> list[dict[str, str]]:
    """Timekeepers with what stands there."""
    return [{"kind": one.kind, "text": one.text} for one in tickers]


def _pass_document(one: PassNote) -> dict[str, Any]:
    return {
        "startedAt": format_time(one.started_at),
        "endedAt": format_time(one.ended_at),
        "host": one.host,
        "isGood": one.is_good,
        "failures": list(one.failures),
    }


def _every(report: TickerReport) -> str:
    return f", every {format_duration(report.record.every)}" if report.record is not None else ""


def _took(one: PassNote) -> str:
    return f"{(one.ended_at - one.started_at).total_seconds():.1f}s"


def _outcome(one: PassNote, style: Style) -> str:
    return "good" if one.is_good else f"failed: {'; '.join(one.failures)}"


def _indented(text: str) -> str:
    return "\n".join(f"  {line}" for line in text.splitlines())
