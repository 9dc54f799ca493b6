"""Kept states, and what a push or a restore did."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from nodusctl.engine.state_copies import Outcome
from nodusctl.ports.pulled import Backup
from nodusctl.render.spans import moment_text
from nodusctl.render.style import Style
from nodusctl.render.tables import table


def backups_text(backups: Sequence[Backup], style: Style) -> str:
    """Newest first."""
    if not backups:
        return "Nothing is kept yet."
    rows = [[one.name, moment_text(one.kept_at), str(one.serial), one.why, str(one.size_bytes)] for one in backups]
    return table(("BACKUP", "KEPT", "SERIAL", "WHY", "BYTES"), rows, style)


def backup_document(one: Backup) -> dict[str, Any]:
    """One as JSON."""
    return {
        "name": one.name,
        "path": str(one.path),
        "keptTime": moment_text(one.kept_at),
        "serial": one.serial,
        "why": one.why,
        "bytes": one.size_bytes,
    }


def outcome_text(done: Outcome, verb: str) -> str:
    """``verb`` is what was done: pushed, restored."""
    was = f"was at serial {done.before.serial}" if done.before.lineage else "was not there before"
    kept = f"\nWhat was there is kept in {done.replaced.backup}." if done.replaced.backup is not None else ""
    return f"{verb}: the state is at serial {done.replaced.serial} now; it {was}.{kept}"


def outcome_document(done: Outcome) -> dict[str, Any]:
    """The same as JSON."""
    return {
        "lineage": done.state.identity.lineage,
        "serial": done.replaced.serial,
        "formerSerial": done.before.serial if done.before.lineage else None,
        "backup": str(done.replaced.backup) if done.replaced.backup is not None else None,
    }
