"""Carrying a port to this computer in the foreground, until Ctrl-C or until the machine closes."""

from __future__ import annotations

import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, NoReturn

from nodusctl.base.diagnostics import error
from nodusctl.base.exits import ExitCode, UserError

if TYPE_CHECKING:
    from nodusctl.remote.session import PersonLogin


def forward(login: PersonLogin, remote_port: int, local_port: int, once_open: Callable[[int], None]) -> ExitCode:
    """``local_port`` 0: the same as the remote one where it is free, else another. ``once_open`` gets the one it became."""
    from nodusctl.engine.reaching import forward_invocation
    from nodusctl.remote import forwarding

    port = local_port or forwarding.local_port(remote_port)
    try:
        with _ended_by_signals(), forwarding.forwarding(forward_invocation(login, port, remote_port), port) as ssh:
            once_open(port)
            status = ssh.wait()
    except KeyboardInterrupt:
        return ExitCode.DONE
    except OSError as failure:
        raise UserError(error("Unavailable", "The port could not be forwarded.", f"{failure}.")) from None
    if status:
        raise UserError(error("Unavailable", "The connection was closed.", f"ssh ended with status {status}."))
    return ExitCode.DONE


@contextmanager
def _ended_by_signals() -> Iterator[None]:
    """SIGTERM and SIGHUP end a forwarding as Ctrl-C does, so that its ssh never outlives it."""

    def interrupt(number: int, frame: object) -> NoReturn:
        raise KeyboardInterrupt

    before = {number: signal.signal(number, interrupt) for number in (signal.SIGTERM, signal.SIGHUP)}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
