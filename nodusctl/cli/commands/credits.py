"""``nodusctl credits show|grant``: money put in beforehand. Without a grant, what is used is paid for afterwards."""

from __future__ import annotations

from typing import Annotated

import typer

from nodusctl.base.exits import ExitCode
from nodusctl.base.money import Money
from nodusctl.cli.app import PlainCommand, family
from nodusctl.cli.options import JsonOption, LockTimeoutOption, wiring_of
from nodusctl.cli.words import duration_of, usage_error

app = family("Money put in beforehand: what was granted, what is left of it.")


@app.callback()
def _credits() -> None:
    """Money put in beforehand: what was granted, what is left of it."""


@app.command("show", cls=PlainCommand)
def show(context: typer.Context, is_json: JsonOption = False) -> ExitCode:
    """What was granted, each time, and what of it is neither held nor charged."""
    from nodusctl.engine.budget_report import credits_of
    from nodusctl.render.budgets import credits_document, credits_text

    wiring = wiring_of(context)
    found = credits_of(wiring.journal, wiring.journal.tally())
    wiring.output(is_json=is_json).result("result", lambda style: credits_text(found, style), lambda: credits_document(found))
    return ExitCode.DONE


@app.command("grant", cls=PlainCommand)
def grant(
    context: typer.Context,
    *,
    amount: Annotated[str, typer.Argument(metavar="AMOUNT", help="US dollars, such as 250 or 99.50.")],
    memo: Annotated[str, typer.Option("--memo", metavar="TEXT", help="What it is for; stands in the ledger.", show_default=False)] = "",
    lock_timeout: LockTimeoutOption = "0s",
    is_json: JsonOption = False,
) -> ExitCode:
    """Add to what may be held and charged. From the first grant on every hold must fit what is left of all of them."""
    from nodusctl.cli.ticking import Silence
    from nodusctl.engine.budget_report import post_grant
    from nodusctl.render.budgets import credits_document, credits_text

    wiring = wiring_of(context)
    output = wiring.output(is_json=is_json)
    after = post_grant(
        _amount(amount),
        memo,
        outside=wiring.outside(Silence()),
        command=wiring.command,
        lock_timeout=duration_of("--lock-timeout", lock_timeout),
    )
    output.result("result", lambda style: credits_text(after, style), lambda: credits_document(after))
    return ExitCode.DONE


def _amount(text: str) -> Money:
    try:
        return Money.parse(text)
    except ValueError as fault:
        usage_error("AMOUNT is no amount", f"It says {text!r}; {fault}.", "nodusctl credits grant 250.00")
