"""Where a browser tool answers on a running machine, and the token that opens it: asked of the machine, shown only to whoever asks.

``status`` shows the address as it was when the session began; a tool that died meanwhile may have come back on another port.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from nodusctl.base.diagnostics import Diagnostic, error
from nodusctl.base.exits import UserError
from nodusctl.base.ids import Address
from nodusctl.engine.inspect_connect import current_attempt, tool_url
from nodusctl.engine.reaching import access_of, stored_workspace
from nodusctl.executor.pushing import token_name
from nodusctl.ports.journal import Journal
from nodusctl.ports.reach import Reach
from nodusctl.provider.agent import AgentCommand, AgentRequest, ToolAnswer
from nodusctl.provider.replies import Done, Refused, Unknown

_WITHOUT_BROWSER = "without the browser editor: "
"""What the agent says before the reason where VS Code is served to a desktop and its browser form was given up."""


@dataclass(frozen=True, slots=True, kw_only=True)
class OpenTool:
    """A tool that answers on ``port`` of the machine's loopback."""

    tool: str
    port: int
    token: str = field(repr=False)

    def url(self, port: int) -> str:
        """The address that opens it by way of ``port`` of this computer. VS Code in the browser asks for the token instead."""
        plain = tool_url(self.tool, port)
        return f"{plain}?token={self.token}" if self.tool == "Jupyter" else plain


def open_tool(address: Address, tool: str, *, journal: Journal, reach: Reach) -> OpenTool:
    """The tool as it answers now; UserError with what its probe saw where it doesn't."""
    stored = stored_workspace(address, journal)
    attempt, access = current_attempt(stored), access_of(stored, journal)
    if attempt is None or access is None:
        raise UserError(_unavailable(address, tool, "the Workspace has no machine"))
    answer = _answer(address, tool, reach.ask(access, AgentRequest(command=AgentCommand.READY)))
    if answer.has_answered and not answer.port:
        why = answer.seen.partition(_WITHOUT_BROWSER)[2]
        raise UserError(_unavailable(address, tool, why) if why else _not_in_browser(address, tool))
    if not answer.has_answered:
        raise UserError(_unavailable(address, tool, answer.seen))
    return OpenTool(tool=tool, port=answer.port, token=journal.secret(token_name(attempt.uid)) or "")


def not_served(address: Address, tool: str) -> UserError:
    """What to raise where the Workspace doesn't serve the tool at all."""
    return UserError(_unavailable(address, tool, "spec.tools doesn't name it, or this provider doesn't serve it"))


def _answer(address: Address, tool: str, reply: object) -> ToolAnswer:
    match reply:
        case Done(value=answer):
            found = next((one for one in answer.tools if one.name == tool), None)
            return found or ToolAnswer(name=tool, has_answered=False, seen="spec.tools doesn't name it, or this provider doesn't serve it")
        case Refused(code=code, message=message):
            raise UserError(_unavailable(address, tool, f"the machine refused the question: {code} {message}"))
        case Unknown(detail=detail):
            raise UserError(_unavailable(address, tool, f"the machine could not be asked: {detail}"))
        case _:
            raise TypeError(f"no reply: {reply!r}")


def _not_in_browser(address: Address, tool: str) -> Diagnostic:
    fix = "Install it where its machine runs, then stop and start the Workspace. On this computer:\n  nodusctl tools install code-server"
    detail = f"{tool} of {address}: it runs without one in the browser."
    return error("WorkspaceToolUnavailable", "The tool does not run in this session.", detail, fix, address=str(address))


def _unavailable(address: Address, tool: str, why: str) -> Diagnostic:
    return error(
        "WorkspaceToolUnavailable",
        "The tool does not run in this session.",
        f"{tool} of {address}: {why}.",
        f"Name {tool} in spec.tools and apply; if it is named, see what the machine wrote:\n  nodusctl logs {address.name}",
        address=str(address),
    )
