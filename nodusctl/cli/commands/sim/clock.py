"""``sim init``, ``sim advance`` and ``sim set-time``: the world's file and its clock."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Annotated

import typer

from nodusctl.base.durations import format_duration
from nodusctl.base.exits import ExitCode
from nodusctl.base.timestamps import format_time, parse_time
from nodusctl.cli.commands.sim.choosing import ProviderOption, simulation_of
from nodusctl.cli.options import JsonOption, wiring_of
from nodusctl.cli.output.slow import told_when_slow
from nodusctl.cli.words import duration_of, usage_error

if TYPE_CHECKING:
    from nodusctl.base.clock import Clock
    from nodusctl.cli.wiring import Wiring


def init(
    context: typer.Context,
    *,
    now: Annotated[str, typer.Option("--now", metavar="T", help="The world's first moment, RFC 3339.", show_default=False)] = "",
    provider: ProviderOption = "",
    is_json: JsonOption = False,
) -> ExitCode:
    """Write the default world file, unless there is one."""
    wiring = wiring_of(context)
    world = simulation_of(wiring.providers, provider)
    path = world.initialise(_moment("--now", now) if now else None)
    moment = format_time(world.simulated_clock().now())
    wiring.output(is_json=is_json).result(
        "result", lambda style: f"The world is in {path}; its time is {moment}.", lambda: {"path": path, "now": moment}
    )
    return ExitCode.DONE


def advance(
    context: typer.Context,
    *,
    span: Annotated[str, typer.Argument(metavar="D", help="How far to move the world's clock, such as 45s or 3h.")],
    every: Annotated[str, typer.Option("--tick", metavar="P", help="Make a tick each P of the way.", show_default=False)] = "",
    provider: ProviderOption = "",
    is_json: JsonOption = False,
) -> ExitCode:
    """Move the world's clock; boots, edges and deletions that fall due on the way happen."""
    wiring = wiring_of(context)
    length = duration_of("D", span)
    clock = simulation_of(wiring.providers, provider).simulated_clock()
    if every:
        return _advance_ticking(wiring, clock, length, duration_of("--tick", every), is_json=is_json)
    clock.sleep(length.total_seconds())
    moment = format_time(clock.now())
    wiring.output(is_json=is_json).result(
        "result", lambda style: f"The world moved by {format_duration(length)}; its time is {moment}.", lambda: {"now": moment}
    )
    return ExitCode.DONE


def _advance_ticking(wiring: Wiring, clock: Clock, length: timedelta, every: timedelta, *, is_json: bool) -> ExitCode:
    """Ticks stand at start + P, + 2P and so on, whatever a tick took; the clock ends where it was told to."""
    from nodusctl.cli.interrupting import interruptible
    from nodusctl.cli.ticking import one_pass
    from nodusctl.render.ticks import advance_document, advance_text, unsent_diagnostics

    if every <= timedelta(0):
        usage_error("A tick needs a time between", f"--tick {every} is none.", "write --tick 5m")
    output, start = wiring.output(is_json=is_json), clock.now()
    results = []
    with interruptible(output) as interruption, told_when_slow(output, wiring.wall, "letting the world's time pass"):
        for number in range(1, length // every + 1):
            clock.sleep((start + number * every - clock.now()).total_seconds())
            results.append(one_pass(wiring, interruption.interrupts))
            if interruption.interrupts.is_soft:
                break
        else:
            clock.sleep((start + length - clock.now()).total_seconds())
    now = clock.now()
    output.diagnose(unsent_diagnostics(results))
    output.result("result", lambda style: advance_text(results, now, style), lambda: advance_document(results, now))
    return interruption.code(ExitCode.DONE)


def set_time(
    context: typer.Context,
    *,
    moment: Annotated[str, typer.Argument(metavar="T", help="RFC 3339, not before the world's time.")],
    provider: ProviderOption = "",
    is_json: JsonOption = False,
) -> ExitCode:
    """Move the world's clock to a moment."""
    wiring = wiring_of(context)
    world = simulation_of(wiring.providers, provider)
    world.set_time(_moment("T", moment))
    now = format_time(world.simulated_clock().now())
    wiring.output(is_json=is_json).result("result", lambda style: f"The world's time is {now}.", lambda: {"now": now})
    return ExitCode.DONE


def _moment(option: str, text: str) -> datetime:
    try:
        return parse_time(text)
    except ValueError as fault:
        usage_error(f"{option} is no time", f"It says {text!r}; {fault}.")
