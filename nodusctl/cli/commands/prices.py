"""``nodusctl prices show``: the price book, with where each price came from and how old it is."""

from __future__ import annotations

from typing import Annotated

import typer

from nodusctl.base.exits import ExitCode
from nodusctl.cli.app import family
from nodusctl.cli.options import JsonOption, wiring_of
from nodusctl.cli.output.slow import told_when_slow
from nodusctl.cli.wiring import Wiring
from nodusctl.engine.inspect_prices import PriceFilter, list_prices
from nodusctl.render.price_lists import prices_document, prices_text

app = family("The price book.")
_MOST_ROWS = 40


@app.callback()
def _prices() -> None:
    """The price book."""


@app.command("show")
def show(
    context: typer.Context,
    *,
    gpu: Annotated[str, typer.Option("--gpu", metavar="TYPE", help="A GPU family, such as H100 or H100:8.", show_default=False)] = "",
    providers: Annotated[
        list[str] | None,
        typer.Option("--provider", metavar="NAME", help="A provider type, or an instance of the project; repeatable.", show_default=False),
    ] = None,
    region: Annotated[str, typer.Option("--region", metavar="PLACE", help="A region class, region or zone.", show_default=False)] = "",
    with_all_providers: Annotated[
        bool, typer.Option("--all-providers", help="Every provider type in the book, not only this project's.")
    ] = False,
    shows_all: Annotated[bool, typer.Option("--all", help=f"Every row, not only the {_MOST_ROWS} cheapest.")] = False,
    is_json: JsonOption = False,
) -> ExitCode:
    """Prices as they are known now, cheapest first: age, source, licence. Asks nobody; unknown is unknown, never $0.00."""
    wiring = wiring_of(context)
    output = wiring.output(is_json=is_json)
    wanted = PriceFilter(gpu=gpu, providers=_names(wiring, providers or (), with_all_providers=with_all_providers), region=region)
    limit = None if shows_all or is_json else _MOST_ROWS
    with told_when_slow(output, wiring.wall, "reading the price book"):
        found = list_prices(wanted, prices=wiring.whole_price_book, now=wiring.clock.now(), limit=limit)
    output.result("result", lambda style: prices_text(found, style), lambda: prices_document(found))
    return ExitCode.DONE


def _names(wiring: Wiring, named: list[str] | tuple[str, ...], *, with_all_providers: bool) -> frozenset[str]:
    """Provider names as rows spell them: types and instances. Empty means all."""
    types = {one.name: one.type for one in wiring.project.file.providers}
    if named:
        return frozenset(name for one in named for name in (one, types.get(one, one)))
    return frozenset() if with_all_providers else frozenset({*types, *types.values()})
