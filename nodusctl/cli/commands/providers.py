"""``nodusctl providers list``."""

from __future__ import annotations

import typer

from nodusctl.base.exits import ExitCode
from nodusctl.cli.app import family
from nodusctl.cli.options import JsonOption, wiring_of
from nodusctl.engine.inspect_providers import provider_facts
from nodusctl.render.provider_lists import providers_document, providers_text

app = family("Plugins, and the provider instances of the project.")


@app.callback()
def _providers() -> None:
    """Plugins, and the provider instances of the project."""


@app.command("list")
def list_all(context: typer.Context, is_json: JsonOption = False) -> ExitCode:
    """Every plugin this Python can see, loadable or not, then the project's instances."""
    wiring = wiring_of(context)
    facts = provider_facts(providers=wiring.providers)
    output = wiring.output(is_json=is_json)
    output.result("result", lambda style: providers_text(facts, style), lambda: providers_document(facts))
    return ExitCode.DONE
