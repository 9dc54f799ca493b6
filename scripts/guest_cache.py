"""Guests that tests boot, kept in a cache folder under names made of all that goes into them; stale ones are removed.

A guest is stale when its name isn't the current one any more. It stays while somebody may still use it: a process has one of its files
open, as QEMU has all disks of a machine that runs, or a run of another checkout asked for it within the last hours.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import shutil
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path

_KEPT_SECONDS = 3 * 3600


def kept(cache: Path, kind: str, content: str, build: Callable[[Path], Path]) -> Path:
    """The folder ``KIND-CONTENT`` under ``cache``; made by ``build`` where it is missing, in a folder to work in that it is given.

    Processes that want it at once wait for the one that builds it. Stale ones of the kind are removed.
    """
    target = cache / f"{kind}-{content[:16]}"
    cache.mkdir(parents=True, exist_ok=True)
    with (cache / f".building-{kind}").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        for left in cache.glob(f".*-{kind}-*"):  # by a run that was killed; nobody else works on this kind now
            shutil.rmtree(left, ignore_errors=True)
        if not target.is_dir():
            with tempfile.TemporaryDirectory(dir=cache, prefix=f".making-{kind}-") as work:
                build(Path(work)).rename(target)
        os.utime(target)
        for stale in _stale(cache, kind, target):
            # Whole or gone: half a guest must not be found under its name.
            shutil.rmtree(stale.rename(cache / f".removed-{stale.name}"), ignore_errors=True)
    return target


def _stale(cache: Path, kind: str, current: Path) -> Iterator[Path]:
    others = [path for path in cache.glob(f"{kind}-*") if path != current and path.is_dir()]
    old = [path for path in others if time.time() - path.stat().st_mtime > _KEPT_SECONDS]
    used = _open_files() if old else frozenset()
    for path in old:
        if not any(name.startswith(f"{path}/") for name in used):
            yield path


def _open_files() -> frozenset[str]:
    """Paths that processes have open, as far as this user may see."""
    found: set[str] = set()
    for process in Path("/proc").glob("[0-9]*/fd"):
        with contextlib.suppress(OSError):
            for link in process.iterdir():
                with contextlib.suppress(OSError):
                    found.add(str(link.readlink()))
    return frozenset(found)
