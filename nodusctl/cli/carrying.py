"""What apply, destroy, delete, start and stop share: ports for the executor, progress, signals, and the report at the end."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from nodusctl.base.exits import ExitCode
from nodusctl.cli.interrupting import Interruption, interruptible
from nodusctl.cli.output.heart import beating
from nodusctl.cli.output.protocol import Aside, Output
from nodusctl.cli.wiring import Wiring
from nodusctl.engine.applying import ApplyResult, notes_of
from nodusctl.executor.outside import Outside
from nodusctl.executor.runs import Interrupts
from nodusctl.render.outcomes import outcomes_document, outcomes_markdown, outcomes_text


@dataclass(frozen=True, slots=True)
class Work:
    """What a use case that moves machines is given."""

    outside: Outside
    interruption: Interruption

    @property
    def interrupts(self) -> Interrupts:
        """Signals that have arrived."""
        return self.interruption.interrupts


@contextmanager
def working(wiring: Wiring, output: Output) -> Iterator[Work]:
    """Progress beats and signals are soft until the block ends."""
    with interruptible(output) as interruption, beating(output.progress()) as progress:
        yield Work(wiring.outside(progress), interruption)


def report(result: ApplyResult, work: Work, output: Output) -> ExitCode:
    """Say what became of each object; the exit code."""
    code = work.interruption.code(result.exit_code)
    output.diagnose((*result.diagnostics, *notes_of(result)))
    aside = Aside(markdown=lambda: outcomes_markdown(result))
    output.result("result", lambda style: outcomes_text(result, style), lambda: outcomes_document(result), aside)
    return code
