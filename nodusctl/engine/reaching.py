"""A person's login to a running Workspace: plain OpenSSH with the pinned host key."""

from __future__ import annotations

from collections.abc import Sequence

from nodusctl.base.diagnostics import Diagnostic, error
from nodusctl.base.exits import UserError
from nodusctl.base.ids import Address
from nodusctl.ports.journal import Journal
from nodusctl.ports.providers import ProviderSet
from nodusctl.provider.machines import SshEndpoint
from nodusctl.remote.session import PersonLogin, pin_host, ssh_command
from nodusctl.state.status import Phase


def login_of(address: Address, *, journal: Journal, providers: ProviderSet, data_dir: str, key_path: str) -> PersonLogin:
    """How to log in; UserError where the Workspace doesn't run, or its platform has no SSH."""
    standing = journal.snapshot().get(address)
    stored = journal.load(standing.record.uid) if standing is not None else None
    if standing is None or stored is None:
        raise UserError(error("NotFound", "No such Workspace.", f"{address} is not in the state.", "See what is:\n  nodusctl get ws"))
    attempt = next((a for a in stored.attempts if a.uid == stored.status.attempt_uid), None)
    if stored.status.phase is not Phase.RUNNING or attempt is None or attempt.machine is None or attempt.terms is None:
        raise UserError(_not_running(address, str(stored.status.phase)))
    if providers.get(attempt.terms.provider).agent is not None:
        raise UserError(_no_shell(address))
    endpoint: SshEndpoint | None = attempt.machine.ssh
    if endpoint is None:
        raise UserError(_not_running(address, "Running, but its provider gave no address"))
    alias = f"nodus-{attempt.owner_uid}"
    known_hosts = pin_host(f"{data_dir}/ssh/known_hosts.d", alias, stored.status.host_key)
    return PersonLogin(alias=alias, endpoint=endpoint, key_path=key_path, known_hosts=known_hosts)


def ssh_invocation(login: PersonLogin, command: Sequence[str]) -> list[str]:
    """The command line to run."""
    return ssh_command(login, command)


def _not_running(address: Address, phase: str) -> Diagnostic:
    detail = f"{address} is {phase}."
    return error(
        "WorkspaceStarting", "The Workspace isn't running.", detail, f"Start it:\n  nodusctl start {address}", address=str(address)
    )


def _no_shell(address: Address) -> Diagnostic:
    detail = f"{address} runs on a simulated machine, which has no shell."
    fix = "Try ssh with the embedded provider:\n  providers: {here: {type: local}}"
    return error("Unsupported", "A simulated machine can't be logged in to.", detail, fix, address=str(address))
