"""A machine kit that leaves nothing running."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))

from machine_kit import MachineKit


@pytest.fixture
def kit(tmp_path: Path) -> Iterator[MachineKit]:
    kit = MachineKit(tmp_path)
    yield kit
    kit.clear()
