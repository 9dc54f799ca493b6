"""The openings of a plan as rows: local time in the window's zone, UTC, and what each costs; below them what holds or passed them over."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from nodusctl.base.durations import format_duration
from nodusctl.base.money import Money
from nodusctl.base.timestamps import format_time
from nodusctl.base.zones import local_span_text, local_text
from nodusctl.plan.timetables import PlannedOpening, Timetable
from nodusctl.render.style import Style
from nodusctl.render.tables import table

OPENING_HEADS = ("WORKSPACE", "OPENS", "UTC", "STARTS", "P50", "P90", "AT MOST")
_NUMBERS = ("P50", "P90", "AT MOST")
_MOST_WORKSPACES = 20


def timetable_lines(timetables: tuple[Timetable, ...], style: Style) -> Iterator[str]:
    """The section of a plan's text, indented; nothing without timetables."""
    shown = timetables[:_MOST_WORKSPACES]
    rows = opening_rows(shown)
    if rows:
        yield table(OPENING_HEADS, rows, style, right=_NUMBERS, indent=2)
    yield from (f"  {line}" for line in timetable_notes(shown))
    if len(timetables) > len(shown):
        yield f"  and {len(timetables) - len(shown)} more Workspaces with openings; each is in nodusctl get workspaces -o wide"


def opening_rows(timetables: Iterable[Timetable]) -> list[tuple[str, ...]]:
    """The cells under ``OPENING_HEADS``."""
    return [_row(str(one.address), opening) for one in timetables for opening in one.openings]


def timetable_notes(timetables: Iterable[Timetable]) -> Iterator[str]:
    """What a person should know of a Workspace's openings."""
    for one in timetables:
        if one.is_parked:
            yield f"{one.address}: Parked: spec.state is Stopped, so none of them opens. To let them: nodusctl start {one.address.name}"
        elif not one.openings:
            yield f"{one.address}: nothing opens any more"
        if one.skipped is not None:
            when = local_text(one.skipped, one.skipped_zone)
            yield f"{one.address}: {when} was passed over, {one.skip_reason}: {one.skip_message}"


def _row(name: str, opening: PlannedOpening) -> tuple[str, ...]:
    until = f"/{format_time(opening.end)}" if opening.end is not None else ""
    lead = opening.start - opening.due
    return (
        name,
        local_span_text(opening.start, opening.end, opening.zone),
        f"{format_time(opening.start)}{until}",
        f"{format_duration(lead)} before" if lead else "then",
        _amount(opening, opening.p50_usd),
        _amount(opening, opening.p90_usd),
        _amount(opening, opening.at_most_usd),
    )


def _amount(opening: PlannedOpening, amount: Money | None) -> str:
    if amount is not None:
        return amount.shown
    return "no end" if opening.end is None else "unknown"
