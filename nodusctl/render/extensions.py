"""A session that was made longer, as text and as JSON."""

from __future__ import annotations

from typing import Any

from nodusctl.base.timestamps import format_time
from nodusctl.base.zones import local_text
from nodusctl.engine.extending import Extended
from nodusctl.render.spans import moment_text


def extension_text(done: Extended) -> str:
    """The new end in the zone of its windows and in UTC, and what the difference costs."""
    until = f"{local_text(done.until, done.zone)} ({moment_text(done.until)})" if done.zone else moment_text(done.until)
    cost = f"{done.extra_usd.shown} more, at most {done.at_most_usd.shown}"
    return f"{done.address.name} now stops at {until} instead of {moment_text(done.before)}: {cost}."


def extension_document(done: Extended) -> dict[str, Any]:
    """The same as JSON."""
    return {
        "address": str(done.address),
        "before": format_time(done.before),
        "until": format_time(done.until),
        "extraUSD": str(done.extra_usd),
        "atMostUSD": str(done.at_most_usd),
    }
