"""``status.connect`` and ``status.endpoints``: how a running Workspace is reached. A browser tool's token is secret and never stands here.

Addresses of browser tools are those of the machine's own loopback; ``nodusctl open`` and ``port-forward`` carry them to this computer.
"""

from __future__ import annotations

from typing import Any

from nodusctl.attempts.attempt import Attempt
from nodusctl.engine.inspect_attempts import without_empty
from nodusctl.ports.journal import StoredObject
from nodusctl.state.status import Phase

_PATHS = {"Jupyter": "/lab", "VSCode": "/"}


def connect_of(stored: StoredObject) -> dict[str, Any]:
    """The seed's WorkspaceConnect; of a Workspace that doesn't run only the host key, which never changes."""
    name, status = stored.record.address.name, stored.status
    attempt = current_attempt(stored)
    if status.phase is not Phase.RUNNING or attempt is None:
        return {"ssh": {"hostKey": status.host_key}} if status.host_key else {}
    tools = stored.record.spec.get("tools", ("SSH",))
    return without_empty(
        {
            "ssh": without_empty({"command": f"nodusctl ssh {name}", "host": name, "hostKey": status.host_key}),
            "vscode": {"url": editor_url(name, attempt)} if "VSCode" in tools and attempt.home_path else {},
            "jupyter": {"url": tool_url("Jupyter", attempt.tool_ports["Jupyter"])} if "Jupyter" in attempt.tool_ports else {},
        }
    )


def endpoints_of(stored: StoredObject) -> list[dict[str, Any]]:
    """The browser tools that answered, with their ports on the machine."""
    attempt = current_attempt(stored)
    if stored.status.phase is not Phase.RUNNING or attempt is None:
        return []
    ports = sorted(attempt.tool_ports.items())
    return [{"name": tool.lower(), "port": port, "url": tool_url(tool, port)} for tool, port in ports]


def editor_url(host: str, attempt: Attempt) -> str:
    """VS Code on the desktop over Remote-SSH; ``host`` is an entry that ``nodusctl ssh-config --install`` made."""
    return f"vscode://vscode-remote/ssh-remote+{host}{attempt.home_path}"


def tool_url(tool: str, port: int) -> str:
    """A browser tool on some loopback, without its token."""
    return f"http://127.0.0.1:{port}{_PATHS.get(tool, '/')}"


def current_attempt(stored: StoredObject) -> Attempt | None:
    """The Attempt that now fills the slot."""
    return next((one for one in stored.attempts if one.uid == stored.status.attempt_uid), None)
