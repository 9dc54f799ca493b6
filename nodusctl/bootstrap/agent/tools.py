"""The browser tools: which there are, how each is started, and how it is proved from the user's side.

A tool starts once its token was pushed, on a free port of the machine's loopback. It is proved by two questions over HTTP: with the token
it answers, without one it refuses. The token stands in a file in the vault and is in no command line and in no environment.

The surprise: JupyterLab writes its token into its runtime folder, which is by default in the home, so that folder is moved to the vault.
"""

from __future__ import annotations

import contextlib
import json
import os
import socket
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

from . import door, inside
from .edge import boot_clock
from .layout import Layout, read_json, write_json, write_text

PUSHED = "tools.json"
_PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
_PROBE_SECONDS = 3.0


class Start(NamedTuple):
    """How a tool is started: its words and what is added to its environment."""

    words: list[str]
    environment: dict[str, str]


class Tool(NamedTuple):
    """One browser tool. ``declared`` is what a spec calls it; ``limit_seconds`` counts from its first start to its first answer."""

    name: str
    declared: str
    probe: str
    limit_seconds: float
    is_closed: bool
    start: Callable[[Layout, str, int, str], Start]


def wanted(layout: Layout) -> list[Tool]:
    """The browser tools this machine is to serve: declared, and with a program here."""
    programs = layout.boot.get("programs", {})
    return [tool for tool in _TOOLS if tool.declared in layout.boot["tools"] and programs.get(tool.name)]


def token_of(layout: Layout, tool: Tool) -> str:
    """The tool's pushed token; "" before the push."""
    return str(read_json(layout.vault_path(PUSHED)).get(tool.declared, {}).get("token", ""))


def standing(layout: Layout) -> dict[str, Any]:
    """What the keeper wrote down about each tool it started, by name."""
    return read_json(layout.path("run", "tools.json"))


def write_standing(layout: Layout, rows: Mapping[str, Any]) -> None:
    """The keeper's own record of its tools."""
    write_json(layout.path("run", "tools.json"), dict(rows), is_synced=False)


def start_of(layout: Layout, tool: Tool, port: int) -> Start:
    """What to run, as seen from inside the machine: the pushed environment with the tool's own on top."""
    begin = tool.start(layout, str(layout.boot["programs"][tool.name]), port, token_of(layout, tool))
    pushed = {name: str(value) for name, value in read_json(layout.vault_path("environment.json")).items()}
    own = {
        "PATH": f"{_PATH}:{os.path.dirname(begin.words[0])}",
        "LANG": "C.UTF-8",
        "SHELL": "/bin/bash" if os.path.exists("/bin/bash") else "/bin/sh",
        "USER": str(layout.boot["user"]),
        "LOGNAME": str(layout.boot["user"]),
        "HOME": home_of(layout),
        "NODUS_SECRETS": inside.seen(layout, layout.vault_path("secrets")),
    }
    own |= layout.boot.get("environment") or {}
    return Start(begin.words, {**own, **pushed, **begin.environment})


def home_of(layout: Layout) -> str:
    """The home as a session sees it."""
    return inside.home_of(layout)


def answer(layout: Layout, name: str) -> dict[str, Any]:
    """One declared tool as the answer says it: ``has_answered``, which probe saw what for how long, its port, whether it was given up."""
    if name == "SSH":
        return _ssh(layout, "SSH")
    if name == "VSCode":
        return _editor(layout)
    for tool in wanted(layout):
        if tool.declared == name:
            return _asked(layout, tool)
    return {"name": name, "has_answered": False, "seen": "no program on this machine serves it", "has_failed": True}


def _ssh(layout: Layout, name: str) -> dict[str, Any]:
    seen = door.banner(layout.boot["sshd"]["address"], int(read_json(layout.door_file).get("port", 0)))
    return {"name": name, "has_answered": seen.startswith("SSH-"), "seen": seen or "no answer on the port of sshd"}


def _editor(layout: Layout) -> dict[str, Any]:
    """VS Code is proved by ssh. A browser editor, where one is installed, is waited for, but failing it fails nothing."""
    by_ssh = _ssh(layout, "VSCode")
    browser = next((tool for tool in wanted(layout) if tool.declared == "VSCode"), None)
    if browser is None or not by_ssh["has_answered"]:
        return by_ssh
    in_browser = _asked(layout, browser)
    if in_browser["has_answered"] or not in_browser["has_failed"]:
        return in_browser
    return {**by_ssh, "seen": f"{by_ssh['seen']}; without the browser editor: {in_browser['seen']}"}


def _asked(layout: Layout, tool: Tool) -> dict[str, Any]:
    row = standing(layout).get(tool.name)
    if not token_of(layout, tool) or row is None:
        return {"name": tool.declared, "has_answered": False, "has_failed": False, "seen": f"{tool.name} waits for its token"}
    port = int(row["port"])
    seen = probe(port, tool, token_of(layout, tool))
    waited_seconds = boot_clock() - float(row["first_start"])
    is_late = waited_seconds > tool.limit_seconds and not row.get("has_answered")
    limits = f", for {waited_seconds:.1f} s of {tool.limit_seconds:.0f} s"
    given_up = f"; {row['given_up']}" if row.get("given_up") else ""
    return {
        "name": tool.declared,
        "has_answered": not seen,
        "has_failed": bool(seen) and (is_late or bool(given_up)),
        "port": port,
        "seen": f"{seen}{limits}{given_up}" if seen else "",
    }


def probe(port: int, tool: Tool, token: str) -> str:
    """ "" where the tool answers with its token and refuses without one; else which question saw what."""
    question = f"GET {tool.probe} on 127.0.0.1:{port}"
    with_token = _status(port, tool.probe, token)
    if with_token != "200":
        return f"{question} with the token: {with_token}"
    without = _status(port, tool.probe, "") if tool.is_closed else "403"
    return "" if without == "403" else f"{question} without a token: {without}, it must be 403"


def _status(port: int, path: str, token: str) -> str:
    """The HTTP status of one GET as text, or what went wrong instead."""
    authorization = f"Authorization: token {token}\r\n" if token else ""
    request = f"GET {path} HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\n{authorization}Connection: close\r\n\r\n"
    try:
        with socket.create_connection(("127.0.0.1", port), timeout=_PROBE_SECONDS) as connection:
            connection.sendall(request.encode())
            line = connection.recv(256).decode("ascii", "replace").split("\r\n")[0].split(" ")
    except OSError as failure:
        return failure.strerror or str(failure) or type(failure).__name__
    return line[1] if len(line) > 1 and line[0].startswith("HTTP/") else "no HTTP answer"


def _jupyter(layout: Layout, program: str, port: int, token: str) -> Start:
    # Jupyter reads the file as it is: no newline.
    write_text(layout.vault_path("jupyter-token"), token)
    os.makedirs(layout.vault_path("jupyter"), mode=0o700, exist_ok=True)
    words = [program, "--no-browser", "--ip=127.0.0.1", f"--port={port}", "--ServerApp.port_retries=0"]
    words += [f"--ServerApp.root_dir={home_of(layout)}", *(["--allow-root"] if os.geteuid() == 0 else [])]
    environment = {
        "JUPYTER_TOKEN": "",
        "JUPYTER_TOKEN_FILE": inside.seen(layout, layout.vault_path("jupyter-token")),
        "JUPYTER_RUNTIME_DIR": inside.seen(layout, layout.vault_path("jupyter")),
    }
    return Start(words, environment)


def _code_server(layout: Layout, program: str, port: int, token: str) -> Start:
    lines = [f"bind-addr: 127.0.0.1:{port}", "auth: password", f"password: {json.dumps(token)}", "cert: false", ""]
    path = layout.vault_path("code-server.yaml")
    write_text(path, "\n".join(lines))
    words = [program, "--config", inside.seen(layout, path), "--disable-telemetry", "--disable-update-check", home_of(layout)]
    return Start(words, {"PASSWORD": "", "HASHED_PASSWORD": ""})


_TOOLS = (
    Tool("jupyter-lab", "Jupyter", "/api/status", 180.0, True, _jupyter),
    # /healthz needs no password by its makers' design; the rest of the editor does.
    Tool("code-server", "VSCode", "/healthz", 60.0, False, _code_server),
)


def free_port() -> int:
    """A port of loopback that is free now."""
    with contextlib.closing(socket.socket()) as probing:
        probing.bind(("127.0.0.1", 0))
        return int(probing.getsockname()[1])
