"""``nodusctl drift``: has anybody changed what is outside?"""

from __future__ import annotations

import typer

from nodusctl.base.exits import ExitCode
from nodusctl.cli.app import one_command
from nodusctl.cli.options import JsonOption, wiring_of
from nodusctl.cli.output.slow import told_when_slow
from nodusctl.engine.drifting import find_drift
from nodusctl.render.drifts import drift_document, drift_text, unasked


def drift(context: typer.Context, *, is_json: JsonOption = False) -> ExitCode:
    """Compare what providers report with the record, never with the files. Writes nothing. Exit 3 on drift; else 1 where one is silent."""
    wiring = wiring_of(context)
    output = wiring.output(is_json=is_json)
    with told_when_slow(output, wiring.wall, "asking providers"):
        report = find_drift(journal=wiring.journal, passes=wiring.reading.passes, providers=wiring.providers, now=wiring.clock.now())
    output.diagnose(unasked(dict(report.failures)))
    output.result("result", lambda style: drift_text(report, style), lambda: drift_document(report))
    return report.exit_code


app = one_command(drift)
