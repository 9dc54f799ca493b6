"""A place on the server for each test, and a folder of its own."""

from __future__ import annotations

from pathlib import Path

import pytest
from support.postgres import Server


@pytest.fixture(autouse=True)
def _own_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where a project would be: what is kept of a state goes there."""
    monkeypatch.chdir(tmp_path)


@pytest.fixture
def url(postgres: Server) -> str:
    """A place where no state is yet."""
    return postgres.new_state()
