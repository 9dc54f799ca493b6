"""NoTicker on the command line: said after a plan, an apply, a start, and by ``cron show``; ``doctor`` finds it too."""

from __future__ import annotations

from typing import TYPE_CHECKING

from nodusctl.cli.output.protocol import Output
from nodusctl.cli.wiring import Wiring

if TYPE_CHECKING:
    from nodusctl.base.diagnostics import Diagnostic


def say_no_ticker(wiring: Wiring, output: Output) -> None:
    """The warning, where one is due. Reads the state afresh: an apply may just have made it."""
    found = ticker_warning(wiring)
    if found is not None:
        output.diagnose([found])


def ticker_warning(wiring: Wiring) -> Diagnostic | None:
    """NoTicker for this project, or None."""
    from nodusctl.engine.cron_record import read_ticker
    from nodusctl.engine.ticker_watch import Watch, no_ticker

    project = wiring.project
    state = wiring.reopen_reading()
    if not state.journal.exists():
        return None
    watch = Watch(
        now=wiring.clock.now(),
        lead=project.file.settings.window_lead,
        ticker=read_ticker(project.state_folder),
        is_simulated=all(one.type == "simulated" for one in project.file.providers),
    )
    return no_ticker(watch, state.journal, state.passes)
