"""``--since``, ``--until`` and ``--month``: days count whole, in UTC."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from nodusctl.base.exits import ExitCode, UserError
from nodusctl.cli.periods import period_of
from nodusctl.engine.spending import ALWAYS, Period


def utc(*parts: int) -> datetime:
    return datetime(*parts, tzinfo=UTC)  # type: ignore[arg-type,misc]


@pytest.mark.parametrize(
    ("since", "until", "month", "period"),
    [
        ("", "", "", ALWAYS),
        ("2026-10-26", "", "", Period(since=utc(2026, 10, 26))),
        ("", "2026-10-31", "", Period(until=utc(2026, 11, 1))),
        ("", "2026-10-31T12:00:00+02:00", "", Period(until=utc(2026, 10, 31, 10))),
        ("2026-10-26", "2026-10-26", "", Period(since=utc(2026, 10, 26), until=utc(2026, 10, 27))),
        ("", "", "2026-12", Period(since=utc(2026, 12, 1), until=utc(2027, 1, 1))),
    ],
)
def test_a_period_is_what_the_options_say(since: str, until: str, month: str, period: Period) -> None:
    assert period_of(since, until, month) == period


@pytest.mark.parametrize(
    ("since", "until", "month"),
    [
        ("yesterday", "", ""),
        ("2026-02-30", "", ""),
        ("", "2026-10-26T09:00:00", ""),
        ("", "", "2026-13"),
        ("", "", "October"),
        ("2026-10-26", "", "2026-10"),
        ("2026-10-26", "2026-10-25", ""),
    ],
)
def test_anything_else_is_a_usage_error(since: str, until: str, month: str) -> None:
    with pytest.raises(UserError) as raised:
        period_of(since, until, month)
    assert raised.value.exit_code is ExitCode.USAGE


def test_a_period_ends_before_its_end() -> None:
    october = period_of("", "", "2026-10")
    assert utc(2026, 10, 1) in october
    assert utc(2026, 11, 1) not in october
