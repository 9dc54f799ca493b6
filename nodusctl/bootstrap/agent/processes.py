"""Which processes belong to a machine, and how they are ended.

A process belongs to it if it descends from the keeper or the sshd it started (the keeper is a subreaper, so a daemon that called setsid
stays below it), if its environment carries the machine's marker, or if it is an sshd that serves such a process or holds a connection of
the machine's port. The last two find what a killed keeper left behind: sshd overwrites its own environment with its title.
"""

from __future__ import annotations

import contextlib
import os
import signal
import time
from collections.abc import Collection, Mapping
from typing import Any, NamedTuple

from .edge import kernel_boot_id
from .layout import Layout, read_json

MARKER = "NODUSCTL_MACHINE"
_PR_SET_PDEATHSIG, _PR_SET_CHILD_SUBREAPER = 1, 36


class Process(NamedTuple):
    """One row of the process table; ``start`` is in clock ticks since boot and tells a reused pid apart."""

    pid: int
    parent: int
    start: int
    name: str
    state: str


def one(pid: int) -> Process | None:
    """The process of this pid; None where there is none or only its zombie."""
    try:
        with open(f"/proc/{pid}/stat", encoding="utf-8", errors="replace") as stream:
            text = stream.read()
    except OSError:
        return None
    name, _, rest = text.partition("(")[2].rpartition(")")
    fields = rest.split()
    return None if fields[0] in "ZX" else Process(pid, int(fields[1]), int(fields[19]), name, fields[0])


def table() -> dict[int, Process]:
    """Every live process of the computer."""
    rows = (one(int(name)) for name in os.listdir("/proc") if name.isdigit())
    return {row.pid: row for row in rows if row is not None}


def identity(pid: int) -> dict[str, int | str]:
    """How a process is recorded: pid, start time and boot id; never the pid alone."""
    row = one(pid)
    return {"pid": pid, "start": row.start if row else 0, "boot_id": kernel_boot_id()}


def recorded(path: str) -> Process | None:
    """The live process that a file of the machine records, or None."""
    return recorded_in(read_json(path))


def recorded_in(written: Mapping[str, Any]) -> Process | None:
    """The live process of an ``identity``, or None."""
    if written.get("boot_id") != kernel_boot_id():
        return None
    row = one(int(written["pid"]))
    return row if row and row.start == written["start"] else None


def registered(layout: Layout) -> list[str]:
    """Names of the registered processes that live: each is a file in the machine's folder with its identity and what it is called."""
    folder = layout.path("run", "registered")
    names = sorted(os.listdir(folder)) if os.path.isdir(folder) else []
    rows = [read_json(os.path.join(folder, name)) for name in names if name.endswith(".json")]
    return [str(row["name"]) for row in rows if recorded_in(row)]


def below(rows: dict[int, Process], roots: set[int]) -> set[int]:
    """The roots and all that descends from them."""
    children: dict[int, list[int]] = {}
    for row in rows.values():
        children.setdefault(row.parent, []).append(row.pid)
    found, waiting = set(roots), list(roots)
    while waiting:
        for child in children.get(waiting.pop(), ()):
            if child not in found:
                found.add(child)
                waiting.append(child)
    return found


def ancestors(rows: dict[int, Process], pid: int) -> set[int]:
    """The process and all above it."""
    found: set[int] = set()
    while pid in rows and pid not in found:
        found.add(pid)
        pid = rows[pid].parent
    return found


def of_machine(layout: Layout) -> dict[int, Process]:
    """All live processes of the machine but the one that asks."""
    rows = table()
    roots = {row.pid for row in (recorded(layout.keeper_file), recorded(layout.door_file)) if row}
    marker = f"{MARKER}={layout.boot['machine']}".encode()
    roots |= {pid for pid in rows if marker in environment(pid)}
    roots |= _serving(rows, roots) | _holding_port(rows, int(read_json(layout.door_file).get("port", 0)))
    return {pid: rows[pid] for pid in below(rows, roots) if pid != os.getpid()}


def signal_process(process: Process, number: int) -> None:
    """Send a signal, unless the pid has meanwhile become another process."""
    with contextlib.suppress(ProcessLookupError, PermissionError):
        handle = os.pidfd_open(process.pid) if hasattr(os, "pidfd_open") else -1
        try:
            now = one(process.pid)
            if now is None or now.start != process.start:
                return
            if handle >= 0 and hasattr(signal, "pidfd_send_signal"):
                signal.pidfd_send_signal(handle, number)
            else:
                os.kill(process.pid, number)
        finally:
            if handle >= 0:
                os.close(handle)


def end_all(layout: Layout, spared: set[int], grace_seconds: float, frame: Collection[int] = (), limit_seconds: float = 10.0) -> int:
    """TERM, a grace, then KILL until nothing but ``spared`` is left; returns how many still run after all that.

    ``frame`` holds the others up (a sandbox's first process): it is ended last, because with it everything ends without a grace.
    """
    started = time.monotonic()
    told: set[tuple[int, int]] = set()
    left_by_sshd: set[str] = set()
    while True:
        targets = [row for row in of_machine(layout).values() if row.pid not in spared]
        reap()
        left_by_sshd.update(login_file(row.pid) for row in targets)
        age_seconds = time.monotonic() - started
        if not targets or age_seconds > grace_seconds + limit_seconds:
            remove_login_files(left_by_sshd)
            return len(targets)
        is_over = age_seconds >= grace_seconds or all(row.pid in frame for row in targets)
        for row in targets:
            if is_over:
                signal_process(row, signal.SIGKILL)
            elif row.pid not in frame and (row.pid, row.start) not in told:
                told.add((row.pid, row.start))
                signal_process(row, signal.SIGTERM)
                signal_process(row, signal.SIGCONT)
        time.sleep(0.03)


def login_file(pid: int) -> str:
    """The file in which sshd wrote down by which key a process of a login was let in (ExposeAuthInfo), or ""."""
    found = [entry.partition(b"=")[2].decode(errors="replace") for entry in environment(pid) if entry.startswith(b"SSH_USER_AUTH=")]
    return found[0] if found else ""


def remove_login_files(paths: set[str]) -> None:
    """Remove what an sshd that was killed could not."""
    for path in paths:
        if path.startswith("/tmp/sshauth."):
            with contextlib.suppress(OSError):
                os.unlink(path)


def reap() -> list[int]:
    """Collect children that ended; returns their pids."""
    ended = []
    with contextlib.suppress(ChildProcessError):
        while True:
            pid, _ = os.waitpid(-1, os.WNOHANG)
            if pid == 0:
                break
            ended.append(pid)
    return ended


def environment(pid: int) -> list[bytes]:
    """A process's first environment; empty where it can't be read."""
    try:
        with open(f"/proc/{pid}/environ", "rb") as stream:
            return stream.read().split(b"\0")
    except OSError:
        return []


def _serving(rows: dict[int, Process], pids: set[int]) -> set[int]:
    found = set()
    for pid in pids:
        above = rows[pid].parent
        while above in rows and rows[above].name.startswith("sshd"):
            found.add(above)
            above = rows[above].parent
    # A listener serves others too, perhaps the whole computer: only the recorded one is the machine's.
    return {pid for pid in found if not _is_listener(pid)}


def _is_listener(pid: int) -> bool:
    try:
        with open(f"/proc/{pid}/cmdline", "rb") as stream:
            return b"[listener]" in stream.read()
    except OSError:
        return False


def _holding_port(rows: dict[int, Process], port: int) -> set[int]:
    inodes = _inodes_of_port(port) if port else set()
    if not inodes:
        return set()
    orphans = {pid for pid, row in rows.items() if row.name.startswith("sshd") and sockets_of(pid) & inodes}
    # A port is used again by other machines: what has a live listener above it belongs to that listener's keeper.
    return {pid for pid in orphans if not any(_is_listener(above) for above in ancestors(rows, pid))}


def _inodes_of_port(port: int) -> set[str]:
    with open("/proc/net/tcp", encoding="utf-8") as stream:
        lines = [line.split() for line in stream.readlines()[1:]]
    return {fields[9] for fields in lines if int(fields[1].rpartition(":")[2], 16) == port}


def sockets_of(pid: int) -> set[str]:
    """Inodes of the sockets a process holds; empty where that can't be seen."""
    found = set()
    with contextlib.suppress(OSError):
        for name in os.listdir(f"/proc/{pid}/fd"):
            with contextlib.suppress(OSError):
                target = os.readlink(f"/proc/{pid}/fd/{name}")
                if target.startswith("socket:["):
                    found.add(target[8:-1])
    return found


def die_with_parent() -> None:
    """In a new child: be told to end when the parent dies, however it dies."""
    with contextlib.suppress(OSError, ImportError, AttributeError):
        _prctl(_PR_SET_PDEATHSIG, signal.SIGTERM)


def become_worker() -> None:
    """In a child of the keeper that works for it: end with it, and hear signals as any program does."""
    die_with_parent()
    signal.set_wakeup_fd(-1)
    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP, signal.SIGCHLD, signal.SIGUSR1):
        signal.signal(number, signal.SIG_DFL)


def adopt_orphans() -> None:
    """In the keeper: what its descendants leave behind stays below it, so that a daemon can't slip out of the tree."""
    with contextlib.suppress(OSError, ImportError, AttributeError):
        _prctl(_PR_SET_CHILD_SUBREAPER, 1)


def _prctl(option: int, value: int) -> None:
    import ctypes

    if ctypes.CDLL(None, use_errno=True).prctl(option, value, 0, 0, 0) != 0:
        raise OSError(ctypes.get_errno(), "prctl")
