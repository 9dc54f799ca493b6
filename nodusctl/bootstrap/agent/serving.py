"""The keeper's part in the browser tools: it starts each once its token is there, and again where it dies, but not for ever.

A tool that dies five times within ten minutes is given up and says so in its answer; the machine lives on, for a person may be logged in.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Collection
from typing import Any

from . import inside, processes, tools
from .edge import boot_clock
from .layout import Layout

_MOST_DEATHS = 5
_DEATHS_SECONDS = 600.0
_LONGEST_GAP_SECONDS = 16.0


class Serving:
    """Which tools run, asked once a tick."""

    def __init__(self, layout: Layout) -> None:
        self._layout = layout
        self._rows: dict[str, dict[str, Any]] = {}
        self._deaths: dict[str, list[float]] = {}

    def step(self, ended: Collection[int]) -> None:
        """Note what has ended among our children, and start what is due."""
        if os.path.exists(self._layout.quiesced_file):
            return
        for tool in tools.wanted(self._layout):
            row = self._rows.get(tool.name)
            if row is not None and row["pid"] in ended:
                self._bury(tool.name, row)
            is_running = row is not None and row["pid"] and row["pid"] not in ended
            if not is_running and tools.token_of(self._layout, tool) and self._is_due(tool.name):
                self._start(tool)

    def _is_due(self, name: str) -> bool:
        deaths = self._deaths.get(name, [])
        if self._rows.get(name, {}).get("given_up"):
            return False
        gap = min(0.25 * 2 ** len(deaths), _LONGEST_GAP_SECONDS)
        return not deaths or boot_clock() >= deaths[-1] + gap

    def _bury(self, name: str, row: dict[str, Any]) -> None:
        now = boot_clock()
        deaths = [then for then in self._deaths.get(name, []) if now - then < _DEATHS_SECONDS]
        self._deaths[name] = [*deaths, now]
        sys.stderr.write(f"{name} has ended\n")
        row["pid"] = 0
        if len(self._deaths[name]) >= _MOST_DEATHS:
            row["given_up"] = f"{name} ended {len(self._deaths[name])} times within {_DEATHS_SECONDS / 60:.0f} min and is not started again"
        tools.write_standing(self._layout, self._rows)

    def _start(self, tool: tools.Tool) -> None:
        before = self._rows.get(tool.name, {})
        # The same port again where it can be had, so that a forwarding that stands goes on working.
        port = int(before.get("port", 0)) if len(self._deaths.get(tool.name, [])) < 2 else 0
        port = port or tools.free_port()
        row: dict[str, Any] = {"port": port, "first_start": before.get("first_start", boot_clock()), "pid": 0, "given_up": ""}
        self._rows[tool.name] = row
        try:
            words, environment = tools.start_of(self._layout, tool, port)
            row.update(processes.identity(inside.spawn(self._layout, words, environment, tools.home_of(self._layout)).pid))
        except OSError as failure:
            row["given_up"] = f"{tool.name} could not be started: {failure}"
            sys.stderr.write(row["given_up"] + "\n")
        tools.write_standing(self._layout, self._rows)
