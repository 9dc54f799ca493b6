"""Moments as a person in a zone says them."""

from __future__ import annotations

from datetime import UTC, datetime

from nodusctl.base.zones import local_span_text, local_text

OCTOBER = datetime(2026, 10, 26, 8, 0, tzinfo=UTC)


def test_a_moment_is_said_with_its_day_and_zone() -> None:
    assert local_text(OCTOBER, "Europe/Madrid") == "Mon 26 Oct 09:00 Europe/Madrid"
    assert local_text(OCTOBER, "") == "Mon 26 Oct 08:00 UTC"


def test_a_span_says_the_day_of_its_end_only_where_it_is_another() -> None:
    assert local_span_text(OCTOBER, OCTOBER.replace(hour=16), "Europe/Madrid") == "Mon 26 Oct 09:00-17:00 Europe/Madrid"
    assert (
        local_span_text(OCTOBER, datetime(2026, 10, 27, 5, tzinfo=UTC), "Europe/Madrid")
        == "Mon 26 Oct 09:00 - Tue 27 Oct 06:00 Europe/Madrid"
    )
    assert local_span_text(OCTOBER, None, "UTC") == "Mon 26 Oct 08:00 UTC"
