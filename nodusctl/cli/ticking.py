"""What ``tick`` and ``sim advance --tick`` share: a pass over the project, without progress lines."""

from __future__ import annotations

import socket
from functools import partial
from typing import TYPE_CHECKING

from nodusctl.cli.wiring import Wiring
from nodusctl.executor.runs import Interrupts

if TYPE_CHECKING:
    from nodusctl.engine.current_rates import CurrentRates
    from nodusctl.engine.passes import Ticker, TickResult
    from nodusctl.ports.progress import ProgressReport


class Silence:
    """A Progress nobody watches: what a pass has done is said once, at its end."""

    def report(self, report: ProgressReport) -> None:
        """Said at the end."""

    def pulse(self) -> None:
        """Nobody waits for a sign of life."""


def one_pass(wiring: Wiring, interrupts: Interrupts, *, parallelism: int = 10) -> TickResult:
    """Everything that is due now."""
    from nodusctl.engine.ticking import tick

    return tick(lambda: wiring.outside(Silence()), ticker_of(wiring, parallelism), interrupts)


def ticker_of(wiring: Wiring, parallelism: int) -> Ticker:
    """The parts of a pass that only the wiring knows; prices and notices are loaded once they are asked for."""
    from nodusctl.engine.passes import Ticker

    settings = wiring.project.file.settings
    return Ticker(
        passes=wiring.passes,
        clock=wiring.clock,
        ids=wiring.ids,
        window_lead=settings.window_lead,
        rates=lambda: _rates(wiring),
        host=socket.gethostname(),
        parallelism=parallelism,
        notify=partial(_tell, wiring, settings.notify) if settings.notify else None,
    )


def _rates(wiring: Wiring) -> CurrentRates:
    from nodusctl.engine.current_rates import CurrentRates
    from nodusctl.engine.market import configured_rates

    return CurrentRates(wiring.providers, wiring.prices, configured_rates(wiring.project.file))


def _tell(wiring: Wiring, words: tuple[str, ...], document: str) -> str:
    """Run the project's command, without the state's key."""
    from nodusctl.engine.notice_command import NoticeCommand

    environment = {name: value for name, value in wiring.surroundings.environment.items() if name != "NODUSCTL_STATE_KEY"}
    return NoticeCommand(words=words, folder=wiring.project.folder, environment=environment)(document)
