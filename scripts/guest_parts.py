"""What every guest of the tests is made of: packages of this computer's apt, an unpacked kernel, an initrd, a file system.

The initrd's one program is that of the images people build (``imaging/stage1.sh``), which is told where its guest's root file system is.
"""

from __future__ import annotations

import hashlib
import os
import re
import shutil
import subprocess
from collections.abc import Iterable
from pathlib import Path

from nodus_providers.libvirt.imaging import kernel_image

LIBRARY_FOLDERS = ("usr/lib/x86_64-linux-gnu", "lib/x86_64-linux-gnu")
_STAGE1 = Path(kernel_image.__file__).with_name("stage1.sh")


def run(*words: str, cwd: Path | None = None) -> str:
    """A program's output; what it said goes with the failure."""
    path = os.pathsep.join((os.environ.get("PATH", ""), "/usr/sbin", "/sbin"))
    ended = subprocess.run(words, cwd=cwd, env={**os.environ, "PATH": path, "LC_ALL": "C"}, capture_output=True, text=True, check=False)
    if ended.returncode:
        raise SystemExit(f"{words[0]} failed: {(ended.stderr or ended.stdout).strip()[-800:]}")
    return ended.stdout


def content(packages: Iterable[str], *sources: Path) -> str:
    """A digest of what goes in: the versions of packages, files and folders of files, and what stands in this module."""
    versions = re.findall(r"^(\S+):$|Candidate: (\S+)", run("apt-cache", "policy", *packages), re.MULTILINE)
    files = [file for one in sources for file in (sorted(one.iterdir()) if one.is_dir() else (one,))]
    parts = [path.read_bytes() for path in (*files, Path(__file__), Path(kernel_image.__file__), _STAGE1)]
    return hashlib.sha256(repr(versions).encode() + b"".join(parts)).hexdigest()


def kernel_package(name: str) -> str:
    """The package of the newest kernel that ``name`` stands for."""
    found = re.search(r"Depends: (linux-image\S+)", run("apt-cache", "depends", name))
    if found is None:
        raise SystemExit(f"{name} is not known to apt; run as root: apt-get update")
    return found[1]


def uncompressed_kernel(image: Path, unpacked: Path) -> bytes:
    """The ELF kernel inside a bzImage; ``unpacked`` is where programs to unpack it with may lie."""
    libraries = ":".join(str(unpacked / folder) for folder in LIBRARY_FOLDERS)
    programs = {"lz4": [str(unpacked / "usr/bin/lz4")]}
    try:
        return kernel_image.uncompressed_kernel(image.read_bytes(), programs, {"LD_LIBRARY_PATH": libraries})
    except ValueError as fault:
        raise SystemExit(str(fault)) from fault


def make_initrd(work: Path, target: Path, *, system: Path, version: str, modules: Iterable[str], init: str) -> None:
    """An initrd in which busybox and ``modules`` of ``system`` lead to ``init`` on the first disk. ``work`` is a folder for it alone."""
    for folder in ("bin", "dev", "mod", "root"):
        (work / folder).mkdir(parents=True)
    shutil.copy(system / "bin/busybox", work / "bin/busybox")
    run("depmod", "-b", str(system), version)
    for number, module in enumerate(_with_needed(system, version, modules), 10):
        shutil.copy(module, work / "mod" / f"{number}-{module.name}")
    (work / "where").write_text(f"/dev/vda {init}\n", encoding="utf-8")
    shutil.copy(_STAGE1, work / "init")
    (work / "init").chmod(0o755)
    names = "\n".join(str(path.relative_to(work)) for path in sorted(work.rglob("*")))
    words = ["cpio", "-o", "-H", "newc", "-R", "0:0", "--quiet"]
    target.write_bytes(subprocess.run(words, input=names.encode(), cwd=work, capture_output=True, check=True).stdout)


def file_system(root: Path, target: Path, label: str, size_mib: int) -> None:
    """A file system with everything in ``root``, as a file with holes."""
    with target.open("wb") as stream:
        stream.truncate(size_mib * 2**20)
    features = "^metadata_csum,^has_journal"
    run("mke2fs", "-q", "-F", "-t", "ext4", "-L", label, "-O", features, "-E", "root_owner=0:0", "-d", str(root), str(target))


def _with_needed(system: Path, version: str, modules: Iterable[str]) -> Iterable[Path]:
    """The modules and what they need, in the order in which they can be loaded."""
    found: dict[str, None] = {}
    for module in modules:
        listed = run("modprobe", "-d", str(system), "-S", version, "--show-depends", module)
        found |= dict.fromkeys(line.split()[1] for line in listed.splitlines() if line.startswith("insmod "))
    return [Path(path) for path in found]
