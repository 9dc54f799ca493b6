"""Logins kept open for the next question: a line of text out, a line back, over the stdio of one ssh.

Most of what a question costs is its login, and questions come in pairs: is it ready, then a push. A talk that nobody goes on with is ended
by the agent after some seconds. It ends with this process too, however that ends, because ssh's stdin does.
"""

from __future__ import annotations

import contextlib
import os
import selectors
import subprocess
import tempfile
import threading
import time
from collections.abc import Hashable, Sequence

_PART_BYTES = 1 << 16
_END_SECONDS = 2.0


class Talk:
    """One running ssh; for one thread at a time. OSError where it can't be started."""

    def __init__(self, words: Sequence[str]) -> None:
        self._errors = tempfile.TemporaryFile()  # noqa: SIM115 - it lives as long as the ssh that writes to it
        self._ssh = subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=self._errors)
        assert self._ssh.stdin is not None and self._ssh.stdout is not None
        self._sink, self._source = self._ssh.stdin.fileno(), self._ssh.stdout.fileno()
        os.set_blocking(self._sink, False)
        self.has_answered = False

    @property
    def is_alive(self) -> bool:
        """False once ssh has ended."""
        return self._ssh.poll() is None

    def ask(self, line: str, limit_seconds: float) -> str:
        """The line that comes back; what there is of it where the other side has ended. TimeoutError, and the talk is over."""
        deadline = time.monotonic() + limit_seconds
        left, answer = memoryview(line.encode() + b"\n"), b""
        with selectors.DefaultSelector() as waiting:
            waiting.register(self._source, selectors.EVENT_READ)
            waiting.register(self._sink, selectors.EVENT_WRITE)
            while not answer.endswith(b"\n"):
                ready = {key.fd for key, _ in waiting.select(max(0.0, deadline - time.monotonic()))}
                if not ready:
                    self._ssh.kill()
                    raise TimeoutError("no answer in time")
                if self._sink in ready:
                    left = self._written(left)
                    if not left:
                        waiting.unregister(self._sink)
                if self._source in ready:
                    part = os.read(self._source, _PART_BYTES)
                    if not part:
                        break
                    answer += part
        self.has_answered = answer.endswith(b"\n")
        return answer.decode(errors="replace")

    def _written(self, left: memoryview) -> memoryview:
        try:
            return left[os.write(self._sink, left) :]
        except BrokenPipeError:
            # What ssh has to say about it is on its other pipes.
            return left[len(left) :]

    def end(self) -> tuple[int, str]:
        """End it; ssh's exit status and what it said on stderr."""
        assert self._ssh.stdin is not None and self._ssh.stdout is not None
        with contextlib.suppress(BrokenPipeError):
            self._ssh.stdin.close()
        try:
            status = self._ssh.wait(_END_SECONDS)
        except subprocess.TimeoutExpired:
            self._ssh.kill()
            status = self._ssh.wait()
        self._ssh.stdout.close()
        with self._errors:
            self._errors.seek(0)
            return status, self._errors.read().decode(errors="replace")


class Talks:
    """Those nobody asks anything at the moment, by whom they are with. Threads may take and give at the same time."""

    def __init__(self) -> None:
        self._idle: dict[Hashable, Talk] = {}
        self._lock = threading.Lock()

    def take(self, whom: Hashable) -> Talk | None:
        """The open talk with ``whom``, which is then the caller's; None where there is none that lives. Others that have ended go."""
        with self._lock:
            over = [one for one, talk in self._idle.items() if not talk.is_alive]
            ended = [self._idle.pop(one) for one in over]
            taken = self._idle.pop(whom, None)
        for talk in ended:
            talk.end()
        return taken

    def give(self, whom: Hashable, talk: Talk) -> None:
        """Keep a talk for the next question."""
        with self._lock:
            before = self._idle.pop(whom, None)
            self._idle[whom] = talk
        if before is not None:
            before.end()
