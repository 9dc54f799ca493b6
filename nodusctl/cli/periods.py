"""``--since``, ``--until`` and ``--month`` as one Period, in UTC, which is where months of money are cut."""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta

from nodusctl.base.timestamps import parse_time
from nodusctl.cli.words import usage_error
from nodusctl.engine.spending import Period
from nodusctl.ledger.balances import month_of

_DAY = re.compile(r"\d{4}-\d{2}-\d{2}\Z")
_MONTH = re.compile(r"\d{4}-\d{2}\Z")


def period_of(since: str, until: str, month: str) -> Period:
    """The period the options name. A day counts whole: ``--until 2026-10-31`` is until its end. A usage error says what is right."""
    if month:
        if since or until:
            usage_error("--month stands alone", fix="leave out --since and --until")
        start, end = month_of(_first_day(month))
        return Period(since=start, until=end)
    period = Period(since=_moment("--since", since, is_end=False), until=_moment("--until", until, is_end=True))
    if period.since is not None and period.until is not None and period.since >= period.until:
        usage_error("The period is empty", f"It begins at {since} and ends at {until}.")
    return period


def _moment(option: str, text: str, *, is_end: bool) -> datetime | None:
    if not text:
        return None
    day = _read_as("%Y-%m-%d", text) if _DAY.match(text) else None
    if day is not None:
        return day + timedelta(days=1) if is_end else day
    try:
        return parse_time(text)
    except ValueError:
        usage_error(f"{option} is no time", f"It says {text!r}.", "write a day such as 2026-10-26, or a time such as 2026-10-26T09:00:00Z")


def _first_day(text: str) -> datetime:
    day = _read_as("%Y-%m", text) if _MONTH.match(text) else None
    if day is None:
        usage_error("--month is no month", f"It says {text!r}.", "write a month such as 2026-10")
    return day


def _read_as(form: str, text: str) -> datetime | None:
    """None for a day that no calendar has."""
    try:
        return datetime.strptime(text, form).replace(tzinfo=UTC)
    except ValueError:
        return None
