"""A machine kit that leaves nothing running."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))

from machine_kit import MachineKit


@pytest.fixture(params=["isolated", "not isolated"])
def kit(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[MachineKit]:
    """A kit whose machines have a sandbox where this computer can make one, and then one whose machines have none."""
    kit = MachineKit(tmp_path, isolation="auto" if request.param == "isolated" else "off")
    if request.param == "isolated" and not kit.is_isolated:
        pytest.skip(f"no sandboxes here: {kit.provider._isolation.abilities.obstacle}")
    yield kit
    kit.clear()
