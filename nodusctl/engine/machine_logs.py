"""What a Workspace's machine has written: its keeper, its sshd, its tools, in one log that the provider can read."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from nodusctl.base.diagnostics import Diagnostic, error
from nodusctl.base.exits import UserError
from nodusctl.base.ids import Address
from nodusctl.engine.reaching import stored_workspace
from nodusctl.executor.pushing import token_name
from nodusctl.ports.journal import Journal
from nodusctl.ports.providers import ProviderSet
from nodusctl.provider.replies import Done, Refused, Unknown

Read = Callable[[], str]


def log_of(address: Address, *, journal: Journal, providers: ProviderSet) -> Read:
    """How to read the log of the Workspace's machine, the last one it had; UserError where there is none, or its platform has no log."""
    stored = stored_workspace(address, journal)
    attempt = next((one for one in reversed(stored.attempts) if one.machine is not None and one.terms is not None), None)
    if attempt is None or attempt.machine is None or attempt.terms is None:
        raise UserError(_none(address, "it has never had a machine"))
    if attempt.is_released:
        raise UserError(_none(address, "its machine has ended, and its log with it"))
    console = providers.get(attempt.terms.provider).console
    if console is None:
        raise UserError(error("Unsupported", "This provider keeps no log of its machines.", address=str(address)))
    # Read once, so that it is known and never printed, whatever a tool wrote.
    journal.secret(token_name(attempt.uid))
    machine_id, asked = attempt.machine.id, console

    def read() -> str:
        match asked.console(machine_id):
            case Done(value=text):
                return text
            case Refused(message=message):
                raise UserError(_none(address, message))
            case Unknown(detail=detail):
                raise UserError(error("Unavailable", "The log can't be read now.", detail, address=str(address)))

    return read


def grown(read: Read, wait: Callable[[], None]) -> Iterator[str]:
    """What is new in the log each time, whole lines only, for as long as there is a log."""
    shown = 0
    while text := read():
        if len(text) < shown:
            shown = 0
        end = text.rfind("\n") + 1
        if end > shown:
            yield text[shown:end]
            shown = end
        wait()


def _none(address: Address, why: str) -> Diagnostic:
    return error("NotFound", "There is no log.", f"{address}: {why}.", f"What happened to it:\n  nodusctl describe {address}")
