"""A person's login: the ssh command line, the pinned known_hosts file, and running a command with its exit status."""

from __future__ import annotations

import os
import shlex
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from nodusctl.provider.machines import SshEndpoint
from nodusctl.remote.jumping import jump_alias, jump_options
from nodusctl.remote.options import pinned_options

_SIGNALLED = 128


@dataclass(frozen=True, slots=True, kw_only=True)
class PersonLogin:
    """What ``nodusctl ssh`` needs: ``known_hosts`` is the file that pins ``alias`` (see ``pin_host``), ``key_path`` the person's key.

    ``jump_known_hosts`` is the file that pins the endpoint's jump host (see ``pin_jump``), "" where it has none.
    """

    alias: str
    endpoint: SshEndpoint
    key_path: str
    known_hosts: str
    jump_known_hosts: str = ""

    @property
    def options(self) -> list[str]:
        """ssh's and scp's options for this login: pinned, and through its jump host where it has one."""
        through = jump_options(self.endpoint.jump, self.jump_known_hosts)
        return [*pinned_options(self.alias, self.known_hosts, self.key_path), *through]


def pin_host(folder: str, alias: str, host_key: str) -> str:
    """Write the known_hosts file of one machine, once; returns its path.

    A Workspace keeps its host key until it is deleted, so a file that says something else is never mended in passing: ssh then refuses.
    """
    path = Path(folder) / f"{alias}.known_hosts"
    if path.exists():
        return str(path)
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    fresh = path.with_name(f".{path.name}.{os.getpid()}")
    fresh.write_text(known_hosts_line(alias, host_key), encoding="utf-8")
    fresh.replace(path)
    return str(path)


def pin_jump(folder: str, endpoint: SshEndpoint) -> str:
    """Write the known_hosts file of an endpoint's jump host; its path, or "" where there is none."""
    return "" if endpoint.jump is None else pin_host(folder, jump_alias(endpoint.jump), endpoint.jump.host_key)


def known_hosts_line(alias: str, host_key: str) -> str:
    """``alias ssh-ed25519 AAAA…`` with a newline."""
    return f"{alias} {' '.join(host_key.split()[:2])}\n"


def ssh_command(login: PersonLogin, command: Sequence[str] = ()) -> list[str]:
    """The whole command line. One word goes to the remote shell as it is; several are quoted so that they arrive as they were given."""
    remote = [command[0]] if len(command) == 1 else [shlex.join(command)] if command else []
    return [
        "ssh",
        *login.options,
        "-p",
        str(login.endpoint.port),
        "-l",
        login.endpoint.user,
        login.endpoint.host,
        *(["--", *remote] if remote else []),
    ]


def run_session(login: PersonLogin, command: Sequence[str] = ()) -> int:
    """Run ssh on this terminal; returns the remote exit status (255: ssh itself failed and has said why)."""
    status = subprocess.run(ssh_command(login, command), check=False).returncode
    return status if status >= 0 else _SIGNALLED - status
