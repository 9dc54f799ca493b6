"""The way to a machine through another host: what ssh runs instead of connecting itself. The host's key is pinned like the machine's.

``ProxyJump`` itself can't be used: its ssh takes pins and keys from the user's own configuration, and ours has none.
"""

from __future__ import annotations

import hashlib
import shlex
from pathlib import Path

from nodusctl.provider.machines import JumpHost, SshEndpoint

_CONNECT_SECONDS = 10


def jump_alias(jump: JumpHost) -> str:
    """The HostKeyAlias of a jump host. It follows from what is pinned, so another key is another file and never a mended one."""
    pinned = "|".join((jump.host, str(jump.port), *jump.host_key.split()[:2]))
    return f"nodus-jump-{hashlib.sha256(pinned.encode()).hexdigest()[:16]}"


def jump_options(jump: JumpHost | None, known_hosts: str) -> list[str]:
    """Options that lead a connection through ``jump``; none without one. ``known_hosts`` is the file that pins ``jump_alias``."""
    if jump is None:
        return []
    # ssh puts host and port in for its % tokens; everything else goes to a shell as it is.
    words = shlex.join(_words(jump, known_hosts)).replace("%", "%%")
    return ["-o", f"ProxyCommand={words} -W '[%h]:%p' -- {shlex.quote(jump.host).replace('%', '%%')}"]


def carrying_command(endpoint: SshEndpoint, known_hosts: str) -> list[str]:
    """An ssh whose stdio is a connection to the endpoint's port, made from its jump host."""
    assert endpoint.jump is not None
    return [*_words(endpoint.jump, known_hosts), "-W", f"[{endpoint.host}]:{endpoint.port}", "--", endpoint.jump.host]


def _words(jump: JumpHost, known_hosts: str) -> list[str]:
    # This file too is subject to ssh's own % tokens.
    named = {
        "StrictHostKeyChecking": "yes",
        "UserKnownHostsFile": f'"{_escaped(known_hosts)}"',
        "GlobalKnownHostsFile": "none",
        "HostKeyAlias": jump_alias(jump),
        "CheckHostIP": "no",
        "UpdateHostKeys": "no",
        "VerifyHostKeyDNS": "no",
        "BatchMode": "yes",
        "ControlPath": "none",
        "ConnectTimeout": str(_CONNECT_SECONDS),
        "LogLevel": "ERROR",
        "ServerAliveInterval": "15",
    }
    identity = Path(jump.identity).expanduser() if jump.identity else None
    if identity is not None and identity.exists():
        named |= {"IdentityFile": f'"{_escaped(str(identity))}"', "IdentitiesOnly": "yes"}
    options = (part for name, value in named.items() for part in ("-o", f"{name}={value}"))
    return ["ssh", "-F", "none", *options, *(("-l", jump.user) if jump.user else ()), "-p", str(jump.port)]


def _escaped(path: str) -> str:
    return path.replace("%", "%%")
