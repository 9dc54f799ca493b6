"""Plan files on disk: written whole or not at all, readable by their owner only, with a kept copy of the last 20.

UserError             the file can't be read, or is no plan this nodusctl may use
"""

from __future__ import annotations

import os
import tempfile
from contextlib import suppress
from pathlib import Path

from nodusctl.base.diagnostics import error
from nodusctl.base.exits import ExitCode, UserError
from nodusctl.plan.file import SUFFIX, PlanFault, PlanFileError, looks_like_plan, read_plan, write_plan
from nodusctl.plan.hashing import plan_hash
from nodusctl.plan.plan import Plan

KEPT = 20
_HEAD_BYTES = 4096
_HEADLINES = {
    PlanFault.UNREADABLE: "The plan file can't be read.",
    PlanFault.NEWER_FORMAT: "The plan file was written by a newer nodusctl.",
    PlanFault.DIGEST_DIFFERS: "The plan file is not as it was written.",
}


def save_plan(plan: Plan, path: Path, *, state_folder: Path) -> Path:
    """Write ``plan`` to ``path`` (mode 0600) and keep a copy under ``state_folder``; the copy's path. OSError where that fails."""
    text = write_plan(plan)
    write_whole(path, text)
    return keep_plan(plan, text, state_folder=state_folder)


def keep_plan(plan: Plan, text: str, *, state_folder: Path) -> Path:
    """The copy ``plans/<planHash>.nodusplan``; older ones beyond the last 20 are removed."""
    folder = state_folder / "plans"
    folder.mkdir(parents=True, exist_ok=True)
    ignore = state_folder / ".gitignore"
    if not ignore.exists():
        ignore.write_text("*\n")
    kept = folder / f"{plan_hash(plan)}{SUFFIX}"
    write_whole(kept, text)
    by_age = sorted(folder.glob(f"*{SUFFIX}"), key=lambda one: (one != kept, -one.stat().st_mtime_ns))
    for old in by_age[KEPT:]:
        with suppress(OSError):
            old.unlink()
    return kept


def kept_plan(hash_text: str, *, state_folder: Path) -> Plan | None:
    """The kept copy of a plan by its hash, None where it isn't kept (any more) or was damaged."""
    path = state_folder / "plans" / f"{hash_text}{SUFFIX}"
    try:
        return read_plan(path.read_text())
    except (OSError, UnicodeDecodeError, PlanFileError):
        return None


def is_plan_file(path: Path) -> bool:
    """True if the file's content, whatever its name, is meant to be a plan."""
    try:
        with path.open(encoding="utf-8") as file:
            return looks_like_plan(file.read(_HEAD_BYTES))
    except (OSError, UnicodeDecodeError):
        return False


def open_plan(path: Path) -> tuple[Plan, str]:
    """The plan and the file's whole text. UserError (exit 11) where it is unreadable, newer or changed."""
    try:
        text = path.read_text(encoding="utf-8")
        return read_plan(text), text
    except (OSError, UnicodeDecodeError) as fault:
        detail = f"{path}: {getattr(fault, 'strerror', None) or 'it is no text'}."
        raise UserError(error("PlanUnreadable", _HEADLINES[PlanFault.UNREADABLE], detail), exit_code=ExitCode.REFUSED) from None
    except PlanFileError as fault:
        fix = "Upgrade this installation:\n  pip install --upgrade nodusctl" if fault.fault is PlanFault.NEWER_FORMAT else _PLAN_AGAIN
        diagnostic = error("PlanUnreadable", _HEADLINES[fault.fault], f"{path}: {fault.detail}", fix)
        raise UserError(diagnostic, exit_code=ExitCode.REFUSED) from None


_PLAN_AGAIN = "Make it again:\n  nodusctl plan -o FILE"


def write_whole(path: Path, text: str) -> None:
    """Through a temporary file beside it, so that a reader or a crash never meets half a plan; mkstemp gives mode 0600."""
    handle, temporary = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
    try:
        with os.fdopen(handle, "w", encoding="utf-8") as file:
            file.write(text)
            file.flush()
            os.fsync(file.fileno())
        Path(temporary).replace(path)
    except BaseException:
        Path(temporary).unlink(missing_ok=True)
        raise
