"""What the commands that reach a machine share: the caller, waiting or starting first, and replacing this process by ssh."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, NoReturn

from nodusctl.base.ids import Address
from nodusctl.cli.wiring import Wiring

if TYPE_CHECKING:
    from nodusctl.engine.reaching import Caller
    from nodusctl.engine.waking import Lack
    from nodusctl.remote.session import PersonLogin


def caller_of(wiring: Wiring) -> Caller:
    """Who logs in from here."""
    from nodusctl.engine.reaching import Caller
    from nodusctl.remote.keys import person_key

    data_folder = str(wiring.data_folder)
    return Caller(journal=wiring.journal, providers=wiring.providers, data_dir=data_folder, key_path=person_key(data_folder)[1])


def login_to(wiring: Wiring, address: Address, *, program: str = "ssh") -> PersonLogin:
    """How to log in, once the Workspace runs: a start under way is waited for, a stopped one started, its rate and cap said first.

    UserError where ``program``, which is what logs in, isn't there: before anything is started that costs money.
    """
    from nodusctl.engine.reaching import login_of, stored_workspace
    from nodusctl.engine.waking import Lack, lack_of, wake_words

    caller = caller_of(wiring)
    stored = stored_workspace(address, caller.journal)
    lack = lack_of(stored)
    if lack is not Lack.NOTHING:
        require_program(wiring, program)
        if lack is Lack.WAKE:
            wiring.output(is_json=False).remark(wake_words(stored))
        bring_up(wiring, address, lack)
    login = login_of(address, caller)
    require_program(wiring, program)
    return login


def require_program(wiring: Wiring, name: str) -> None:
    """UserError where a program isn't on PATH."""
    import os
    import shutil

    if shutil.which(name, path=wiring.surroundings.environment.get("PATH", os.defpath)) is None:
        from nodusctl.base.exits import UserError
        from nodusctl.engine.checkup import missing_program

        raise UserError(missing_program(name))


def bring_up(wiring: Wiring, address: Address, lack: Lack, *, is_connection: bool = False) -> None:
    """Start it or wait for it, with progress on stderr; a connection's start asks today's prices and stays inside the approval."""
    from dataclasses import replace

    from nodusctl.cli.apply_settings import apply_settings
    from nodusctl.cli.carrying import working
    from nodusctl.engine import waking
    from nodusctl.engine.current_rates import CurrentRates
    from nodusctl.engine.market import configured_rates

    output = wiring.output(is_json=False)
    with working(wiring, output) as work:
        rates = CurrentRates(wiring.providers, wiring.prices, configured_rates(wiring.project.file)) if is_connection else None
        waking.bring_up(
            address,
            lack,
            outside=work.outside if rates is None else replace(work.outside, rate_of=rates),
            command=wiring.command,
            settings=apply_settings(wiring),
            interrupts=work.interrupts,
            is_connection=is_connection,
        )


def become(wiring: Wiring, words: Sequence[str]) -> NoReturn:
    """Give back what is open and become that program; its exit status is ours."""
    import os

    wiring.close()
    os.execvp(words[0], list(words))
