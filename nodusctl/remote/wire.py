"""The agent's questions and answers as JSON text. What an agent says is checked like any other bytes from outside."""

from __future__ import annotations

import json

from nodusctl.provider.agent import AgentAnswer, AgentRequest
from nodusctl.provider.replies import Done, Refused, Reply, Unknown


def request_text(request: AgentRequest) -> str:
    """One JSON document; fields a command doesn't carry are left out."""
    fields: dict[str, object] = {"command": request.command.value}
    if request.edge_seconds is not None:
        fields["edge_seconds"] = request.edge_seconds
    if request.files:
        fields["files"] = dict(request.files)
    if request.grace_seconds is not None:
        fields["grace_seconds"] = request.grace_seconds
    if request.idle_timeout_seconds is not None:
        fields["idle_timeout_seconds"] = request.idle_timeout_seconds
    return json.dumps(fields)


def reply_from(text: str) -> Reply[AgentAnswer]:
    """The agent's answer, its refusal, or Unknown where the text is neither."""
    from pydantic import TypeAdapter, ValidationError

    try:
        document = json.loads(text)
        if isinstance(document, dict) and isinstance(document.get("error"), dict):
            return Refused(str(document["error"].get("code", "Invalid")), message=str(document["error"].get("message", "")))
        return Done(TypeAdapter(AgentAnswer).validate_python(document))
    except (json.JSONDecodeError, ValidationError):
        return Unknown("the agent's answer could not be read")
