"""Threads for calls, used again and again: starting one costs as much as a short call.

A call that hangs keeps its thread, and the next call gets another one. The threads are daemons, so a call nobody waits for any more
doesn't keep the process alive.
"""

from __future__ import annotations

import queue
import threading
from collections.abc import Callable

Job = Callable[[], None]
_PATIENCE_SECONDS = 1.0


class Workers:
    """As many threads as there were jobs at once. A job must not raise."""

    def __init__(self) -> None:
        self._jobs: queue.SimpleQueue[Job | None] = queue.SimpleQueue()
        self._lock = threading.Lock()
        self._idle: set[threading.Thread] = set()
        self._promised, self._is_closed = 0, False

    def run(self, job: Job) -> None:
        """Have ``job`` done by an idle thread, or by a new one."""
        with self._lock:
            is_free = len(self._idle) > self._promised
            self._promised += 1
        self._jobs.put(job)
        if not is_free:
            threading.Thread(target=self._work, daemon=True, name="call").start()

    def close(self) -> None:
        """End the idle threads; one whose call still hangs stays behind with it."""
        with self._lock:
            self._is_closed, idle = True, tuple(self._idle)
        for _ in idle:
            self._jobs.put(None)
        for thread in idle:
            thread.join(timeout=_PATIENCE_SECONDS)

    def _work(self) -> None:
        this = threading.current_thread()
        while True:
            with self._lock:
                if self._is_closed:
                    return
                self._idle.add(this)
            job = self._jobs.get()
            with self._lock:
                self._idle.discard(this)
                self._promised -= job is not None
            if job is None:
                return
            job()
