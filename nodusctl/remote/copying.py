"""Copying files to and from a machine: scp with the same pinned options as a login."""

from __future__ import annotations

from collections.abc import Sequence

from nodusctl.remote.session import PersonLogin


def scp_command(login: PersonLogin, sources: Sequence[str], target: str, *, goes_up: bool) -> list[str]:
    """The whole command line. Folders are copied with what is in them; times and modes are kept."""
    there = f"{login.endpoint.user}@{_bracketed(login.endpoint.host)}:"
    here = [_local(path) for path in sources] if goes_up else [there + path for path in sources]
    return [
        "scp",
        "-r",
        "-p",
        *login.options,
        "-P",
        str(login.endpoint.port),
        "--",
        *here,
        there + target if goes_up else _local(target),
    ]


def _bracketed(host: str) -> str:
    return f"[{host}]" if ":" in host else host


def _local(path: str) -> str:
    """A path that scp can't take for a host's: one with a colon is given from the current folder."""
    return path if path.startswith("/") else f"./{path}"
