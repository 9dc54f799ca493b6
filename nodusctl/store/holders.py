"""Who holds something, and whether that process still runs.

A pid alone proves nothing: it is used again after a while and after every boot. With the start time in clock ticks and the boot id it
names one process for ever. Only processes of this computer can be judged; of others' we say unknown.
"""

from __future__ import annotations

import os
import pwd
import socket
from pathlib import Path

from nodusctl.ports.claims import Holder, Liveness

_PROC = Path("/proc")
_ENDED = frozenset("ZXx")
_START_TIME_FIELD = 22


def this_holder(command: str) -> Holder:
    """The running process. ``command`` is what a person would recognise: ``nodusctl apply``."""
    pid = os.getpid()
    stat = _stat(pid)
    return Holder(user=_user(), host=socket.gethostname(), pid=pid, start_ticks=stat[1] if stat else 0, boot_id=boot_id(), command=command)


def boot_id() -> str:
    """This boot of this kernel; empty where the kernel doesn't say."""
    try:
        return (_PROC / "sys/kernel/random/boot_id").read_text().strip()
    except OSError:
        return ""


def liveness(holder: Holder) -> Liveness:
    """Whether ``holder`` runs; unknown for another host and where this process may not look."""
    here = boot_id()
    is_same_boot = bool(holder.boot_id) and holder.boot_id == here
    if not is_same_boot:
        if holder.host != socket.gethostname():
            return Liveness.UNKNOWN
        if holder.boot_id and here:
            return Liveness.DEAD
    stat = _stat(holder.pid)
    if stat is None:
        return Liveness.UNKNOWN if _exists(holder.pid) else Liveness.DEAD
    state, start_ticks = stat
    if state in _ENDED or (holder.start_ticks and holder.start_ticks != start_ticks):
        return Liveness.DEAD
    return Liveness.ALIVE


def shown(holder: Holder) -> str:
    """``ada@lab1 pid 4711``."""
    return f"{holder.user}@{holder.host} pid {holder.pid}"


def _stat(pid: int) -> tuple[str, int] | None:
    """State letter and start time of a process (proc(5), fields 3 and 22); None where there is nothing to read."""
    try:
        text = (_PROC / str(pid) / "stat").read_text()
    except OSError:
        return None
    # The name in field 2 may hold spaces and brackets; the last bracket closes it.
    rest = text.rpartition(")")[2].split()
    return rest[0], int(rest[_START_TIME_FIELD - 3])


def _exists(pid: int) -> bool:
    """True for a process hidden from us (hidepid), which only its refusal of a signal shows."""
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except (PermissionError, OverflowError):
        return True
    return True


def _user() -> str:
    try:
        return pwd.getpwuid(os.getuid()).pw_name
    except KeyError:
        return str(os.getuid())
