"""The times of one Workspace as ``describe`` says them, and the one sentence a command ends with: what happens next by itself."""

from __future__ import annotations

from datetime import datetime, timedelta

from nodusctl.base.durations import format_duration
from nodusctl.base.timestamps import parse_time
from nodusctl.base.zones import local_span_text, local_text
from nodusctl.engine.inspect_times import Times
from nodusctl.render.spans import moment_text
from nodusctl.render.tables import pairs


def times_text(times: Times) -> str:
    """Pairs, indented; empty where no time matters to it."""
    stops = f"{_both(times, times.stops_by)}: {times.stops_because}" if times.stops_by is not None else ""
    rows = [
        ("Stops by", stops.rstrip(": ")),
        ("Armed until", f"{moment_text(times.armed_until)}, as read back from its machine" if times.armed_until is not None else ""),
        ("Last activity", f"{moment_text(times.last_activity_at)} {times.last_activity}".strip()),
        ("Idle stop", _idle(times)),
        ("Next openings", _openings(times)),
        ("Passed over", _passed_over(times)),
    ]
    return pairs(rows, indent=2)


def next_words(name: str, times: Times) -> str:
    """What the clock does next: when it stops, when its next window opens, or that nothing opens while it is parked."""
    if times.stops_by is not None:
        return f"{name} stops by {_both(times, times.stops_by)} at the latest: {times.stops_because}.".replace(": .", ".")
    if times.is_parked:
        return f"{name} is parked: its windows start nothing until:\n  nodusctl start {name}"
    if times.openings:
        first = times.openings[0]
        return f"The next window of {name} opens {_both(times, first.start)}; its machine starts {_lead(first.start - first.due)}."
    return ""


def _lead(span: timedelta) -> str:
    return f"{format_duration(span)} before" if span else "then"


def _openings(times: Times) -> str:
    if times.is_parked:
        return "none, Parked: spec.state is Stopped"
    lines = []
    for one in times.openings:
        lead = one.start - one.due
        ahead = f", its machine {format_duration(lead)} before" if lead else ""
        until = f"/{moment_text(one.end)}" if one.end is not None else ""
        lines.append(f"{local_span_text(one.start, one.end, one.zone)} ({moment_text(one.start)}{until}){ahead}")
    return "\n".join(lines)


def _idle(times: Times) -> str:
    """When, where the last use that was told of says so; else only how long its machine waits."""
    if times.idle_after is None:
        return ""
    after = f"after {format_duration(times.idle_after)} without use"
    if times.idle_at is None:
        return f"{after}, as its machine judges"
    return f"{after}: {moment_text(times.idle_at)}, unless it is used before"


def _passed_over(times: Times) -> str:
    if not times.skipped:
        return ""
    return f"{_both(times, parse_time(times.skipped))}, {times.skip_reason}: {times.skip_message}"


def _both(times: Times, moment: datetime) -> str:
    """In the zone of its windows and in UTC; only in UTC where it has none."""
    return f"{local_text(moment, times.zone)} ({moment_text(moment)})" if times.zone else moment_text(moment)
