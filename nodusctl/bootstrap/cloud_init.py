"""The first-boot document in the form ``cloud-init``: a boothook, which is a shell script that cloud-init runs early at each boot.

It brings the agent in its POSIX-sh form and what that needs to open the door, arms the edge first, and holds one secret, the bootstrap host
key of this Attempt. A guest without cloud-init can run it as it is. Equal plans give equal bytes.
"""

from __future__ import annotations

import shlex
from functools import cache
from pathlib import Path

from nodusctl.ports.boot import BootPlan

_AGENT = Path(__file__).parent / "shell_agent" / "agent.sh"
_END = "NODUS_END_OF_FILE"


def render_cloud_init(plan: BootPlan) -> str:
    """User-data of about 25 KB; nearly all of it is the agent."""
    values = {
        "edge_seconds": str(plan.edge_seconds),
        "idle_timeout_seconds": str(plan.idle_timeout_seconds or 0),
        "service_key": " ".join(plan.service_key.split()[:2]),
        "tools": " ".join(plan.tools),
        "home_mount": plan.home_mount,
    }
    settings = "".join(f"{name}={shlex.quote(value)}\n" for name, value in values.items())
    parts = (
        "#cloud-boothook\n#!/bin/sh\n# Written by nodusctl: what this machine runs at each boot.\n",
        "umask 077\nmkdir -p /run/nodus/etc\n",
        _file("/run/nodus/boot.env", settings),
        _file("/run/nodus/etc/host_key", plan.host_key),
        _file("/run/nodus/etc/person_keys", "".join(f"{key.strip()}\n" for key in plan.person_keys)),
        _file("/run/nodus/agent.sh", shared_in_cloud_init()),
        "exec sh /run/nodus/agent.sh begin\n",
    )
    return "".join(parts)


@cache
def shared_in_cloud_init() -> str:
    """The agent as it stands in every document of this version."""
    return _AGENT.read_text(encoding="utf-8")


def _file(path: str, text: str) -> str:
    """A here-document, quoted, so that the shell changes nothing in it. ValueError for a text that would end it early."""
    if _END in text.splitlines():
        raise ValueError(f"a file of the boot document has a line {_END}")
    body = text if text.endswith("\n") or not text else f"{text}\n"
    return f"cat >{path} <<'{_END}'\n{body}{_END}\n"
