"""What a pass has done, as text and as JSON."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import datetime
from typing import Any

from nodusctl.base.diagnostics import Diagnostic, error, warning
from nodusctl.base.timestamps import format_time
from nodusctl.engine.passes import Moved, TickResult, Waiting
from nodusctl.render.counting import counted
from nodusctl.render.spans import moment_text
from nodusctl.render.style import Style


def tick_text(result: TickResult, style: Style) -> str:
    """One line an object that moved, one for each that is on its way and waits; without either, that nothing was due."""
    lines = [*(_line(one, style) for one in result.moved), *(_waiting_line(one) for one in result.waiting)]
    if lines:
        return "\n".join(lines)
    return "Nothing is due." if not result.looked_at else f"Nothing is due; {counted(result.looked_at, 'object')} looked at."


def _waiting_line(one: Waiting) -> str:
    return f"  {one.address}  {one.phase}  {one.waits_for}"


def _line(one: Moved, style: Style) -> str:
    where = f"{one.before or 'new'} -> {one.after}" if one.before != one.after else one.after
    mark = style.paint("!", "red") if one.code else style.paint("~", "green")
    return f"{mark} {one.address}  {where}" + (f"  {one.code}: {one.message}".rstrip(": ") if one.code else "")


def tick_document(result: TickResult) -> dict[str, Any]:
    """The same as JSON."""
    return {
        "startedAt": format_time(result.started_at),
        "endedAt": format_time(result.ended_at),
        "lookedAt": result.looked_at,
        "moved": [
            {"address": str(one.address), "before": one.before, "after": one.after, "code": one.code, "message": one.message}
            for one in result.moved
        ],
        "waiting": [{"address": str(one.address), "phase": one.phase, "waitsFor": one.waits_for} for one in result.waiting],
        "failures": dict(result.failures or {}),
        "unsentNotices": list(result.unsent),
    }


def tick_diagnostics(result: TickResult) -> tuple[Diagnostic, ...]:
    """What went wrong: an error where the next pass has to make it good, a warning where an object failed for its own reasons."""
    again = "The next pass tries again; see why:\n  nodusctl doctor"
    troubles = tuple(
        error("ProviderNotReady", "A pass could not do all that was due.", f"{name}: {why}", again)
        for name, why in sorted((result.failures or {}).items())
    )
    failed = tuple(_failed(one) for one in result.moved if one.code and str(one.address) not in (result.failures or {}))
    return (*troubles, *failed, *unsent_diagnostics([result]))


def _failed(one: Moved) -> Diagnostic:
    if one.code == "NodeUnreachable":
        fix = f"It ends itself at its armed edge; see what is known of it:\n  nodusctl describe {one.address}"
        return warning(one.code, "A machine runs and doesn't answer.", one.message, fix, address=str(one.address))
    return warning(one.code, "An object is not where it should be.", one.message, address=str(one.address))


def unsent_diagnostics(results: Sequence[TickResult]) -> tuple[Diagnostic, ...]:
    """Notices that the project's command didn't take, each said once."""
    words = [one for result in results for one in result.unsent]
    fix = "The next tick offers it again; see what the command says:\n  nodusctl config view"
    return tuple(warning("NoticeUnsent", "The notify command didn't take a notice.", one, fix) for one in dict.fromkeys(words))


def advance_text(results: Sequence[TickResult], now: datetime, style: Style) -> str:
    """What moved in each of several passes, with the time of the pass, and where the clock stands. What stays as it was is said once."""
    lines = [f"{moment_text(result.started_at)}  {_line(one, style)}" for result, one in _news(results)]
    bad = sum(1 for result in results if result.failures)
    end = f"{counted(len(results), 'tick')}" + (f", {bad} with failures" if bad else "") + f"; the world's time is {moment_text(now)}."
    return "\n".join([*lines, end])


def _news(results: Sequence[TickResult]) -> Iterator[tuple[TickResult, Moved]]:
    """Everything that moved, and each trouble where it isn't the one that the pass before told too."""
    before: frozenset[Moved] = frozenset()
    for result in results:
        yield from ((result, one) for one in result.moved if one.before != one.after or one not in before)
        before = frozenset(result.moved)


def advance_document(results: Sequence[TickResult], now: datetime) -> dict[str, Any]:
    """The same as JSON: passes in which something moved or failed."""
    told = [tick_document(result) for result in results if result.moved or result.failures]
    return {"now": format_time(now), "ticks": len(results), "passes": told}
