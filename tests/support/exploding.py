"""Ports that kill their own process, with -9, just before the n-th thing it would do to the state or to the outside.

One gap lies before each of them. What a call did and what is written about it are two things, so "the call was made and nobody wrote it
down" is the gap before the write.
"""

from __future__ import annotations

import os
import signal
import threading
from collections.abc import Callable
from dataclasses import replace
from typing import Any

from nodusctl.executor.outside import Outside
from nodusctl.ports.providers import LoadedProvider

_WRITES = {"consume", "open", "close", "commit", "take_plan_lock", "drop_plan_lock", "claim", "preempt", "heartbeat", "drop"}


class Fuse:
    """Counts what the process does; ``at`` is the deed before which it dies, None for never."""

    def __init__(self, at: int | None = None) -> None:
        self.deeds: list[str] = []
        self._at, self._lock = at, threading.Lock()

    def burn(self, deed: str, *arguments: object) -> None:
        """About to do ``deed`` with ``arguments``."""
        with self._lock:
            self.deeds.append(deed)
            if len(self.deeds) == self._at:
                os.kill(os.getpid(), signal.SIGKILL)


class Fused:
    """Anything, with a fuse in front of its methods; ``names`` None takes them all."""

    def __init__(self, inner: Any, fuse: Fuse, names: set[str] | None = None) -> None:
        self._inner, self._fuse, self._names = inner, fuse, names

    def __getattr__(self, name: str) -> Any:
        found = getattr(self._inner, name)
        if not callable(found) or (self._names is not None and name not in self._names):
            return found
        return self._behind(name, found)

    def _behind(self, name: str, method: Callable[..., Any]) -> Callable[..., Any]:
        def call(*arguments: Any, **named: Any) -> Any:
            self._fuse.burn(name, *arguments)
            return method(*arguments, **named)

        return call


class FusedProviders:
    """A ProviderSet whose calls, disks' included, have the fuse in front of them."""

    def __init__(self, inner: Any, fuse: Fuse) -> None:
        self._inner, self._fuse = inner, fuse

    def get(self, instance: str) -> LoadedProvider:
        loaded = self._inner.get(instance)
        volumes = Fused(loaded.volumes, self._fuse) if loaded.volumes is not None else None
        return replace(loaded, calls=Fused(loaded.calls, self._fuse), volumes=volumes)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._inner, name)


def fused(outside: Outside, fuse: Fuse) -> Outside:
    """The executor's ports with the fuse in front of every write to the state and every call outside."""
    return replace(
        outside,
        journal=Fused(outside.journal, fuse, _WRITES),
        claims=Fused(outside.claims, fuse, _WRITES),
        providers=FusedProviders(outside.providers, fuse),
        reach=Fused(outside.reach, fuse),
    )
