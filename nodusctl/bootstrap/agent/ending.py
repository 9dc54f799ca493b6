"""How a machine ends: idle, at its edge, on request, or when it can't go on. Nothing of it runs afterwards, and a file says when and why.

Why is written down before anything is ended, so that it can be read whatever happens on the way; the first reason is kept.
"""

from __future__ import annotations

import contextlib
import ctypes
import fcntl
import os
import shutil
import signal
import time
from typing import Any, NamedTuple

from . import inside, limits, processes
from .edge import boot_clock, kernel_boot_id
from .layout import Layout, read_json, timestamp, write_json

_HUNG_SECONDS = 15.0
OWN_WORDS = ("idle", "edge")


class Reason(NamedTuple):
    """Why a machine ends: a word for programs (idle, edge, released, signal, failed), and the evidence for people."""

    word: str
    detail: str = ""


def end(layout: Layout, reason: Reason, grace_seconds: float, spared: set[int]) -> int:
    """End every process but ``spared``, empty the vault, record the end; returns how many processes would not die."""
    reason = _noted(layout, reason)
    listener = processes.recorded(layout.door_file)
    if listener is not None:
        processes.signal_process(listener, signal.SIGTERM)
    left = processes.end_all(layout, spared, grace_seconds, inside.frame(layout) - spared)
    limits.kill_groups(layout)
    if left == 0:
        wipe(layout)
        if os.path.isdir(layout.folder):
            has_opened = bool(read_json(layout.door_file).get("has_opened"))
            written = {"ended_at": timestamp(), "reason": reason.word, "detail": reason.detail}
            if reason.word in OWN_WORDS:
                # Nobody comes to save the home of a machine that ends by itself, perhaps for a long time.
                _write_home_to_disk(layout)
            write_json(layout.ended_file, {**written, "has_never_opened": not has_opened})
    return left


def _write_home_to_disk(layout: Layout) -> None:
    with contextlib.suppress(OSError, AttributeError):
        handle = os.open(layout.boot["home"], os.O_RDONLY)
        ctypes.CDLL(None, use_errno=True).syncfs(handle)
        os.close(handle)


def _noted(layout: Layout, reason: Reason) -> Reason:
    """The reason on file, written now where there is none."""
    if not os.path.isdir(layout.folder):
        return reason
    if not os.path.exists(layout.end_note_file):
        write_json(layout.end_note_file, {"reason": reason.word, "detail": reason.detail, "decided_at": timestamp()})
    written = read_json(layout.end_note_file)
    return Reason(written["reason"], written["detail"])


def wipe(layout: Layout) -> None:
    """Remove host keys, secrets and environment."""
    shutil.rmtree(layout.vault, ignore_errors=True)
    for path in (layout.first_host_key_file, layout.admitted_file):
        if os.path.exists(path):
            os.unlink(path)


def end_from_outside(layout: Layout, reason: str, grace_seconds: float, wait_seconds: float) -> int:
    """Ask the keeper to end its machine, or do it where no keeper lives; 0 when nothing runs any more, 1 when time was up."""
    deadline = boot_clock() + wait_seconds
    while True:
        keeper = processes.recorded(layout.keeper_file)
        if keeper is None and take_keepers_place(layout) is not None:
            break
        if keeper is not None:
            asked = _ask_once(layout, keeper, reason, grace_seconds)
            if boot_clock() > float(asked["asked"]) + float(asked["grace_seconds"]) + _HUNG_SECONDS:
                processes.signal_process(keeper, signal.SIGKILL)
        if boot_clock() > deadline or not os.path.isdir(layout.folder):
            return 1
        time.sleep(0.02)
    if os.path.exists(layout.ended_file) and not processes.of_machine(layout):
        return 0
    return 1 if end(layout, Reason(str(read_json(layout.end_request_file).get("reason", reason))), grace_seconds, set()) else 0


def take_keepers_place(layout: Layout) -> int | None:
    """The descriptor of the lock that only one keeper can hold, kept until this process ends; None where it is held or was taken away."""
    try:
        lock = os.open(layout.lock_file, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    except OSError:
        return None
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        if os.path.samestat(os.fstat(lock), os.stat(layout.lock_file)):
            return lock
    except OSError:
        pass
    os.close(lock)
    return None


def _ask_once(layout: Layout, keeper: processes.Process, reason: str, grace_seconds: float) -> dict[str, Any]:
    """The end request on file, made and signalled now where there is none: the first reason is kept."""
    asked = read_json(layout.end_request_file)
    if asked.get("boot_id") != kernel_boot_id():
        asked = {"reason": reason, "grace_seconds": grace_seconds, "asked": boot_clock(), "boot_id": kernel_boot_id()}
        write_json(layout.end_request_file, asked)
    processes.signal_process(keeper, signal.SIGTERM)
    return asked
