"""``nodusctl providers list|lock``."""

from __future__ import annotations

from typing import Annotated

import typer

from nodusctl.base.exits import ExitCode
from nodusctl.cli.app import family
from nodusctl.cli.options import JsonOption, wiring_of
from nodusctl.cli.output.slow import told_when_slow
from nodusctl.engine.inspect_providers import provider_facts
from nodusctl.render.provider_lists import lock_document, lock_lines, providers_document, providers_text

app = family("Plugins, and the provider instances of the project.")


@app.callback()
def _providers() -> None:
    """Plugins, and the provider instances of the project."""


@app.command("list")
def list_all(context: typer.Context, is_json: JsonOption = False) -> ExitCode:
    """Every plugin this Python can see, loadable or not, then the project's instances."""
    wiring = wiring_of(context)
    facts = provider_facts(providers=wiring.plugins)
    output = wiring.output(is_json=is_json)
    output.result("result", lambda style: providers_text(facts, style), lambda: providers_document(facts))
    return ExitCode.DONE


@app.command("lock")
def lock(
    context: typer.Context,
    *,
    platforms: Annotated[
        list[str] | None,
        typer.Option(
            "--platform",
            metavar="TAG",
            help="Lock the wheel for this platform too, by pip's tag, such as manylinux2014_aarch64; repeatable.",
            show_default=False,
        ),
    ] = None,
    wheels: Annotated[
        str, typer.Option("--from", metavar="DIR", help="Take wheels from this folder instead of the package index.", show_default=False)
    ] = "",
    is_json: JsonOption = False,
) -> ExitCode:
    """Write .nodus.lock.yaml: version and content of each plugin the project uses. From then on no other one is imported."""
    from nodusctl.engine.provider_locking import LockRequest, lock_providers

    wiring = wiring_of(context)
    output = wiring.output(is_json=is_json)
    request = LockRequest(
        platforms=tuple(dict.fromkeys(platforms or ())),
        wheels=wiring.start / wheels if wheels else None,
        environment=wiring.surroundings.environment,
    )
    with told_when_slow(output, wiring.wall, "reading plugins and their wheels"):
        changes, remarks = lock_providers(wiring.project.folder, wiring.project.file, request)
    output.diagnose(remarks)
    output.result("result", lambda style: lock_lines(changes), lambda: lock_document(changes))
    return ExitCode.DONE
