"""What is kept must not depend on which extras this computer has: only the plugins that need none are found."""

from __future__ import annotations

import pytest

from nodusctl.plugins import plugins
from nodusctl.plugins.discovery import installed_entry_points

_NEED_NOTHING = {"local", "simulated"}


@pytest.fixture(autouse=True)
def only_plugins_that_need_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    found = tuple(entry for entry in installed_entry_points() if entry.name in _NEED_NOTHING)
    monkeypatch.setattr(plugins, "installed_entry_points", lambda: found)
