"""``nodusctl cost [K/N]``: what was spent, summed and drawn."""

from __future__ import annotations

from typing import Annotated

import typer

from nodusctl.base.exits import ExitCode
from nodusctl.cli.app import one_command
from nodusctl.cli.options import JsonOption, wiring_of
from nodusctl.cli.words import address_of, usage_error
from nodusctl.engine.spending import GroupBy, spending_of
from nodusctl.render.spending import spending_document, spending_text


def cost(
    context: typer.Context,
    *,
    name: Annotated[str, typer.Argument(metavar="KIND/NAME", help="An object, also a removed one; default: all.", show_default=False)] = "",
    by: Annotated[str, typer.Option("--by", metavar="WHAT", help="object, day, offering, label, or label=KEY.")] = "object",
    is_json: JsonOption = False,
) -> ExitCode:
    """Charges from the ledger with a bar for each group. What still runs is held, and shown beside."""
    wiring = wiring_of(context)
    output = wiring.output(is_json=is_json)
    grouping, label = _grouping(by)
    journal = wiring.journal
    found = spending_of(
        journal.entries(), journal.attempts(), journal.snapshot(), by=grouping, label=label, only=address_of(name) if name else None
    )
    output.result("result", lambda style: spending_text(found, style), lambda: spending_document(found))
    return ExitCode.DONE


def _grouping(text: str) -> tuple[GroupBy, str]:
    word, _, label = text.partition("=")
    if word not in set(GroupBy) or (label and word != GroupBy.LABEL):
        usage_error("--by has no such grouping", f"It says {text!r}.", "write object, day, offering, label, or label=KEY")
    return GroupBy(word), label


app = one_command(cost)
