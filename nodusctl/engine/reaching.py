"""Who and where: a person's login to a running Workspace, and ours to its agent. Plain OpenSSH with the pinned host key."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from nodusctl.base.diagnostics import Diagnostic, error
from nodusctl.base.exits import UserError
from nodusctl.base.ids import Address
from nodusctl.engine.inspect_connect import current_attempt
from nodusctl.engine.naming import unknown_workspace
from nodusctl.ports.journal import Journal, StoredObject
from nodusctl.ports.providers import ProviderSet
from nodusctl.ports.reach import Access
from nodusctl.remote.copying import scp_command
from nodusctl.remote.forwarding import forward_command
from nodusctl.remote.session import PersonLogin, pin_host, pin_jump, ssh_command
from nodusctl.state.status import Phase


@dataclass(frozen=True, slots=True, kw_only=True)
class Caller:
    """Who logs in: the state, the providers, the folder of this user's keys and pins, and the person's private key."""

    journal: Journal
    providers: ProviderSet
    data_dir: str
    key_path: str


def stored_workspace(address: Address, journal: Journal) -> StoredObject:
    """The Workspace as stored; UserError where there is none of this name."""
    standing = journal.snapshot().get(address)
    stored = journal.load(standing.record.uid) if standing is not None and address.kind == "workspace" else None
    if stored is None:
        raise UserError(unknown_workspace(address, [one.record.address for one in journal.snapshot()]))
    return stored


def login_of(address: Address, caller: Caller) -> PersonLogin:
    """How to log in; UserError where the Workspace doesn't run, or its platform has no SSH. Writes the pin of its host key."""
    stored = stored_workspace(address, caller.journal)
    attempt = current_attempt(stored)
    if stored.status.phase is not Phase.RUNNING or attempt is None or attempt.machine is None or attempt.terms is None:
        raise UserError(_not_running(address, str(stored.status.phase)))
    if caller.providers.get(attempt.terms.provider).agent is not None:
        raise UserError(_no_shell(address))
    if attempt.machine.ssh is None:
        raise UserError(_not_running(address, "Running, but its provider gave no address"))
    return PersonLogin(
        alias=alias_of(stored),
        endpoint=attempt.machine.ssh,
        key_path=caller.key_path,
        known_hosts=pin_of(stored, caller.data_dir),
        jump_known_hosts=pin_jump(_pins_in(caller.data_dir), attempt.machine.ssh),
    )


def access_of(stored: StoredObject, journal: Journal) -> Access | None:
    """How we ask the running machine's agent; None where there is no machine with an address."""
    attempt = current_attempt(stored)
    if attempt is None or attempt.machine is None or attempt.terms is None:
        return None
    return Access(
        provider=attempt.terms.provider,
        machine_id=attempt.machine.id,
        alias=alias_of(stored),
        host_key=attempt.host_key or attempt.bootstrap_host_key,
        service_key=journal.secret(f"service-key/{attempt.uid}") or "",
        endpoint=attempt.machine.ssh,
    )


def alias_of(stored: StoredObject) -> str:
    """The HostKeyAlias a Workspace's host key is pinned under: its uid, never its name."""
    return f"nodus-{stored.record.uid}"


def pin_of(stored: StoredObject, data_dir: str) -> str:
    """Write the known_hosts file of a Workspace that has a host key; its path, also where there is none to write yet."""
    folder = _pins_in(data_dir)
    if not stored.status.host_key:
        return f"{folder}/{alias_of(stored)}.known_hosts"
    return pin_host(folder, alias_of(stored), stored.status.host_key)


def _pins_in(data_dir: str) -> str:
    return f"{data_dir}/ssh/known_hosts.d"


def ssh_invocation(login: PersonLogin, command: Sequence[str]) -> list[str]:
    """The command line to run."""
    return ssh_command(login, command)


def copy_invocation(login: PersonLogin, sources: Sequence[str], target: str, *, goes_up: bool) -> list[str]:
    """The scp command line; remote paths are those of the side that ``goes_up`` makes the Workspace."""
    return scp_command(login, sources, target, goes_up=goes_up)


def forward_invocation(login: PersonLogin, local_port: int, remote_port: int) -> list[str]:
    """The ssh command line that carries one port of the machine's loopback to this computer's, and nothing else."""
    return forward_command(login, local_port, remote_port)


def _not_running(address: Address, phase: str) -> Diagnostic:
    detail = f"{address} is {phase}."
    return error(
        "WorkspaceStarting", "The Workspace isn't running.", detail, f"Start it:\n  nodusctl start {address}", address=str(address)
    )


def _no_shell(address: Address) -> Diagnostic:
    detail = f"{address} runs on a simulated machine, which has no shell."
    fix = "Try ssh with the embedded provider:\n  providers: {here: {type: local}}"
    return error("Unsupported", "A simulated machine can't be logged in to.", detail, fix, address=str(address))
