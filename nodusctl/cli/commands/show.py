"""``nodusctl show FILE``: a saved plan, always; a stale one with a warning."""

from __future__ import annotations

import json
from enum import StrEnum
from typing import Annotated

import typer

from nodusctl.base.exits import ExitCode
from nodusctl.cli.app import one_command
from nodusctl.cli.options import wiring_of
from nodusctl.cli.saved_plans import compared
from nodusctl.engine.plan_files import open_plan
from nodusctl.render.plan_json import plan_document
from nodusctl.render.plan_text import plan_text
from nodusctl.render.redacted import redacted


class ShowForm(StrEnum):
    """``show --format``."""

    TEXT = "text"
    JSON = "json"
    MARKDOWN = "markdown"


def show(
    context: typer.Context,
    *,
    file: Annotated[str, typer.Argument(metavar="FILE", help="A plan saved by plan -o.")],
    form: Annotated[ShowForm, typer.Option("--format", help="How to render it.")] = ShowForm.TEXT,
    is_json: Annotated[bool, typer.Option("--json", help="The same as --format json: one document.")] = False,
) -> ExitCode:
    """Render a saved plan. It never refuses: a plan that can't be applied any more is shown with a warning."""
    wiring = wiring_of(context)
    plan, _ = open_plan(wiring.start / file)
    output = wiring.output(is_json=False)
    stale = compared(plan, wiring, output)
    chosen = ShowForm.JSON if is_json else form
    document = plan_document(plan, stale=stale.detail if stale is not None else None)
    match chosen:
        case ShowForm.TEXT:
            output.result("plan", lambda style: plan_text(plan, style), lambda: document)
        case ShowForm.JSON:
            output.result("plan", lambda style: json.dumps(redacted(document), indent=2, ensure_ascii=False), lambda: document)
        case ShowForm.MARKDOWN:
            from nodusctl.render.comment import plan_markdown
            from nodusctl.render.comment_apply import Applying

            why = stale.detail if stale is not None else ""
            output.result("plan", lambda style: plan_markdown(plan, Applying(file=file), why), lambda: document)
    return ExitCode.DONE


app = one_command(show)
