"""The shipped conformance suite again, on local machines with every tool there is: where it asks the agent, JupyterLab really runs."""

from __future__ import annotations

import importlib.util
import json
import shutil
from pathlib import Path

import pytest
from test_provider_local import HOST_KEY, PERSON_KEY, SERVICE_KEY
from test_provider_local import TestLocal as Local

from nodusctl.base.canonical import digest
from nodusctl.bootstrap.bundle import render_bundle
from nodusctl.ports.boot import BootPlan
from nodusctl.provider.agent import AgentAnswer, AgentCommand, AgentRequest
from nodusctl.provider.contract import Provider
from nodusctl.provider.machines import Machine
from nodusctl.testing.conformance_hooks import done

pytestmark = [
    pytest.mark.local,
    pytest.mark.slow,
    pytest.mark.skipif(shutil.which("sshd", path="/usr/sbin:/sbin:/usr/bin") is None, reason="sshd is not installed"),
    pytest.mark.skipif(importlib.util.find_spec("jupyterlab") is None, reason="jupyterlab is not installed"),
]
TOKENS = {"tools.json": json.dumps({"Jupyter": {"token": "t" * 32}, "VSCode": {"token": "t" * 32}})}


class TestLocalWithAllTools(Local):
    """A machine becomes ready once its tools have their tokens, which are pushed first."""

    tools = ("SSH", "Jupyter", "VSCode")
    boot_slack_seconds = 90
    """JupyterLab takes its time where there is little of the processor to be had."""

    def make_boot(self, provider: Provider, name: str, edge_seconds: int, tmp_path: Path) -> str:
        plan = BootPlan(
            host_key=HOST_KEY.private,
            service_key=SERVICE_KEY.public,
            person_keys=(PERSON_KEY.public,),
            tools=self.tools,
            edge_seconds=edge_seconds,
            idle_timeout_seconds=None,
        )
        return render_bundle(plan)

    def ready(self, provider: Provider, machine: Machine) -> AgentAnswer:
        """The first answer in which every tool has answered."""
        done(self.ask(provider, machine, AgentRequest(command=AgentCommand.SECRETS, files=TOKENS)))
        answer = super().ready(provider, machine)
        assert {tool.name for tool in answer.tools} == set(self.tools)
        return answer

    def test_pushed_files_are_read_back_by_digest(self, provider: Provider) -> None:
        """The tokens are secrets already; what comes after them is read back by itself."""
        machine = self.running(provider)
        assert self.ready(provider, machine).has_secrets
        pushed = done(self.ask(provider, machine, AgentRequest(command=AgentCommand.SECRETS, files=self.files_to_push)))
        assert pushed.pushed_digest == digest(dict(self.files_to_push))
