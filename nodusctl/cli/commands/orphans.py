"""``nodusctl orphans``: what providers hold that no record explains, and the end of one of them."""

from __future__ import annotations

from typing import Annotated

import typer

from nodusctl.base.exits import ExitCode
from nodusctl.cli.app import one_command
from nodusctl.cli.apply_settings import apply_settings
from nodusctl.cli.carrying import working
from nodusctl.cli.options import JsonOption, LockTimeoutOption, TimeoutOption, YesOption, wiring_of
from nodusctl.cli.outside_changes import agreed, surveyed
from nodusctl.cli.prompt import require_answerable
from nodusctl.engine.deleting_orphans import delete_orphan, plan_deletion
from nodusctl.render.orphans import (
    deletion_document,
    deletion_plan_text,
    deletion_text,
    orphan_document,
    orphans_document,
    orphans_text,
)

StateIdOption = Annotated[
    str, typer.Option("--state-id", metavar="S", help="The state a thing of another state belongs to.", show_default=False)
]


def orphans(
    context: typer.Context,
    *,
    thing: Annotated[str, typer.Option("--delete", metavar="ID", help="Plan, ask, and end this one.", show_default=False)] = "",
    state_id: StateIdOption = "",
    is_agreed: YesOption = False,
    timeout: TimeoutOption = "",
    lock_timeout: LockTimeoutOption = "",
    is_json: JsonOption = False,
) -> ExitCode:
    """Machines and disks with our tags that no record has: ours, another state's, and what is still being made; each with its price."""
    wiring = wiring_of(context)
    output = wiring.output(is_json=is_json)
    if thing:
        require_answerable(wiring.surroundings, is_agreed=is_agreed)
    report = surveyed(wiring, output)
    if not thing:
        output.result("result", lambda style: orphans_text(report, style), lambda: orphans_document(report))
        return ExitCode.ERROR if report.failures else ExitCode.DONE
    one = plan_deletion(thing, report, state_id)
    question = f"End the {one.kind} {one.id}?"
    if not agreed(
        wiring,
        output,
        lambda style: deletion_plan_text(one, style),
        lambda: {"delete": orphan_document(one)},
        question,
        is_agreed=is_agreed,
    ):
        return ExitCode.ERROR
    settings = apply_settings(wiring, timeout=timeout, lock_timeout=lock_timeout)
    with working(wiring, output) as work:
        done = delete_orphan(
            one, outside=work.outside, command=wiring.command, lock_timeout=settings.lock_timeout, timeout=settings.timeout
        )
    output.result("result", lambda style: deletion_text(done, style), lambda: deletion_document(done))
    return done.exit_code


app = one_command(orphans)
