"""Copying a folder so that the copy can be trusted: every file hashed as it is read, written, synced, read again and compared.

A copy can take many calls. What is done stands in a manifest, one line a file, and a call that goes on skips files whose source hasn't
changed since. Modes, times, symbolic links and, where the file system allows, extended attributes are kept; sockets, pipes and devices
are counted and left out. Copies share blocks with their source where the file system can (reflinks); they never share files with it,
but a copy may share files with an earlier copy (hard links): nobody writes to either again.
"""

from __future__ import annotations

import contextlib
import ctypes
import fcntl
import hashlib
import json
import os
import shutil
import stat
from collections.abc import Callable, Iterator, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path

_CHUNK_BYTES = 2**20
_FICLONE = 0x40049409
_MOST_TRIES = 3


class NotQuietError(Exception):
    """A file kept changing while it was copied."""


class BrokenCopyError(Exception):
    """A copy read back differs from its source or from its manifest."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Entry:
    """One line of a manifest. ``kind`` is file, folder, link or skipped; ``source`` tells whether the source changed since."""

    path: str
    kind: str
    mode: int = 0
    size: int = 0
    mtime_ns: int = 0
    digest: str = ""
    target: str = ""
    source: str = ""


@dataclass(frozen=True, slots=True)
class EarlierCopy:
    """A copy made before, whose files a new one may share: the folder of its files, and its manifest by path."""

    tree: Path
    entries: Mapping[str, Entry]

    @classmethod
    def at(cls, folder: Path) -> EarlierCopy:
        """The copy that lies in ``folder`` as ``tree`` and ``manifest``."""
        return cls(folder / "tree", {entry.path: entry for entry in read_manifest(folder / "manifest")})


def copy_tree(source: Path, target: Path, manifest: Path, may_go_on: Callable[[], bool], earlier: EarlierCopy | None = None) -> bool:
    """Go on copying ``source`` to ``target``; True when all is there and synced. ``may_go_on`` is asked before each file.

    A file that is in ``earlier`` with the same content and attributes becomes a second name of that one; ``source`` is never linked to.
    NotQuietError and BrokenCopyError end the copy; OSError is the file system's.
    """
    target.mkdir(mode=0o700, parents=True, exist_ok=True)
    copied = {entry.path: entry for entry in read_manifest(manifest)}
    seen: list[Entry] = []
    with manifest.open("a", encoding="utf-8") as log:
        for path, status in _walk(source):
            known = copied.get(path)
            if known is None or known.source != _signature(status) or not os.path.lexists(target / path):
                if not may_go_on():
                    return False
                shared = _share_one(source / path, target / path, status, path, earlier) if earlier is not None else None
                known = shared or _copy_one(source / path, target / path, path, status)
                log.write(json.dumps(asdict(known)) + "\n")
                log.flush()
            seen.append(known)
    _drop_unseen(target, {entry.path for entry in seen})
    _finish_folders(target, seen)
    _write_manifest(manifest, seen)
    sync_file_system(target)
    return True


def verify_tree(target: Path, manifest: Path) -> int:
    """Read a copy again and compare it with its manifest; returns the bytes of its files. BrokenCopyError names what differs."""
    total = 0
    for entry in read_manifest(manifest):
        path = target / entry.path
        if entry.kind == "file":
            if path.is_symlink() or not path.is_file() or _digest_of(path) != entry.digest:
                raise BrokenCopyError(f"{entry.path} differs from its manifest")
            total += entry.size
        elif entry.kind == "link" and (not path.is_symlink() or str(path.readlink()) != entry.target):
            raise BrokenCopyError(f"{entry.path} differs from its manifest")
    return total


def read_manifest(manifest: Path) -> tuple[Entry, ...]:
    """The lines of a manifest; the last one of a path wins, a line cut off by a crash is left out."""
    entries: dict[str, Entry] = {}
    if manifest.exists():
        for line in manifest.read_text(encoding="utf-8").splitlines():
            with contextlib.suppress(json.JSONDecodeError):
                entry = Entry(**json.loads(line))
                entries[entry.path] = entry
    return tuple(entries.values())


def manifest_digest(manifest: Path) -> str:
    """SHA-256 over what the content is: paths, kinds, modes, sizes, digests, targets. Times and the source's marks are left out."""
    lines = sorted([e.path, e.kind, str(e.mode), str(e.size), e.digest, e.target] for e in read_manifest(manifest) if e.kind != "skipped")
    return hashlib.sha256(json.dumps(lines).encode()).hexdigest()


def remove_tree(path: Path) -> None:
    """Remove a folder whatever its modes; a folder that isn't there is fine."""

    def open_up(function: Callable[[str], object], name: str, fault: BaseException) -> None:
        if isinstance(fault, FileNotFoundError):
            return
        Path(name).parent.chmod(0o700)
        # A file's own mode never stands in the way, and it may be a second name of a file that stays.
        if Path(name).is_dir() and not Path(name).is_symlink():
            Path(name).chmod(0o700)
        if Path(name).is_dir() and not Path(name).is_symlink():
            remove_tree(Path(name))
        else:
            Path(name).unlink(missing_ok=True)

    if path.exists():
        shutil.rmtree(path, onerror=lambda function, name, failure: open_up(function, name, failure[1]))


def sync_file_system(path: Path) -> None:
    """Write everything of the file system that holds ``path`` to disk, in one call instead of one a file."""
    handle = os.open(path, os.O_RDONLY)
    try:
        if ctypes.CDLL(None, use_errno=True).syncfs(handle) != 0:
            os.sync()
    except AttributeError:
        os.sync()
    finally:
        os.close(handle)


def _walk(source: Path, below: str = "") -> Iterator[tuple[str, os.stat_result]]:
    with os.scandir(source / below) as entries:
        listed = sorted(entries, key=lambda entry: entry.name)
    for entry in listed:
        path = f"{below}/{entry.name}" if below else entry.name
        status = entry.stat(follow_symlinks=False)
        yield path, status
        if stat.S_ISDIR(status.st_mode):
            yield from _walk(source, path)


def _signature(status: os.stat_result) -> str:
    return f"{stat.S_IFMT(status.st_mode)}:{status.st_mode}:{status.st_ino}:{status.st_size}:{status.st_mtime_ns}:{status.st_ctime_ns}"


def _copy_one(source: Path, target: Path, path: str, status: os.stat_result) -> Entry:
    if stat.S_ISDIR(status.st_mode):
        _clear(target, keeps_folder=True)
        target.mkdir(mode=0o700, exist_ok=True)
        return _entry(path, "folder", status)
    _clear(target, keeps_folder=False)
    if stat.S_ISLNK(status.st_mode):
        link = str(source.readlink())
        target.symlink_to(link)
        return _entry(path, "link", status, target=link)
    if not stat.S_ISREG(status.st_mode):
        return _entry(path, "skipped", status)
    for _ in range(_MOST_TRIES):
        before = source.lstat()
        digest = _copy_file(source, target)
        if _signature(source.lstat()) == _signature(before):
            if _digest_of(target) != digest:
                raise BrokenCopyError(f"{path} read back differs from what was written")
            _keep_attributes(source, target, before)
            return _entry(path, "file", before, digest=digest)
    raise NotQuietError(f"{path} changed while it was copied, {_MOST_TRIES} times")


def _share_one(source: Path, target: Path, status: os.stat_result, path: str, earlier: EarlierCopy) -> Entry | None:
    """Link to the earlier copy's file; None where it is another one, or is damaged, or can't be linked to."""
    entry, kept = earlier.entries.get(path), earlier.tree / path
    if entry is None or entry.kind != "file" or not stat.S_ISREG(status.st_mode):
        return None
    if (entry.size, entry.mode, entry.mtime_ns) != (status.st_size, stat.S_IMODE(status.st_mode), status.st_mtime_ns):
        return None
    try:
        is_same = _has_same_attributes(source, kept) and _digest_of(source) == entry.digest == _digest_of(kept)
        if not is_same or _signature(source.lstat()) != _signature(status):
            return None
        _clear(target, keeps_folder=False)
        os.link(kept, target, follow_symlinks=False)
    except OSError:
        return None
    return _entry(path, "file", status, digest=entry.digest)


def _has_same_attributes(one: Path, other: Path) -> bool:
    before, now = one.lstat(), other.lstat()
    if not stat.S_ISREG(now.st_mode) or (before.st_mode, before.st_mtime_ns) != (now.st_mode, now.st_mtime_ns):
        return False
    owners = [(status.st_uid, status.st_gid) for status in (before, now)]
    return (os.geteuid() != 0 or owners[0] == owners[1]) and _extended(one) == _extended(other)


def _extended(path: Path) -> dict[str, bytes]:
    try:
        return {name: os.getxattr(path, name, follow_symlinks=False) for name in os.listxattr(path, follow_symlinks=False)}
    except OSError:
        return {}


def _entry(path: str, kind: str, status: os.stat_result, *, digest: str = "", target: str = "") -> Entry:
    mode, size = stat.S_IMODE(status.st_mode), status.st_size if kind == "file" else 0
    return Entry(
        path=path, kind=kind, mode=mode, size=size, mtime_ns=status.st_mtime_ns, digest=digest, target=target, source=_signature(status)
    )


def _copy_file(source: Path, target: Path) -> str:
    hashed = hashlib.sha256()
    with source.open("rb") as reading, target.open("wb") as writing:
        shares_blocks = _clone(reading.fileno(), writing.fileno())
        while chunk := reading.read(_CHUNK_BYTES):
            hashed.update(chunk)
            if not shares_blocks:
                writing.write(chunk)
    return hashed.hexdigest()


def _clone(source: int, target: int) -> bool:
    try:
        fcntl.ioctl(target, _FICLONE, source)
    except OSError:
        return False
    return True


def _digest_of(path: Path) -> str:
    with path.open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()


def _keep_attributes(source: Path, target: Path, status: os.stat_result) -> None:
    with contextlib.suppress(OSError):
        for name in os.listxattr(source, follow_symlinks=False):
            os.setxattr(target, name, os.getxattr(source, name, follow_symlinks=False), follow_symlinks=False)
    if os.geteuid() == 0:
        os.chown(target, status.st_uid, status.st_gid)
    target.chmod(stat.S_IMODE(status.st_mode))
    os.utime(target, ns=(status.st_atime_ns, status.st_mtime_ns))


def _clear(target: Path, *, keeps_folder: bool) -> None:
    if target.is_symlink() or target.is_file():
        target.unlink()
    elif target.is_dir() and not keeps_folder:
        remove_tree(target)


def _drop_unseen(target: Path, seen: set[str]) -> None:
    """What an earlier call copied and the source has lost since."""
    for path in [path for path, _ in _walk(target) if path not in seen]:
        _clear(target / path, keeps_folder=False)


def _finish_folders(target: Path, seen: list[Entry]) -> None:
    """Modes and times of folders, deepest first, once nothing is written into them any more."""
    for entry in sorted((entry for entry in seen if entry.kind == "folder"), key=lambda entry: -entry.path.count("/")):
        path = target / entry.path
        path.chmod(entry.mode | stat.S_IRWXU)
        os.utime(path, ns=(entry.mtime_ns, entry.mtime_ns))


def _write_manifest(manifest: Path, entries: list[Entry]) -> None:
    fresh = manifest.with_name(f".{manifest.name}")
    with fresh.open("w", encoding="utf-8") as stream:
        stream.writelines(json.dumps(asdict(entry)) + "\n" for entry in entries)
        stream.flush()
        os.fsync(stream.fileno())
    fresh.replace(manifest)
