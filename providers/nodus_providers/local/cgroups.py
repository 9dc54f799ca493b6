"""Cgroups for limits: which controllers take a group of ours, how one is made with its limits, and how it is taken away.

Version 1 and 2 differ by controller on one computer (a hybrid host has its controllers in version 1 and an empty version 2 tree), so each
controller is looked at alone. In version 2 a group that holds processes can't hand controllers down, so a parent is searched upwards from
our own group: an ordinary user finds the one that systemd delegated, root finds any.
"""

from __future__ import annotations

import contextlib
import os
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from types import MappingProxyType

CONTROLLERS = ("memory", "cpu", "pids")
_LIMIT_FILES = {2: {"memory": "memory.max", "cpu": "cpu.max", "pids": "pids.max"}}
_LIMIT_FILES[1] = {"memory": "memory.limit_in_bytes", "cpu": "cpu.cfs_quota_us", "pids": "pids.max"}
_PERIOD_US = 100_000
_LEFT_OVER_SECONDS = 600
_PROBE_PREFIX = "nodus-probe-"


@dataclass(frozen=True, slots=True, kw_only=True)
class Parent:
    """Where a controller takes groups of ours: a folder of the cgroup file system, and its version."""

    folder: str
    version: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Controllers:
    """By controller, where it takes our groups; ``killing`` is a version 2 folder whose groups can be ended whole, or ""."""

    parents: Mapping[str, Parent] = field(default_factory=lambda: MappingProxyType({}))
    killing: str = ""


def writable_controllers(mounts: str | None = None, own: str | None = None) -> Controllers:
    """Try each controller by making a group and removing it. The texts are ``/proc/self/mounts`` and ``/proc/self/cgroup``."""
    mounts = _text("/proc/self/mounts") if mounts is None else mounts
    own = _text("/proc/self/cgroup") if own is None else own
    ours, where = _own_groups(own), _mount_points(mounts)
    parents = {}
    for controller in CONTROLLERS:
        found = _first_version(controller, where, ours) or _second_version(controller, where, ours)
        if found is not None:
            parents[controller] = found
    killing = next((str(path) for path in _upwards(where.get("", ""), ours.get("", "/")) if _takes_a_group(path, "cgroup.kill")), "")
    return Controllers(parents=MappingProxyType(parents), killing=killing)


def make_groups(controllers: Controllers, name: str, limits: Mapping[str, int]) -> tuple[str, ...]:
    """Make the group ``name`` with ``limits`` (memory in bytes, cpu in thousandths of a core, pids) and return its folders.

    OSError where a limit is not taken: nothing may start under a limit that doesn't hold.
    """
    folders: dict[str, None] = {}
    for controller, value in limits.items():
        parent = controllers.parents[controller]
        folder = Path(parent.folder) / name
        folder.mkdir(exist_ok=True)
        folders[str(folder)] = None
        _write_limit(folder, parent.version, controller, value)
    if controllers.killing:
        folder = Path(controllers.killing) / name
        folder.mkdir(exist_ok=True)
        folders[str(folder)] = None
    return tuple(folders)


def remove_groups(folders: tuple[str, ...]) -> None:
    """Remove groups in which nothing runs any more; one that isn't there is fine."""
    for folder in folders:
        with contextlib.suppress(OSError):
            Path(folder).rmdir()


def sweep_groups(controllers: Controllers, prefix: str, now: float) -> None:
    """Remove old empty groups that a crashed launch has left; the kernel keeps those in which anything runs."""
    for parent in {*(parent.folder for parent in controllers.parents.values()), *filter(None, [controllers.killing])}:
        for folder in Path(parent).glob(f"{prefix}*"):
            with contextlib.suppress(OSError):
                if now - folder.stat().st_mtime > _LEFT_OVER_SECONDS:
                    folder.rmdir()


def _write_limit(folder: Path, version: int, controller: str, value: int) -> None:
    if controller == "cpu":
        quota = max(1000, value * _PERIOD_US // 1000)
        if version == 1:
            (folder / "cpu.cfs_period_us").write_text(str(_PERIOD_US), encoding="ascii")
        text = f"{quota} {_PERIOD_US}" if version == 2 else str(quota)
    else:
        text = str(value)
    (folder / _LIMIT_FILES[version][controller]).write_text(text, encoding="ascii")
    if controller == "memory":
        _no_more_by_swap(folder, version, value)


def _no_more_by_swap(folder: Path, version: int, value: int) -> None:
    """Without this a machine over its memory would swap the whole computer; kernels without swap accounting lack the file."""
    name, text = ("memory.swap.max", "0") if version == 2 else ("memory.memsw.limit_in_bytes", str(value))
    with contextlib.suppress(OSError):
        (folder / name).write_text(text, encoding="ascii")


def _first_version(controller: str, where: Mapping[str, str], ours: Mapping[str, str]) -> Parent | None:
    for path in _upwards(where.get(controller, ""), ours.get(controller, "/")):
        if _takes_a_group(path, _LIMIT_FILES[1][controller]):
            return Parent(folder=str(path), version=1)
    return None


def _second_version(controller: str, where: Mapping[str, str], ours: Mapping[str, str]) -> Parent | None:
    for path in _upwards(where.get("", ""), ours.get("", "/")):
        if controller in _text(str(path / "cgroup.subtree_control")).split() and _takes_a_group(path, _LIMIT_FILES[2][controller]):
            return Parent(folder=str(path), version=2)
    return None


def _upwards(mount_point: str, group: str) -> tuple[Path, ...]:
    """Our own group's folder and those above it, up to the mount point; a group seen from outside its namespace starts at the top."""
    if not mount_point:
        return ()
    top = Path(mount_point)
    own = top / group.lstrip("/") if ".." not in group else top
    return tuple(path for path in (own, *own.parents) if path.is_relative_to(top) and path.is_dir())


def _takes_a_group(parent: Path, limit_file: str) -> bool:
    try:
        # A name of its own: threads that launch at the same time all look, and one must not take another's group for a refusal.
        folder = Path(tempfile.mkdtemp(prefix=_PROBE_PREFIX, dir=parent))
    except OSError:
        return False
    try:
        return all(os.access(folder / name, os.W_OK) for name in (limit_file, "cgroup.procs"))
    finally:
        remove_groups((str(folder),))


def _own_groups(text: str) -> dict[str, str]:
    """Controller (``""`` for version 2) to our group's path."""
    found = {}
    for line in text.splitlines():
        _, names, path = line.split(":", 2)
        found.update(dict.fromkeys(names.split(","), path))
    return found


def _mount_points(text: str) -> dict[str, str]:
    """Controller (``""`` for version 2) to where it is mounted."""
    found: dict[str, str] = {}
    for line in text.splitlines():
        _, place, kind, options, *_ = line.split()
        if kind == "cgroup2":
            found.setdefault("", place)
        elif kind == "cgroup":
            found.update({name: place for name in options.split(",") if name in CONTROLLERS})
    return found


def _text(path: str) -> str:
    try:
        return Path(path).read_text(encoding="utf-8")
    except OSError:
        return ""
