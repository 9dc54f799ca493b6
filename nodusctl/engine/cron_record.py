"""What ``cron install`` wrote down beside the state: how often somebody is to tick here, since when, and by what.

A file of its own, because commands ask for the interval each time and reading a crontab is a process. It is a memory of the person's
wish, never a proof: what is really installed is read from where it is.
"""

from __future__ import annotations

import json
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime, timedelta
from pathlib import Path

from nodusctl.base.durations import format_duration, parse_duration
from nodusctl.base.timestamps import format_time, parse_time

DEFAULT_EVERY = timedelta(minutes=5)
_NAME = "ticker.json"


@dataclass(frozen=True, slots=True, kw_only=True)
class TickerRecord:
    """``kind`` is crontab or systemd."""

    kind: str
    every: timedelta
    installed_at: datetime
    host: str


def read_ticker(state_folder: Path) -> TickerRecord | None:
    """What stands there; None where nothing does, or nothing that can be read."""
    try:
        written = json.loads((state_folder / _NAME).read_text(encoding="utf-8"))
        return TickerRecord(
            kind=str(written["kind"]),
            every=parse_duration(written["every"]),
            installed_at=parse_time(written["installedAt"]),
            host=str(written["host"]),
        )
    except (OSError, ValueError, KeyError, TypeError):
        return None


def write_ticker(state_folder: Path, record: TickerRecord) -> None:
    """Replace it. OSError where that fails."""
    state_folder.mkdir(parents=True, exist_ok=True)
    ignore = state_folder / ".gitignore"
    if not ignore.exists():
        ignore.write_text("*\n", encoding="utf-8")
    text = {
        "kind": record.kind,
        "every": format_duration(record.every),
        "installedAt": format_time(record.installed_at),
        "host": record.host,
    }
    draft = state_folder / f".{_NAME}.new"
    draft.write_text(json.dumps(text, indent=2) + "\n", encoding="utf-8")
    draft.replace(state_folder / _NAME)


def forget_ticker(state_folder: Path) -> None:
    """Remove it, where it is."""
    with suppress(FileNotFoundError):
        (state_folder / _NAME).unlink()
