"""The first-boot document: complete, byte-stable, with one secret; and an agent that any Python since 3.9 can run."""

from __future__ import annotations

import ast
import json
import sys
from dataclasses import replace

import pytest

from nodusctl.bootstrap.bundle import agent_sources, render_bundle
from nodusctl.ports.boot import BootPlan

PLAN = BootPlan(
    host_key="BOOTSTRAP-HOST-KEY",
    service_key="ssh-ed25519 AAAA service",
    person_keys=("ssh-ed25519 BBBB person",),
    tools=("SSH",),
    edge_seconds=3600,
    idle_timeout_seconds=None,
)


def test_equal_plans_give_equal_bytes_and_the_edge_is_part_of_them() -> None:
    assert render_bundle(PLAN) == render_bundle(replace(PLAN))
    assert render_bundle(PLAN) != render_bundle(replace(PLAN, edge_seconds=3601))


def test_the_document_holds_the_whole_agent_and_no_key_but_the_bootstrap_host_key() -> None:
    document = json.loads(render_bundle(PLAN))
    assert set(document["agent"]) >= {"__main__.py", "keeper.py", "edge.py", "answers.py"}
    said = {name: value for name, value in document.items() if name != "agent"}
    assert said.pop("host_key") == "BOOTSTRAP-HOST-KEY"
    assert set(said) == {"format", "service_key", "person_keys", "tools", "edge_seconds", "idle_timeout_seconds", "home_mount"}
    assert "BOOTSTRAP" not in repr(PLAN)


@pytest.mark.parametrize("name", sorted(agent_sources()))
def test_the_agent_is_python_3_9_and_imports_the_standard_library_only(name: str) -> None:
    tree = ast.parse(agent_sources()[name], feature_version=(3, 9))
    imported = {alias.name for node in ast.walk(tree) if isinstance(node, ast.Import) for alias in node.names}
    imported |= {node.module or "" for node in ast.walk(tree) if isinstance(node, ast.ImportFrom) and node.level == 0}
    assert {module.partition(".")[0] for module in imported} <= set(sys.stdlib_module_names)
    assert not any(isinstance(node, ast.ImportFrom) and node.level > 1 for node in ast.walk(tree))
