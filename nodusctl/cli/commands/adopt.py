"""``nodusctl adopt ID``: take an orphan into the record it belongs to."""

from __future__ import annotations

from typing import Annotated

import typer

from nodusctl.base.exits import ExitCode
from nodusctl.cli.app import one_command
from nodusctl.cli.apply_settings import apply_settings
from nodusctl.cli.carrying import report as report_outcome
from nodusctl.cli.carrying import working
from nodusctl.cli.commands.orphans import StateIdOption
from nodusctl.cli.options import JsonOption, LockTimeoutOption, TimeoutOption, YesOption, wiring_of
from nodusctl.cli.outside_changes import agreed, surveyed
from nodusctl.cli.prompt import require_answerable
from nodusctl.cli.words import address_of
from nodusctl.engine.adopting import plan_adoption
from nodusctl.engine.applying import resume
from nodusctl.engine.taking_up import adopt as carry_out
from nodusctl.render.orphans import adoption_document, adoption_text


def adopt(
    context: typer.Context,
    *,
    thing: Annotated[str, typer.Argument(metavar="ID", help="A machine or disk that orphans shows.")],
    wanted: Annotated[str, typer.Option("--as", metavar="K/N", help="The record it becomes part of.", show_default=False)] = "",
    state_id: StateIdOption = "",
    is_agreed: YesOption = False,
    timeout: TimeoutOption = "",
    lock_timeout: LockTimeoutOption = "",
    is_json: JsonOption = False,
) -> ExitCode:
    """Plan, ask, take it up: a disk becomes its Volume's, a machine its Workspace's session, charged from where its last receipt ends."""
    wiring = wiring_of(context)
    output = wiring.output(is_json=is_json)
    require_answerable(wiring.surroundings, is_agreed=is_agreed)
    found = surveyed(wiring, output)
    named = address_of(wanted) if wanted else None
    adoption = plan_adoption(thing, found, state_id=state_id, wanted=named, journal=wiring.journal)
    shown = (lambda style: adoption_text(adoption, style), lambda: adoption_document(adoption))
    if not agreed(wiring, output, *shown, "Adopt it?", is_agreed=is_agreed):
        return ExitCode.ERROR
    settings = apply_settings(wiring, timeout=timeout, lock_timeout=lock_timeout)
    with working(wiring, output) as work:
        carry_out(adoption, outside=work.outside, command=wiring.command, lock_timeout=settings.lock_timeout)
        result = resume(work.outside, (adoption.address,), settings, work.interrupts)
    return report_outcome(result, work, output)


app = one_command(adopt)
