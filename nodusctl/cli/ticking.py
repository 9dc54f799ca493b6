"""What ``tick`` and ``sim advance --tick`` share: a pass over the project, without progress lines."""

from __future__ import annotations

import socket
from functools import cache
from typing import TYPE_CHECKING

from nodusctl.cli.wiring import Wiring
from nodusctl.executor.runs import Interrupts
from nodusctl.ports.progress import ProgressReport

if TYPE_CHECKING:
    from nodusctl.engine.notice_command import NoticeCommand
    from nodusctl.engine.ticking import Ticker, TickResult


class Silence:
    """A Progress nobody watches: what a pass has done is said once, at its end."""

    def report(self, report: ProgressReport) -> None:
        """Said at the end."""

    def pulse(self) -> None:
        """Nobody waits for a sign of life."""


def one_pass(wiring: Wiring, interrupts: Interrupts, *, parallelism: int = 10) -> TickResult:
    """Everything that is due now."""
    from nodusctl.engine.ticking import tick

    return tick(wiring.outside(Silence()), ticker_of(wiring, parallelism), interrupts)


def ticker_of(wiring: Wiring, parallelism: int) -> Ticker:
    """The parts of a pass that only the wiring knows."""
    from nodusctl.engine.current_rates import CurrentRates
    from nodusctl.engine.market import configured_rates
    from nodusctl.engine.ticking import Ticker

    configured = cache(lambda: configured_rates(wiring.project.file))
    words = wiring.project.file.settings.notify
    return Ticker(
        passes=wiring.writing.passes,
        rates=lambda: CurrentRates(wiring.providers, wiring.prices, configured()),
        host=socket.gethostname(),
        parallelism=parallelism,
        notify=_notify(wiring, words) if words else None,
    )


def _notify(wiring: Wiring, words: tuple[str, ...]) -> NoticeCommand:
    """The project's command, run without the state's key."""
    from nodusctl.engine.notice_command import NoticeCommand

    environment = {name: value for name, value in wiring.surroundings.environment.items() if name != "NODUSCTL_STATE_KEY"}
    return NoticeCommand(words=words, folder=wiring.project.folder, environment=environment)
