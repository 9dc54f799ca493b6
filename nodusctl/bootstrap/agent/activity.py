"""What is kept of use: the last facts with their times, when the machine was last used, its idle timeout, who was warned.

It lies in the machine's folder, so that it outlives the keeper and any process can answer with it. Only the keeper writes facts. The
deadline counts on the boot clock; times for people stand beside it. A machine nobody has used counts from when it became ready.
"""

from __future__ import annotations

import json
import os
from collections.abc import Collection, Sequence
from typing import Any

from . import edge
from .judging import Fact, remaining_seconds
from .layout import Layout, read_json, timestamp, write_json, write_text

_FACTS_KEPT = 3


def begin(layout: Layout) -> None:
    """From now on idleness counts; facts of an earlier boot stay."""
    _write(layout, {"facts": read_json(layout.activity_file).get("facts", []), **edge.moment(), "warned": []})


def note(layout: Layout, seen: Sequence[Fact]) -> None:
    """Write down facts, the plainest first; the latest of them is when the machine was last used."""
    written = read_json(layout.activity_file)
    kept = list(written.get("facts", []))
    for fact in reversed(seen):
        fresh = {"kind": fact.kind, "detail": fact.detail, "time": timestamp(edge.wall_time(fact.clock))}
        kept = [fresh, *(one for one in kept if (one["kind"], one["detail"]) != (fact.kind, fact.detail))]
    last = edge.moment(max(fact.clock for fact in seen))
    _write(layout, {**written, **(last if last["clock"] > written.get("clock", 0.0) else {}), "facts": kept[:_FACTS_KEPT], "warned": []})


def was_warned(layout: Layout, names: Collection[str]) -> None:
    """Terminals were told of the coming stop."""
    written = read_json(layout.activity_file)
    _write(layout, {**written, "warned": sorted({*written.get("warned", []), *names})})


def last_used(layout: Layout) -> tuple[float, str]:
    """When the machine was last used: on the boot clock, and as text. Now, where this boot has nothing on record."""
    moments = [moment for moment in (read_json(path) for path in (layout.activity_file, layout.ready_file)) if edge.is_of_this_boot(moment)]
    last = max(moments, key=lambda moment: float(moment["clock"]), default=edge.moment())
    return float(last["clock"]), str(last["time"])


def last_fact(layout: Layout) -> str:
    """The latest fact in words, or ""."""
    found = read_json(layout.activity_file).get("facts", [])
    return f"{found[0]['kind']}: {found[0]['detail']}, {found[0]['time']}" if found else ""


def timeout_seconds(layout: Layout) -> int | None:
    """The idle timeout as changed last, else as in the boot document; None is never."""
    return (read_json(layout.idle_file) or layout.boot).get("idle_timeout_seconds") or None


def change_timeout(layout: Layout, seconds: int) -> None:
    """From now on the machine stops after being idle so long; 0 is never."""
    write_json(layout.idle_file, {"idle_timeout_seconds": seconds or None})


def idle_remaining_seconds(layout: Layout) -> float | None:
    """Until the idle stop; None where there is none. A quiesced machine is being saved, and no idle stop may cut that off."""
    if os.path.exists(layout.quiesced_file):
        return None
    return remaining_seconds(last_used(layout)[0], timeout_seconds(layout), edge.boot_clock())


def standing(layout: Layout) -> dict[str, Any]:
    """What an answer says of use."""
    written, left = read_json(layout.activity_file), idle_remaining_seconds(layout)
    return {
        "activities": list(written.get("facts", [])),
        "last_activity_at": last_used(layout)[1],
        "idle_timeout_seconds": timeout_seconds(layout),
        "idle_remaining_seconds": None if left is None else max(0, int(left)),
        "warned_terminals": list(written.get("warned", [])),
    }


def _write(layout: Layout, value: dict[str, Any]) -> None:
    write_text(layout.activity_file, json.dumps(value, sort_keys=True), is_synced=False)
