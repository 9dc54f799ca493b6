"""Who holds something, and whether that process still runs.

A pid alone proves nothing: it is used again after a while and after every boot. With the start time in clock ticks and the boot id it
names one process for ever. Only processes of this computer can be judged; of others' we say unknown.

The surprise: a host's name is no proof of the computer. Two laptops are called ``debian``, and every container shares the boot of its
host but sees other pids. So the boot id goes with the pid namespace and a digest of the machine id, as ``boot/namespace/machine``; one that
an older version wrote has the first part alone.
"""

from __future__ import annotations

import hashlib
import os
import pwd
import socket
from functools import lru_cache
from pathlib import Path
from typing import NamedTuple

from nodusctl.ports.claims import Holder, Liveness

_PROC, _MACHINE_ID = Path("/proc"), Path("/etc/machine-id")
_ENDED = frozenset("ZXx")
_START_TIME_FIELD = 22


def this_holder(command: str) -> Holder:
    """The running process. ``command`` is what a person would recognise: ``nodusctl apply``."""
    pid = os.getpid()
    stat = _stat(pid)
    return Holder(user=_user(), host=socket.gethostname(), pid=pid, start_ticks=stat[1] if stat else 0, boot_id=boot_id(), command=command)


@lru_cache(maxsize=1)
def boot_id() -> str:
    """This boot of this kernel, the pids this process sees, and this computer; parts the system doesn't tell are empty."""
    return "/".join((_boot(), _pid_namespace(), _machine()))


def _boot() -> str:
    try:
        return (_PROC / "sys/kernel/random/boot_id").read_text().strip()
    except OSError:
        return ""


def _pid_namespace() -> str:
    """The number of the namespace; one that is used again has a namespace behind it that is gone, with all its processes."""
    try:
        return (_PROC / "self/ns/pid").readlink().name.removeprefix("pid:[").removesuffix("]")
    except OSError:
        return ""


def _machine() -> str:
    """A digest: machine-id(5) asks that the id itself be told to nobody."""
    try:
        known = _MACHINE_ID.read_text().strip()
    except OSError:
        return ""
    return hashlib.sha256(f"nodusctl holder {known}".encode()).hexdigest()[:16] if known else ""


class _Origin(NamedTuple):
    boot: str = ""
    namespace: str = ""
    machine: str = ""

    @classmethod
    def of(cls, text: str) -> _Origin:
        return cls(*text.split("/")[:3])


def liveness(holder: Holder) -> Liveness:
    """Whether ``holder`` runs; unknown for another computer or container, and where this process may not look."""
    there, here = _Origin.of(holder.boot_id), _Origin.of(boot_id())
    if there.boot and there.boot == here.boot:
        if there.namespace and here.namespace and there.namespace != here.namespace:
            return Liveness.UNKNOWN
    elif not _is_this_computer(holder, there, here):
        return Liveness.UNKNOWN
    elif there.boot and here.boot:
        return Liveness.DEAD
    stat = _stat(holder.pid)
    if stat is None:
        return Liveness.UNKNOWN if _exists(holder.pid) else Liveness.DEAD
    state, start_ticks = stat
    if state in _ENDED or (holder.start_ticks and holder.start_ticks != start_ticks):
        return Liveness.DEAD
    return Liveness.ALIVE


def _is_this_computer(holder: Holder, there: _Origin, here: _Origin) -> bool:
    """By machine id and name together, since a copied disk has the same id; by name alone where an older version wrote the holder."""
    is_same_name = holder.host == socket.gethostname()
    is_of_older_version = not there.namespace and not there.machine
    return is_same_name and (is_of_older_version or bool(there.machine and there.machine == here.machine))


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
