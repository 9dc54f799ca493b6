"""``nodusctl cost [K/N]``: what was spent, summed and drawn; ``--estimates`` compares it with what was predicted."""

from __future__ import annotations

from typing import Annotated

import typer

from nodusctl.base.exits import ExitCode
from nodusctl.base.ids import Address
from nodusctl.cli.app import one_command
from nodusctl.cli.options import JsonOption, wiring_of
from nodusctl.cli.output.slow import told_when_slow
from nodusctl.cli.periods import period_of
from nodusctl.cli.wiring import Wiring
from nodusctl.cli.words import address_of, usage_error
from nodusctl.engine.spending import GroupBy, Period, spending_of

_MOMENT = "DAY|TIME"
_READING = "adding up the ledger"


def cost(
    context: typer.Context,
    *,
    name: Annotated[str, typer.Argument(metavar="KIND/NAME", help="An object, also a removed one; default: all.", show_default=False)] = "",
    by: Annotated[str, typer.Option("--by", metavar="WHAT", help="object, day, offering, label, or label=KEY.")] = "object",
    since: Annotated[str, typer.Option("--since", metavar=_MOMENT, help="From this day (UTC) or time on.", show_default=False)] = "",
    until: Annotated[str, typer.Option("--until", metavar=_MOMENT, help="To the end of this day, or to a time.", show_default=False)] = "",
    month: Annotated[str, typer.Option("--month", metavar="MONTH", help="One month (UTC), such as 2026-10.", show_default=False)] = "",
    estimates: Annotated[bool, typer.Option("--estimates", help="Compare what was predicted at each launch with what came.")] = False,
    is_csv: Annotated[bool, typer.Option("--csv", help="One line a group, amounts as decimals.")] = False,
    is_json: JsonOption = False,
) -> ExitCode:
    """Charges from the ledger with a bar for each group. What still runs is held, and shown beside."""
    if is_csv and is_json:
        usage_error("--csv and --json are two forms of one thing", fix="leave one of them out")
    wiring, only = wiring_of(context), address_of(name) if name else None
    period = period_of(since, until, month)
    if estimates:
        if by != "object":
            usage_error("--estimates is by object", fix="leave out --by")
        return _estimates(only, period, wiring, is_csv=is_csv, is_json=is_json)
    grouping, label = _grouping(by)
    return _spending(only, grouping, label, period, wiring, is_csv=is_csv, is_json=is_json)


def _spending(only: Address | None, by: GroupBy, label: str, period: Period, wiring: Wiring, *, is_csv: bool, is_json: bool) -> ExitCode:
    from nodusctl.engine.sound_books import sound
    from nodusctl.render import spending as faces

    output = wiring.output(is_json=is_json)
    with told_when_slow(output, wiring.wall, _READING), wiring.journal.books() as books:
        found = spending_of(
            sound(books.entries()),
            sound(books.attempts()),
            wiring.journal.snapshot(),
            by=by,
            label=label,
            only=only,
            period=period,
            now=wiring.clock.now(),
        )
    output.result(
        "result",
        lambda style: faces.spending_csv(found) if is_csv else faces.spending_text(found, style),
        lambda: faces.spending_document(found),
    )
    return ExitCode.DONE


def _estimates(only: Address | None, period: Period, wiring: Wiring, *, is_csv: bool, is_json: bool) -> ExitCode:
    from nodusctl.engine.estimates import compare_estimates
    from nodusctl.render import estimates as faces

    output = wiring.output(is_json=is_json)
    with told_when_slow(output, wiring.wall, _READING), wiring.journal.books() as books:
        found = compare_estimates(books, wiring.journal.snapshot(), only=only, period=period)
    output.result(
        "result",
        lambda style: faces.estimates_csv(found) if is_csv else faces.estimates_text(found, style),
        lambda: faces.estimates_document(found),
    )
    return ExitCode.DONE


def _grouping(text: str) -> tuple[GroupBy, str]:
    word, _, label = text.partition("=")
    if word not in set(GroupBy) or (label and word != GroupBy.LABEL):
        usage_error("--by has no such grouping", f"It says {text!r}.", "write object, day, offering, label, or label=KEY")
    return GroupBy(word), label


app = one_command(cost)
