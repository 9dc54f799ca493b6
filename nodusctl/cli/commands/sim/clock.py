"""``sim init``, ``sim advance`` and ``sim set-time``: the world's file and its clock."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated

import typer

from nodusctl.base.durations import format_duration
from nodusctl.base.exits import ExitCode
from nodusctl.base.timestamps import format_time, parse_time
from nodusctl.cli.commands.sim.choosing import ProviderOption, simulation_of
from nodusctl.cli.options import JsonOption, wiring_of
from nodusctl.cli.words import duration_of, usage_error


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
    provider: ProviderOption = "",
    is_json: JsonOption = False,
) -> ExitCode:
    """Move the world's clock; boots, edges and deletions that fall due on the way happen."""
    wiring = wiring_of(context)
    length = duration_of("D", span)
    clock = simulation_of(wiring.providers, provider).simulated_clock()
    clock.sleep(length.total_seconds())
    moment = format_time(clock.now())
    wiring.output(is_json=is_json).result(
        "result", lambda style: f"The world moved by {format_duration(length)}; its time is {moment}.", lambda: {"now": moment}
    )
    return ExitCode.DONE


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
