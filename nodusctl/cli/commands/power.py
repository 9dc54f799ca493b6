"""``nodusctl start`` and ``nodusctl stop``: the owner's word on one Workspace."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Annotated

import typer

from nodusctl.base.exits import ExitCode
from nodusctl.base.ids import Address
from nodusctl.cli.app import one_command
from nodusctl.cli.apply_settings import apply_settings
from nodusctl.cli.carrying import report, working
from nodusctl.cli.options import JsonOption, LockTimeoutOption, TimeoutOption, wiring_of
from nodusctl.cli.saying_next import say_next
from nodusctl.cli.ticker_warning import say_no_ticker
from nodusctl.cli.words import address_of
from nodusctl.engine import verbs
from nodusctl.engine.applying import ApplyResult, ApplySettings

NameArgument = Annotated[str, typer.Argument(metavar="WORKSPACE", help="lab or workspace/lab.")]


def start(
    context: typer.Context,
    *,
    name: NameArgument,
    timeout: TimeoutOption = "",
    lock_timeout: LockTimeoutOption = "",
    is_json: JsonOption = False,
) -> ExitCode:
    """Start a Workspace on an offer of its last applied plan, at most 10 % above that price; its home comes back."""
    settings = apply_settings(wiring_of(context), timeout=timeout, lock_timeout=lock_timeout)
    return _say(context, address_of(name), verbs.start, settings, is_json=is_json)


def stop(
    context: typer.Context,
    *,
    name: NameArgument,
    timeout: TimeoutOption = "",
    lock_timeout: LockTimeoutOption = "",
    parks: Annotated[bool, typer.Option("--park", help="Also hold later windows: spec.state becomes Stopped, until a start.")] = False,
    is_json: JsonOption = False,
) -> ExitCode:
    """Stop a Workspace: end the session, save the home as a new revision, release the machine, post the last charge.

    One with a schedule or windows stays wanted: its later windows open, unless it is parked.
    """
    settings = apply_settings(wiring_of(context), timeout=timeout, lock_timeout=lock_timeout)
    return _say(context, address_of(name), partial(verbs.stop, parks=parks), settings, is_json=is_json)


def _say(context: typer.Context, address: Address, verb: Callable[..., ApplyResult], settings: ApplySettings, *, is_json: bool) -> ExitCode:
    wiring = wiring_of(context)
    output = wiring.output(is_json=is_json)
    with working(wiring, output) as work:
        result = verb(address, outside=work.outside, command=wiring.command, settings=settings, interrupts=work.interrupts)
    code = report(result, work, output)
    say_next(wiring, output, address)
    say_no_ticker(wiring, output)
    return code


APPS = {"start": one_command(start), "stop": one_command(stop)}
