"""What is kept must not depend on what this computer has: only the plugins that need no extra are found, and its disk has room."""

from __future__ import annotations

import pytest

from nodusctl.engine import checkup
from nodusctl.plugins import plugins
from nodusctl.plugins.discovery import installed_entry_points

_NEED_NOTHING = {"local", "simulated"}


@pytest.fixture(autouse=True)
def only_plugins_that_need_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    found = tuple(entry for entry in installed_entry_points() if entry.name in _NEED_NOTHING)
    monkeypatch.setattr(plugins, "installed_entry_points", lambda: found)


@pytest.fixture(autouse=True)
def room_enough(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("SCARCE_BYTES", "FULL_BYTES"):
        monkeypatch.setattr(checkup, name, 0)
