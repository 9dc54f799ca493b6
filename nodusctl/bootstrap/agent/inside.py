"""The machine's sandbox, where it has one: raised by bubblewrap, entered by what the keeper starts, seen under other paths from inside.

The keeper stays outside. It holds the sandbox by a first process that only sleeps; sshd and tools are put beside it by entering its
namespaces, so that each is the keeper's own child and what runs is seen under the computer's own pids. Without a sandbox the same calls
start programs plainly. The surprise: bubblewrap nests two user namespaces (the outer one owns everything else, the inner one maps the
user), so they are entered in that order, which ``nsenter`` can't.
"""

from __future__ import annotations

import contextlib
import ctypes
import fcntl
import os
import re
import select
import signal
import socket
import subprocess
from collections.abc import Mapping, Sequence

from . import limits, processes
from .layout import Layout, read_json, write_json

# Where a machine's folders are inside its sandbox; the provider mounts them there.
INSIDE = "/run/nodus"
_PARTS = ("agent", "etc", "run")
_NS_GET_USERNS = 0xB701
_PR_SET_NO_NEW_PRIVS = 38
_KINDS = ("mnt", "ipc", "uts", "cgroup", "net", "pid")
_RAISE_LIMIT_SECONDS = 10.0
_HOLD = "echo up; exec >&-; exec sleep infinity"


class Child:
    """A program that the keeper started, as far as the keeper needs it."""

    def __init__(self, pid: int) -> None:
        self.pid = pid
        self._has_ended = False

    def has_ended(self) -> bool:
        """True once it has ended; it is collected then."""
        if not self._has_ended:
            with contextlib.suppress(ChildProcessError):
                self._has_ended = os.waitpid(self.pid, os.WNOHANG)[0] == self.pid
        return self._has_ended or processes.one(self.pid) is None

    def kill(self) -> None:
        """End it at once and collect it."""
        row = processes.one(self.pid)
        if row is not None and not self._has_ended:
            processes.signal_process(row, signal.SIGKILL)
        with contextlib.suppress(ChildProcessError):
            if not self._has_ended:
                os.waitpid(self.pid, 0)
        self._has_ended = True


def is_isolated(layout: Layout) -> bool:
    """True for a machine that has a sandbox."""
    return bool(layout.boot.get("sandbox"))


def has_own_network(layout: Layout) -> bool:
    """True where the sandbox doesn't share the computer's network."""
    return is_isolated(layout) and bool(layout.boot["sandbox"]["has_own_network"])


def seen(layout: Layout, path: str) -> str:
    """A path of the machine's folder or vault as it is called where sshd and sessions run."""
    if not is_isolated(layout):
        return path
    places = {layout.vault_path("secrets"): "/run/secrets", layout.vault: f"{INSIDE}/vault"}
    places |= {layout.path(part): f"{INSIDE}/{part}" for part in _PARTS}
    for outside, within in places.items():
        if path == outside or path.startswith(outside + "/"):
            return within + path[len(outside) :]
    return path


def home_of(layout: Layout) -> str:
    """The home as a session sees it."""
    return str(layout.boot.get("home_inside") or layout.boot["home"])


def raise_sandbox(layout: Layout) -> None:
    """Start the sandbox, if the machine is to have one, and wait until it stands. OSError says why it doesn't."""
    if not is_isolated(layout):
        return
    sandbox = layout.boot["sandbox"]
    for part in sandbox["folders"]:
        os.makedirs(part, mode=0o700, exist_ok=True)
    reading, writing = os.pipe()
    told, telling = os.pipe()
    given = _handed_over(sandbox["arguments"])
    with open(layout.log_file, "ab") as log:
        bubblewrap = subprocess.Popen(
            [sandbox["program"], "--info-fd", str(writing), "--args", str(given), "/bin/sh", "-c", _HOLD],
            stdin=subprocess.DEVNULL,
            stdout=telling,
            stderr=log,
            env={"PATH": "/usr/bin:/bin", processes.MARKER: layout.boot["machine"]},
            pass_fds=(writing, given),
            cwd="/",
            start_new_session=True,
            preexec_fn=lambda: limits.enter(layout),  # noqa: PLW1509 - the keeper has one thread
        )
    bubblewrap.returncode = 0  # collected by the keeper with all the others, not by Popen
    for end in (writing, telling, given):
        os.close(end)
    # Neither pipe is read to its end: bubblewrap's own process keeps both open. Its information is there before anything runs inside.
    is_up = bool(select.select([told], [], [], _RAISE_LIMIT_SECONDS)[0]) and os.read(told, 16) == b"up\n"
    found = re.search(rb'"child-pid"\s*:\s*(\d+)', os.read(reading, 4096)) if is_up else None
    for end in (reading, told):
        os.close(end)
    if found is None:
        raise OSError("the sandbox did not start: " + _last_words(layout))
    first = int(found[1])
    rows = processes.table()
    frame = sorted(processes.below(rows, {bubblewrap.pid}))
    write_json(layout.sandbox_file, {**processes.identity(first), "frame": [processes.identity(pid) for pid in frame]}, is_synced=False)


def first_process(layout: Layout) -> processes.Process | None:
    """The first process of the sandbox's pid namespace: with it, everything inside ends."""
    return processes.recorded(layout.sandbox_file)


def frame(layout: Layout) -> set[int]:
    """Pids of what holds the machine up and is no work of anybody's: bubblewrap, the sleeping holder, the keeper's companions."""
    written = [*read_json(layout.sandbox_file).get("frame", []), *read_json(layout.companions_file).get("running", [])]
    return {row.pid for row in (processes.recorded_in(identity) for identity in written) if row}


def spawn(layout: Layout, words: Sequence[str], environment: Mapping[str, str], folder: str = "/") -> Child:
    """Start a program inside the machine, under its limits, its output to the machine's log. OSError where it can't be started.

    ``words[0]``, ``folder`` and everything in ``words`` are as seen from inside. With the keeper everything started so ends.
    """
    first = first_process(layout) if is_isolated(layout) else None
    if is_isolated(layout) and first is None:
        raise OSError("the machine's sandbox has ended")
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            limits.enter(layout)
            _redirect(layout)
            if first is not None:
                enter(first.pid)
                grandchild = os.fork()
                if grandchild:
                    os.write(writing, f"{grandchild}\n".encode())
                    os._exit(0)
            else:
                processes.die_with_parent()
            os.setsid()
            for number in (signal.SIGPIPE, signal.SIGXFSZ):  # Python ignores them, and programs would inherit that
                signal.signal(number, signal.SIG_DFL)
            os.chdir(folder)
            os.execvpe(words[0], list(words), {processes.MARKER: layout.boot["machine"], **environment})
        except BaseException as failure:
            os.write(writing, f"failed: {failure}\n".encode())
        finally:
            os._exit(127)
    os.close(writing)
    with os.fdopen(reading) as stream:
        lines = stream.read().splitlines()
    failures = [line[8:] for line in lines if line.startswith("failed: ")]
    if first is not None or failures:
        with contextlib.suppress(ChildProcessError):
            os.waitpid(child, 0)
    if failures:
        raise OSError(f"{words[0]} did not start: {failures[0]}")
    # The one in between has gone, so the kernel gives its child to the nearest subreaper of the outer pid namespace: the keeper.
    return Child(int(lines[0]) if first is not None else child)


def enter(pid: int, kinds: Sequence[str] = _KINDS) -> None:
    """Take this process into the namespaces of ``pid``; the pid namespace counts from its next child on. OSError where that can't be."""
    opened = {kind: os.open(f"/proc/{pid}/ns/{kind}", os.O_RDONLY | os.O_CLOEXEC) for kind in (*kinds, "user")}
    strange = [kind for kind in kinds if not _is_ours(kind, opened[kind])]
    # Asked now: once in the other mount namespace there is no /proc that knows this process.
    is_whole, inner = "mnt" in strange, os.fstat(opened["user"])
    if strange:
        owner = fcntl.ioctl(opened[strange[0]], _NS_GET_USERNS)
        is_whole = is_whole and not os.path.samestat(os.fstat(owner), inner)
        _set_namespace(owner)
        os.close(owner)
    for kind in strange:
        _set_namespace(opened[kind])
    if is_whole:
        _set_namespace(opened["user"])
    for handle in opened.values():
        os.close(handle)
    ctypes.CDLL(None, use_errno=True).prctl(_PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0)


def enter_network(layout: Layout) -> None:
    """Take this process to where the machine's loopback is; nothing else changes for it."""
    first = first_process(layout) if has_own_network(layout) else None
    if first is not None:
        enter(first.pid, ("net",))


def listen_within(layout: Layout, port: int) -> int:
    """A descriptor that listens on the machine's own loopback and is served out here. OSError where that can't be.

    A socket belongs to the network it was made in. A child goes there, makes it and hands it back.
    """
    ours, theirs = socket.socketpair()
    if os.fork() == 0:
        try:
            enter_network(layout)
            listener = socket.socket()
            listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            listener.bind(("127.0.0.1", port))
            listener.listen(128)
            socket.send_fds(theirs, [b"1"], [listener.fileno()])
        finally:
            os._exit(0)
    theirs.close()
    with ours:
        handles = socket.recv_fds(ours, 1, 1)[1]
    if not handles:
        raise OSError("nothing can listen in the machine's network")
    return handles[0]


def _is_ours(kind: str, handle: int) -> bool:
    return os.path.samestat(os.fstat(handle), os.stat(f"/proc/self/ns/{kind}"))


def _set_namespace(handle: int) -> None:
    if ctypes.CDLL(None, use_errno=True).setns(handle, 0) != 0:
        number = ctypes.get_errno()
        raise OSError(number, f"the sandbox can't be entered: {os.strerror(number)}")


def _handed_over(words: Sequence[str]) -> int:
    """A descriptor with the arguments: on the command line everybody inside could read this computer's paths."""
    handle = os.memfd_create("arguments")
    os.write(handle, b"".join(os.fsencode(word) + b"\0" for word in words))
    os.lseek(handle, 0, os.SEEK_SET)
    return handle


def _redirect(layout: Layout) -> None:
    nothing = os.open(os.devnull, os.O_RDONLY)
    log = os.open(layout.log_file, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
    for source, target in ((nothing, 0), (log, 1), (log, 2)):
        os.dup2(source, target)


def _last_words(layout: Layout) -> str:
    with open(layout.log_file, encoding="utf-8", errors="replace") as stream:
        return " ".join(stream.read().splitlines()[-2:])
