"""``nodusctl state snapshot``: what planning needs of the state and the providers, in a file without secrets."""

from __future__ import annotations

from typing import Annotated

import typer

from nodusctl.base.diagnostics import warning
from nodusctl.base.exits import ExitCode
from nodusctl.cli.options import JsonOption, wiring_of
from nodusctl.cli.output.slow import told_when_slow
from nodusctl.cli.planning import planning_sources
from nodusctl.cli.words import usage_error
from nodusctl.engine.snapshot_file import USUAL_NAME


def snapshot(
    context: typer.Context,
    *,
    out: Annotated[
        str, typer.Option("-o", "--out", metavar="FILE", help=f"Where to write it. [default: {USUAL_NAME}]", show_default=False)
    ] = "",
    is_json: JsonOption = False,
) -> ExitCode:
    """What planning needs of state and providers, written to a file without secrets: for plan --offline where nothing can be reached."""
    from nodusctl.engine.snapshot_taking import take_snapshot

    wiring = wiring_of(context)
    output = wiring.output(is_json=is_json)
    path = wiring.start / out if out else wiring.project.folder / USUAL_NAME
    try:
        with told_when_slow(output, wiring.wall, "asking providers"):
            made = take_snapshot(
                path,
                project=wiring.project.file,
                sources=planning_sources(wiring),
                time_is_simulated=wiring.clock is not wiring.own_clock,
            )
    except OSError as fault:
        usage_error("The snapshot can't be saved", f"{path}: {fault.strerror}.")
    silent = [row.market for row in made.markets if not row.market.is_ready]
    output.diagnose(
        warning("ProviderNotReady", "A provider gave no answer.", f"{one.instance}: {one.why_not} The snapshot has no offer of it.")
        for one in silent
    )
    offers = sum(len(row.market.offers) for row in made.markets)
    command = f"nodusctl plan --offline --snapshot {out}" if out else "nodusctl plan --offline"
    text = f"{path.name}: serial {made.serial}, {len(made.standings)} objects, {offers} offers.\nTo plan with it:\n  {command}"
    document = {"path": str(path), "serial": made.serial, "objects": len(made.standings), "offers": offers}
    output.result("result", lambda style: text, lambda: document)
    return ExitCode.BLOCKED if silent else ExitCode.DONE
