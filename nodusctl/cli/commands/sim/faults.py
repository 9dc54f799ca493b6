"""``sim fault add|list|clear``: scripted faults."""

from __future__ import annotations

from typing import Annotated

import typer

from nodusctl.base.exits import ExitCode
from nodusctl.cli.app import family
from nodusctl.cli.commands.sim.choosing import ProviderOption, simulation_of
from nodusctl.cli.commands.sim.world import MatchOption
from nodusctl.cli.options import JsonOption, wiring_of
from nodusctl.render.simulation import fault_document, faults_text

_EFFECTS = """error CODE [scope S] [retry-after D] [message TEXT], hang D, hang-before D, accept-then-drop, visible-after D, lie STATE,
gone, forbidden, partial PCT, price USD, quota N, no-edge, unreachable, noise"""

app = family("Scripted faults of the world.")


@app.callback()
def _fault() -> None:
    """Scripted faults of the world."""


@app.command("add")
def add(
    context: typer.Context,
    *,
    operation: Annotated[str, typer.Option("--op", metavar="O", help="The operation it strikes, such as create, delete or save.")],
    effect: Annotated[str, typer.Option("--effect", metavar="E", help=f"One of: {_EFFECTS}.")],
    match_: MatchOption = "",
    nth: Annotated[int | None, typer.Option("--nth", metavar="N", min=1, help="Only the N-th call that fits.", show_default=False)] = None,
    times: Annotated[int | None, typer.Option("--times", metavar="K", min=1, help="At most K calls.", show_default=False)] = None,
    provider: ProviderOption = "",
    is_json: JsonOption = False,
) -> ExitCode:
    """Script a fault."""
    wiring = wiring_of(context)
    rule = simulation_of(wiring.providers, provider).add_fault(operation, match_, nth, times, effect)
    # The effect is not said again: its message may be a secret somebody wants to see redacted elsewhere.
    said, written = f"Fault {rule.id} will strike {rule.operation}.", {"id": rule.id, "operation": rule.operation}
    wiring.output(is_json=is_json).result("result", lambda style: said, lambda: written)
    return ExitCode.DONE


@app.command("list")
def list_all(context: typer.Context, provider: ProviderOption = "", is_json: JsonOption = False) -> ExitCode:
    """Faults still to strike."""
    wiring = wiring_of(context)
    found = simulation_of(wiring.providers, provider).faults()
    output = wiring.output(is_json=is_json)
    output.result("result", lambda style: faults_text(found, style), lambda: {"faults": [fault_document(one) for one in found]})
    return ExitCode.DONE


@app.command("clear")
def clear(context: typer.Context, provider: ProviderOption = "", is_json: JsonOption = False) -> ExitCode:
    """Forget all faults."""
    wiring = wiring_of(context)
    count = simulation_of(wiring.providers, provider).clear_faults()
    wiring.output(is_json=is_json).result("result", lambda style: f"{count} forgotten.", lambda: {"cleared": count})
    return ExitCode.DONE
