"""``nodusctl unlock ID``."""

from __future__ import annotations

from typing import Annotated

import typer

from nodusctl.base.diagnostics import error
from nodusctl.base.exits import ExitCode, UserError
from nodusctl.cli.app import one_command
from nodusctl.cli.options import JsonOption, wiring_of


def unlock(
    context: typer.Context,
    *,
    lock_id: Annotated[str, typer.Argument(metavar="ID", help="The id the lock message prints.")],
    is_json: JsonOption = False,
) -> ExitCode:
    """Remove a lock by its id, when you know that its holder is gone."""
    wiring = wiring_of(context)
    claims = wiring.writing.claims
    if not claims.unlock(lock_id):
        held = claims.plan_lock()
        detail = (
            f"The state's lock is {held.id}, held by {held.holder.user}@{held.holder.host} pid {held.holder.pid}."
            if held
            else "The state has no lock."
        )
        fix = f"nodusctl unlock {held.id}" if held else "nothing needs to be done"
        raise UserError(error("NotFound", "No lock has this id; nothing was changed", detail, fix))
    wiring.output(is_json=is_json).result("result", lambda style: f"Lock {lock_id} is removed.", lambda: {"unlocked": lock_id})
    return ExitCode.DONE


app = one_command(unlock)
