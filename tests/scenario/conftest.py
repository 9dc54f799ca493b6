"""A fresh world for each scenario, and one in which a Workspace runs already."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from support.world import HOME_YAML, World, workspace_yaml


@pytest.fixture
def world(tmp_path: Path) -> World:
    """A project in the default simulated world, at START."""
    return World(tmp_path / "project")


@pytest.fixture
def running(world: World) -> Iterator[World]:
    """A running Workspace that is never idle, with its home."""
    world.write(HOME_YAML, workspace_yaml(idleTimeout="0s"))
    world.apply()
    yield world
    world.close()
