"""``nodusctl destroy [K/N…]`` and ``nodusctl delete K/N``: plan a removal, show it, ask, carry it out."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated

import typer

from nodusctl.base.exits import ExitCode
from nodusctl.cli.app import one_command
from nodusctl.cli.apply_settings import apply_settings
from nodusctl.cli.applying import apply_approved, ask_about
from nodusctl.cli.options import JsonOption, LockTimeoutOption, ParallelismOption, TimeoutOption, YesOption, wiring_of
from nodusctl.cli.planning import removal_plan
from nodusctl.cli.prompt import require_answerable
from nodusctl.cli.words import address_of
from nodusctl.engine.applying import ApplySettings

DiscardOption = Annotated[bool, typer.Option("--discard-home", help="Stop without saving the home first.")]


def destroy(
    context: typer.Context,
    *,
    names: Annotated[
        list[str] | None, typer.Argument(metavar="K/N", help="Objects; default: everything in the state.", show_default=False)
    ] = None,
    is_agreed: YesOption = False,
    discards_home: DiscardOption = False,
    parallelism: ParallelismOption = None,
    timeout: TimeoutOption = "",
    lock_timeout: LockTimeoutOption = "",
    is_json: JsonOption = False,
) -> ExitCode:
    """Remove objects: machines are stopped, homes saved, cost ended.

    It keeps Volumes that hold data, except those that say `deletionPolicy: Delete`: their data is destroyed with them. A Volume that is
    named goes with its data, whatever it says.
    """
    settings = apply_settings(wiring_of(context), parallelism=parallelism, timeout=timeout, lock_timeout=lock_timeout)
    return _remove(context, names or (), settings, is_agreed=is_agreed, discards_home=discards_home, is_json=is_json)


def delete(
    context: typer.Context,
    *,
    name: Annotated[str, typer.Argument(metavar="K/N", help="One object, such as workspace/lab.")],
    is_agreed: YesOption = False,
    discards_home: DiscardOption = False,
    timeout: TimeoutOption = "",
    lock_timeout: LockTimeoutOption = "",
    is_json: JsonOption = False,
) -> ExitCode:
    """Remove one object by name, with its data where it is a Volume, and wait until it is gone."""
    settings = apply_settings(wiring_of(context), timeout=timeout, lock_timeout=lock_timeout)
    return _remove(context, (name,), settings, is_agreed=is_agreed, discards_home=discards_home, is_json=is_json)


def _remove(
    context: typer.Context, names: Sequence[str], settings: ApplySettings, *, is_agreed: bool, discards_home: bool, is_json: bool
) -> ExitCode:
    wiring = wiring_of(context)
    wiring.output(is_json=is_json)
    addresses = [address_of(one) for one in names]
    require_answerable(wiring.surroundings, is_agreed=is_agreed)
    plan = removal_plan(wiring, addresses, discards_home=discards_home)
    approved = ask_about(plan, wiring, settings, "Remove these?", is_agreed=is_agreed)
    return approved if isinstance(approved, ExitCode) else apply_approved(approved, wiring)


APPS = {"destroy": one_command(destroy), "delete": one_command(delete)}
