"""``nodusctl state show``."""

from __future__ import annotations

import typer

from nodusctl.base.exits import ExitCode
from nodusctl.cli.app import family
from nodusctl.cli.options import JsonOption, wiring_of
from nodusctl.engine.inspect_state import state_facts
from nodusctl.render.state_facts import state_document, state_text

app = family("Look at the state.")


@app.callback()
def _state() -> None:
    """Look at the state."""


@app.command("show")
def show(context: typer.Context, is_json: JsonOption = False) -> ExitCode:
    """Where the state is, its lineage and serial, what it holds, who has a lock, what moved it last."""
    wiring = wiring_of(context)
    facts = state_facts(journal=wiring.journal, claims=wiring.claims)
    output = wiring.output(is_json=is_json)
    output.result("result", lambda style: state_text(facts, style), lambda: state_document(facts))
    return ExitCode.DONE
