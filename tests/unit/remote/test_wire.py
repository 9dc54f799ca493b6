"""Questions and answers as JSON."""

from __future__ import annotations

import json

import pytest

from nodusctl.provider.agent import AgentCommand, AgentRequest, ToolAnswer
from nodusctl.provider.replies import Done, Refused, Unknown
from nodusctl.remote.wire import reply_from, request_text


def test_a_request_carries_only_what_its_command_speaks_of() -> None:
    assert json.loads(request_text(AgentRequest(command=AgentCommand.READY))) == {"command": "ready"}
    pushed = AgentRequest(command=AgentCommand.SECRETS, files={"run/secrets/a/b": "c"})
    assert json.loads(request_text(pushed)) == {"command": "secrets", "files": {"run/secrets/a/b": "c"}}
    never_idle = AgentRequest(command=AgentCommand.RENEW, idle_timeout_seconds=0)
    assert json.loads(request_text(never_idle)) == {"command": "renew", "idle_timeout_seconds": 0}


def test_an_answer_becomes_values_with_aware_times() -> None:
    tools = [{"name": "SSH", "has_answered": True}]
    reply = reply_from(json.dumps({"version": "1", "boot_id": "b", "tools": tools, "ready_at": "2026-10-26T07:00:00.5Z"}))
    assert isinstance(reply, Done)
    assert reply.value.tools == (ToolAnswer(name="SSH", has_answered=True),)
    assert reply.value.ready_at is not None
    assert reply.value.ready_at.utcoffset() is not None


def test_a_refusal_keeps_its_code_and_words() -> None:
    assert reply_from('{"error": {"code": "Invalid", "message": "no"}}') == Refused("Invalid", message="no")


@pytest.mark.parametrize("text", ["", "Last login: today", "[]", '{"version": "1"}', '{"version": 1, "boot_id": null}'])
def test_anything_else_is_unknown(text: str) -> None:
    assert isinstance(reply_from(text), Unknown)
