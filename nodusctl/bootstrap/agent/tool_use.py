"""What the browser tools say about their use, without their own polling.

JupyterLab counts its requests by kind (``/metrics``): only those count that change something or open a page, because a page that is merely
open asks for lists all day, some 50 KiB a minute, and writes down its own layout every ten seconds as if somebody had changed it. A kernel
counts by when it last computed. code-server says nothing of the kind, but a page of it that is only open sends next to nothing, so what it
receives is measured like a login.
"""

from __future__ import annotations

import contextlib
import json
import re
from collections.abc import Collection, Iterator
from typing import Any

from . import tools
from .layout import Layout
from .samples import Meter
from .sockets import Connection

QUIET_BYTES = 8 * 1024
_LIMIT_SECONDS = 3.0
_COUNT = re.compile(r'http_request_duration_seconds_count\{handler="([^"]*)",method="([A-Z]+)",status_code="([23]\d\d)"\} ([0-9.e+]+)')
_READING = ("GET", "HEAD", "OPTIONS")
# Pages and files are asked for by people only.
_PAGES = ("LabHandler", "TreeHandler", "FilesHandler", "NbconvertFileHandler")
_POLLING = ("WorkspacesHandler",)


def ports(layout: Layout) -> dict[int, str]:
    """Port → declared name of the tools that run."""
    rows = tools.standing(layout)
    return {int(rows[tool.name]["port"]): tool.declared for tool in tools.wanted(layout) if rows.get(tool.name, {}).get("pid")}


def meters(layout: Layout, connections: Collection[Connection]) -> Iterator[Meter]:
    """Counters of every tool that runs. To be called where the machine's loopback is."""
    rows = tools.standing(layout)
    for tool in tools.wanted(layout):
        row = rows.get(tool.name, {})
        if not row.get("pid"):
            continue
        port = int(row["port"])
        if tool.name == "jupyter-lab":
            with contextlib.suppress(OSError, ValueError, KeyError, TypeError):
                yield from _of_jupyter(port, tools.token_of(layout, tool))
        else:
            yield from (_of_connection(tool, one) for one in connections if one.local_port == port)


def requests_by_people(text: str) -> int:
    """Of JupyterLab's counters, how many requests changed something or opened a page."""
    counted = (found.groups() for found in _COUNT.finditer(text))
    return int(sum(float(count) for handler, method, _, count in counted if _is_persons(handler, method)))


def _is_persons(handler: str, method: str) -> bool:
    return handler.endswith(_PAGES) if method in _READING else not handler.endswith(_POLLING)


def of_kernels(kernels: list[dict[str, Any]]) -> Iterator[Meter]:
    """One counter a kernel: when it last computed; one that is busy counts at each look."""
    for kernel in kernels:
        detail = f"Jupyter: a {kernel['name']} kernel"
        if kernel.get("execution_state") == "busy":
            yield Meter("tool", f"busy {kernel['id']}", 0, -1, detail)
        else:
            moment = re.sub(r"\D", "", str(kernel["last_activity"]))[:17].ljust(17, "0")
            yield Meter("tool", f"kernel {kernel['id']}", int(moment), 0, detail)


def _of_jupyter(port: int, token: str) -> Iterator[Meter]:
    yield Meter("tool", f"requests {port}", requests_by_people(_page(port, "/metrics", token)), 0, "Jupyter: a request")
    yield from of_kernels(json.loads(_page(port, "/api/kernels?no_track_activity=1", token)))


def _of_connection(tool: tools.Tool, connection: Connection) -> Meter:
    return Meter("tool", f"{tool.name} {connection.inode}", connection.received, QUIET_BYTES, f"{tool.declared}: input from the browser")


def _page(port: int, path: str, token: str) -> str:
    # Here, not above: ssl and email come with it, which take longer to import than all the rest of the agent, at every start of a machine.
    from http.client import HTTPConnection, HTTPException

    asking = HTTPConnection("127.0.0.1", port, timeout=_LIMIT_SECONDS)
    with contextlib.closing(asking):
        try:
            asking.request("GET", path, headers={"Authorization": f"token {token}"})
            answer = asking.getresponse()
            text = answer.read().decode("utf-8", "replace")
        except HTTPException as fault:
            raise ValueError(f"{path}: {fault!r}") from fault
    if answer.status != 200:
        raise ValueError(f"{path}: {answer.status}")
    return text
