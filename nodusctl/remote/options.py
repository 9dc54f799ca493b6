"""The ssh options every connection of ours has: the pinned key or nothing, and none of the user's own configuration."""

from __future__ import annotations


def pinned_options(alias: str, known_hosts: str, identity: str) -> list[str]:
    """Options as a flat list. Checking is strict, the agent and other identities are left out, so nothing else can answer or be offered."""
    # Both files are subject to ssh's own % tokens.
    known_hosts, identity = known_hosts.replace("%", "%%"), identity.replace("%", "%%")
    named = {
        "StrictHostKeyChecking": "yes",
        "UserKnownHostsFile": f'"{known_hosts}"',
        "GlobalKnownHostsFile": "none",
        "HostKeyAlias": alias,
        "HostKeyAlgorithms": "ssh-ed25519",
        "CheckHostIP": "no",
        "UpdateHostKeys": "no",
        "VerifyHostKeyDNS": "no",
        "IdentityFile": f'"{identity}"',
        "IdentitiesOnly": "yes",
        "IdentityAgent": "none",
        "PreferredAuthentications": "publickey",
        "PasswordAuthentication": "no",
        "ControlPath": "none",
        "LogLevel": "ERROR",
        "ServerAliveInterval": "15",
    }
    return ["-F", "none", *(part for name, value in named.items() for part in ("-o", f"{name}={value}"))]
