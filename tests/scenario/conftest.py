"""A fresh world for each scenario."""

from __future__ import annotations

from pathlib import Path

import pytest
from support.world import World


@pytest.fixture
def world(tmp_path: Path) -> World:
    """A project in the default simulated world, at START."""
    return World(tmp_path / "project")
