"""The machine's first process: arms the edge, opens the door, watches until the end.

The order is the point: the lock that makes it the only keeper, then the edge, then its own record, then sshd. Killed at any line, it leaves
nothing that runs without an edge: sshd ends with it, and what survives is found by the marker.
"""

from __future__ import annotations

import contextlib
import os
import select
import signal
import sys
from types import FrameType

from . import door, edge, ending, inside, processes, serving
from .companions import Companions
from .ending import Reason
from .gate import Gate
from .idling import Idling
from .layout import Layout, read_json, read_text, timestamp, write_json, write_text

_TICK_SECONDS = 1.0
_GRACE_SECONDS = 30.0
_FAILURE_GRACE_SECONDS = 1.0
_MOST_RESTARTS = 5


def begin(layout: Layout) -> int:
    """Start the keeper detached; returns 0 once it is on record, 1 where it could not be (another keeper lives, or the folder is gone)."""
    reading, writing = os.pipe()
    if os.fork() == 0:
        status = 1
        with contextlib.suppress(BaseException):
            os.close(reading)
            os.setsid()
            _let_go_of_the_caller(layout)
            status = _keep(layout, writing)
        os._exit(status)
    os.close(writing)
    with os.fdopen(reading, "rb") as stream:
        return 0 if stream.read(1) == b"1" else 1


def _let_go_of_the_caller(layout: Layout) -> None:
    nothing = os.open(os.devnull, os.O_RDONLY)
    log = os.open(layout.log_file, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
    for source, target in ((nothing, 0), (log, 1), (log, 2)):
        os.dup2(source, target)


def _keep(layout: Layout, begun: int) -> int:
    if ending.take_keepers_place(layout) is None or os.path.exists(layout.keeper_file) or os.path.exists(layout.ended_file):
        return 1
    processes.adopt_orphans()
    edge.arm(layout, float(layout.boot["edge_seconds"]))
    write_json(layout.keeper_file, {**processes.identity(os.getpid()), "started_at": timestamp()})
    os.write(begun, b"1")
    os.close(begun)
    watch = _Watch(layout)
    try:
        reason = watch.run()
    except OSError as failure:
        reason, watch.grace_seconds = Reason("failed", str(failure)), _FAILURE_GRACE_SECONDS
    except Exception as failure:  # whatever broke the keeper, the machine must not outlive it
        reason, watch.grace_seconds = Reason("failed", f"the keeper failed: {failure!r}"), _FAILURE_GRACE_SECONDS
    return ending.end(layout, reason, watch.grace_seconds, {os.getpid()})


class _Watch:
    """The keeper's loop, one tick a second and at once on a signal."""

    def __init__(self, layout: Layout) -> None:
        self.layout = layout
        self.grace_seconds = _GRACE_SECONDS
        self._told_to_end = False
        self._restarts = 0
        self._door_pid = 0
        self._gate = Gate(layout)
        self._companions = Companions(layout)
        self._idling = Idling(layout)
        self._serving = serving.Serving(layout)
        self._waking, writing = os.pipe()
        os.set_blocking(self._waking, False)
        os.set_blocking(writing, False)
        signal.set_wakeup_fd(writing)
        for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
            signal.signal(number, self._on_end_signal)
        for number in (signal.SIGCHLD, signal.SIGUSR1):  # a child has ended; something was pushed
            signal.signal(number, lambda number, frame: None)

    def run(self) -> Reason:
        """Watch; returns why the machine ends."""
        _prepare(self.layout)
        self._gate.open()
        inside.raise_sandbox(self.layout)
        self._open_egress()
        self._open_door()
        while True:
            reason = self._reason_to_end()
            if reason is not None:
                return reason
            write_text(self.layout.heartbeat_file, timestamp(), is_synced=False)
            self._wait(min(_TICK_SECONDS, max(0.01, edge.remaining_seconds(self.layout))))
            with contextlib.suppress(BlockingIOError):
                os.read(self._waking, 4096)

    def _wait(self, seconds: float) -> None:
        handles = [self._waking] if self._gate.handle < 0 else [self._waking, self._gate.handle]
        if self._gate.handle in select.select(handles, [], [], seconds)[0]:
            self._gate.answer()

    def _reason_to_end(self) -> Reason | None:
        if self._told_to_end:
            request = read_json(self.layout.end_request_file)
            self.grace_seconds = float(request.get("grace_seconds", self.grace_seconds))
            return Reason(str(request["reason"])) if request else Reason("signal", "its keeper was told to end by a signal")
        if not os.path.isdir(self.layout.folder):
            return Reason("failed", "the machine's folder is gone")
        if edge.remaining_seconds(self.layout) <= 0:
            return self._own_end("edge", f"its deadline has come: {read_json(self.layout.edge_file).get('armed_until', 'none was armed')}")
        if inside.is_isolated(self.layout) and inside.first_process(self.layout) is None:
            return Reason("failed", "its sandbox ended")
        ended = processes.reap()
        self._companions.mend(ended)
        self._serving.step(ended)
        if self._door_pid in ended:
            self._restarts += 1
            if self._restarts > _MOST_RESTARTS:
                return Reason("failed", "sshd ended too often")
            self._open_door()
        return self._own_end("idle", self._idling.evidence()) if self._idling.step(ended) else None

    def _own_end(self, word: str, evidence: str) -> Reason:
        self._idling.say_farewell(evidence)
        return Reason(word, evidence)

    def _open_door(self) -> None:
        self._door_pid = door.start(self.layout, self._companions).pid

    def _open_egress(self) -> None:
        egress = self.layout.boot.get("egress")
        if egress:
            handle = inside.listen_within(self.layout, int(egress["port"]))
            self._companions.start("egress", [*egress["words"], f"--listen-descriptor={handle}"], handle)

    def _on_end_signal(self, number: int, frame: FrameType | None) -> None:
        self._told_to_end = True


def _prepare(layout: Layout) -> None:
    """Everything sshd needs: the vault with the host key, who may log in, the session's script."""
    os.makedirs(layout.vault_path("secrets"), mode=0o700, exist_ok=True)
    os.chmod(layout.vault, 0o700)
    first = read_text(layout.first_host_key_file)
    if first:
        write_text(layout.vault_path("host_key"), first)
        os.unlink(layout.first_host_key_file)
    door.write_session_script(layout)
    door.write_admitted(layout)
    sys.stderr.write(f"{timestamp()} the edge is armed, the door opens\n")
    sys.stderr.flush()
