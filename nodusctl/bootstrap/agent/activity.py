"""What the keeper writes down about use: which processes run, and the last facts of a person's presence.

The service key's own logins never count. Judging idleness from the facts comes later; here they are only recorded.
"""

from __future__ import annotations

import json
from typing import Any

from . import door, processes
from .layout import Layout, read_json, timestamp, write_text

_FACTS_KEPT = 3


def record(layout: Layout) -> None:
    """Look once: rewrite the list of processes, and add a fact where a person is logged in."""
    rows = processes.of_machine(layout)
    write_text(layout.processes_file, json.dumps([{"pid": row.pid, "start": row.start} for row in rows.values()]), is_synced=False)
    own = door.key_of(layout.boot["service_key"])
    sessions = [row for row in rows.values() if own not in (keys := door.session_keys(row.pid)) and keys]
    if sessions:
        oldest = min(sessions, key=lambda row: row.start)
        _add(layout, {"kind": "ssh", "detail": f"session of {_command(oldest.pid)}", "time": timestamp()})


def facts(layout: Layout) -> list[dict[str, Any]]:
    """The last facts, newest first."""
    return list(read_json(layout.activity_file).get("facts", []))


def _add(layout: Layout, fact: dict[str, Any]) -> None:
    older = [known for known in facts(layout) if (known["kind"], known["detail"]) != (fact["kind"], fact["detail"])]
    write_text(layout.activity_file, json.dumps({"facts": [fact, *older][:_FACTS_KEPT]}), is_synced=False)


def _command(pid: int) -> str:
    try:
        with open(f"/proc/{pid}/cmdline", encoding="utf-8", errors="replace") as stream:
            return " ".join(stream.read().split("\0")).strip()[:80] or "a shell"
    except OSError:
        return "a shell"
