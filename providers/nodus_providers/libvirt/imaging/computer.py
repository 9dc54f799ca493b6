"""What this computer must have to make an image: programs, Debian's keys, and root or user namespaces. Each lack has its fix."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

from nodus_providers.libvirt.imaging.recipe import KEYRING
from nodusctl.base.diagnostics import Diagnostic, error

_PACKAGES = {
    "mmdebstrap": "mmdebstrap",
    "mke2fs": "e2fsprogs",
    "sfdisk": "fdisk",
    "mformat": "mtools",
    "mcopy": "mtools",
    "mmd": "mtools",
    "qemu-img": "qemu-utils",
    "tar": "tar",
    "unshare": "util-linux",
}
_ADMIN = ("/usr/local/sbin", "/usr/sbin", "/sbin")


def whole_path(path: str) -> str:
    """PATH with the folders of programs for administrators, which people's shells leave out."""
    return os.pathsep.join(dict.fromkeys((*filter(None, path.split(os.pathsep)), *_ADMIN)))


def as_root(*, is_root: bool) -> tuple[str, ...]:
    """The words before a program that make it root: none for root, else in a user namespace."""
    return () if is_root else ("unshare", "--user", "--map-root-user", "--map-auto")


def with_own_mounts(*, is_root: bool) -> tuple[str, ...]:
    """The words before mmdebstrap, which mounts /proc and /sys below its folder: what it mounts ends with it, however it ends.

    Without root it makes such a namespace itself.
    """
    return ("unshare", "--mount", "--pid", "--fork", "--kill-child", "--mount-proc") if is_root else ()


def lacks(path: str, *, is_root: bool) -> Iterator[Diagnostic]:
    """One diagnostic a lack; nothing where an image can be made."""
    missing = [name for name in _PACKAGES if shutil.which(name, path=path) is None]
    packages = sorted({_PACKAGES[name] for name in missing})
    if not Path(KEYRING).exists():
        missing, packages = [*missing, KEYRING], [*packages, "debian-archive-keyring"]
    if missing:
        fix = f"On Debian or Ubuntu, as root:\n  apt-get install {' '.join(packages)}"
        yield error("ProgramMissing", "Making an image needs programs that are not installed.", f"Not here: {', '.join(missing)}.", fix)
        return
    if not is_root and (said := _namespace_fault(path)):
        fix = "Run it as root, or let user namespaces be made:\n  apt-get install uidmap"
        detail = f"The owners of files can't be kept here: {said}"
        yield error("ProviderNotReady", "Making an image needs root or user namespaces.", detail, fix)


def _namespace_fault(path: str) -> str:
    ended = subprocess.run([*as_root(is_root=False), "true"], env={"PATH": path}, capture_output=True, text=True, check=False, timeout=30)
    return ended.stderr.strip()[-300:] if ended.returncode else ""
