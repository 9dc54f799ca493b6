"""The disk of the emulated GPU host: Debian with libvirt, QEMU and a kernel that has an IOMMU and vfio-pci; one script is its init.

It is made from Debian packages alone, from wherever this computer's apt takes them, and kept under a name made of everything that goes into
it. It needs root, mmdebstrap and apt-get, and about a minute and a half.
"""

from __future__ import annotations

import hashlib
import os
import re
import shutil
import subprocess
from collections.abc import Iterable
from pathlib import Path

from guest_cache import kept
from tiny_guest import uncompressed_kernel

PARTS = Path(__file__).resolve().parent / "gpu_host"
KERNEL = "linux-image-amd64"
PACKAGES = (
    "libvirt-daemon",
    "libvirt-daemon-driver-qemu",
    "libvirt-clients",
    "qemu-system-x86",
    "qemu-utils",
    "seabios",
    "dnsmasq-base",
    "iptables",
    "openssh-server",
    "openssh-sftp-server",
    "iproute2",
    "kmod",
    "mount",
    "pciutils",
    "procps",
    "udev",
    "busybox-static",
)
EARLY_MODULES = ("virtio_pci", "virtio_blk", "crc32c_generic", "ext4")
# Of the kernel's modules what no device here can need, a third of it.
UNUSED = ("media", "gpu/drm/amd", "gpu/drm/i915", "gpu/drm/nouveau", "gpu/drm/radeon", "net/wireless", "infiniband", "staging")
USERS = ("libvirt-qemu:x:64055:64055:libvirt-qemu:/var/lib/libvirt:/bin/false",)
GROUPS = ("libvirt:x:64054:", "libvirt-qemu:x:64055:", "kvm:x:64056:")
PLACES = {
    "init.sh": "sbin/gpu-host",
    "network.xml": "etc/nodus-network.xml",
    "qemu.conf": "etc/libvirt/qemu.conf",
    "libvirtd.conf": "etc/libvirt/libvirtd.conf",
    "sshd_config": "etc/ssh/sshd_config",
}
SIZE_MIB = 3072


def built(cache: Path) -> Path:
    """The folder with vmlinux, initrd and root.raw, under ``cache``; made where it is missing, once."""
    kernel = _kernel_package()
    return kept(cache, "host", _content(kernel), lambda work: _build(work, kernel))


def file_system(root: Path, target: Path, label: str, size_mib: int) -> None:
    """A file system with everything in ``root``, as a file with holes."""
    with target.open("wb") as stream:
        stream.truncate(size_mib * 2**20)
    features = "^metadata_csum,^has_journal"
    run("mke2fs", "-q", "-F", "-t", "ext4", "-L", label, "-O", features, "-E", "root_owner=0:0", "-d", str(root), str(target))


def run(*words: str, cwd: Path | None = None) -> str:
    """A program's output; what it said goes with the failure."""
    path = os.pathsep.join((os.environ.get("PATH", ""), "/usr/sbin", "/sbin"))
    ended = subprocess.run(words, cwd=cwd, env={**os.environ, "PATH": path, "LC_ALL": "C"}, capture_output=True, text=True, check=False)
    if ended.returncode:
        raise SystemExit(f"{words[0]} failed: {(ended.stderr or ended.stdout).strip()[-800:]}")
    return ended.stdout


def _content(kernel: str) -> str:
    """A digest of what goes in: these scripts, their parts, and the versions of the packages."""
    versions = re.findall(r"^(\S+):$|Candidate: (\S+)", run("apt-cache", "policy", kernel, *PACKAGES), re.MULTILINE)
    sources = [path.read_bytes() for path in [Path(__file__), *sorted(PARTS.iterdir())]]
    return hashlib.sha256(repr(versions).encode() + b"".join(sources)).hexdigest()


def _kernel_package() -> str:
    found = re.search(r"Depends: (linux-image\S+)", run("apt-cache", "depends", KERNEL))
    if found is None:
        raise SystemExit(f"{KERNEL} is not known to apt; run as root: apt-get update")
    return found[1]


def _build(work: Path, kernel: str) -> Path:
    root, made = work / "root", work / "made"
    made.mkdir()
    _make_system(root)
    version = _add_kernel(work, root, kernel, made / "vmlinux")
    _make_initrd(work, root, version, made / "initrd")
    for name, place in PLACES.items():
        (root / place).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(PARTS / name, root / place)
    (root / "sbin/gpu-host").chmod(0o755)
    for file, lines in (("passwd", USERS), ("group", GROUPS)):
        with (root / "etc" / file).open("a", encoding="utf-8") as stream:
            stream.writelines(f"{line}\n" for line in lines)
    users = root / "etc/passwd"
    users.write_text(users.read_text().replace("/bin/bash", "/bin/sh"), encoding="utf-8")  # each login starts one
    for key in (root / "etc/ssh").glob("ssh_host_*"):
        key.unlink()
    file_system(root, made / "root.raw", "root", SIZE_MIB)
    return made


def _make_system(root: Path) -> None:
    left_out = ("/usr/share/man/*", "/usr/share/locale/*", "/usr/share/doc/*", "/usr/share/info/*")
    words = ["mmdebstrap", "--quiet", "--mode=root", "--variant=minbase", "--architectures=amd64", f"--include={','.join(PACKAGES)}"]
    words += ["--aptopt=APT::Install-Recommends false", '--aptopt=Acquire::Languages "none"']
    words += [f"--dpkgopt=path-exclude={pattern}" for pattern in left_out]
    run(*words, _suite(), str(root), *_sources())


def _suite() -> str:
    return next(line.split("|")[1] for line in _index_lines())


def _sources() -> list[str]:
    """Where this computer takes Debian's packages from."""
    return [f"deb {address} {suite} {part}" for address, suite, part in (line.split("|") for line in _index_lines())]


def _index_lines() -> list[str]:
    listed = run("apt-get", "indextargets", "--format", "$(ORIGIN)|$(REPO_URI)|$(RELEASE)|$(COMPONENT)", "Created-By: Packages")
    lines = dict.fromkeys(line.removeprefix("Debian|") for line in listed.splitlines() if line.startswith("Debian|"))
    found = [line for line in lines if line.endswith("|main")]
    if not found:
        raise SystemExit("apt knows no Debian packages here; run as root: apt-get update")
    return found


def _add_kernel(work: Path, root: Path, kernel: str, target: Path) -> str:
    """Unpacked only: its own installation would make an initrd, which takes longer than all else. Returns its version."""
    packages = work / "packages"
    packages.mkdir()
    run("apt-get", "download", "-q", kernel, cwd=packages)
    (package,) = packages.glob("*.deb")
    unpacked = work / "kernel"
    run("dpkg-deb", "-x", str(package), str(unpacked))
    (image,) = (unpacked / "boot").glob("vmlinuz-*")
    version = image.name.removeprefix("vmlinuz-")
    target.write_bytes(uncompressed_kernel(image.read_bytes(), unpacked))
    modules = unpacked / "lib/modules" / version
    for folder in UNUSED:
        shutil.rmtree(modules / "kernel/drivers" / folder, ignore_errors=True)
    place = root / "usr/lib/modules" if (root / "lib").is_symlink() else root / "lib/modules"
    place.mkdir(parents=True, exist_ok=True)
    shutil.move(modules, place / version)
    run("depmod", "-b", str(root), version)
    return version


def _make_initrd(work: Path, root: Path, version: str, target: Path) -> None:
    early = work / "early"
    for folder in ("bin", "dev", "mod", "root"):
        (early / folder).mkdir(parents=True)
    shutil.copy(root / "bin/busybox", early / "bin/busybox")
    for number, module in enumerate(_modules(root, version), 10):
        shutil.copy(module, early / "mod" / f"{number}-{module.name}")
    shutil.copy(PARTS / "stage1.sh", early / "init")
    (early / "init").chmod(0o755)
    names = "\n".join(str(path.relative_to(early)) for path in sorted(early.rglob("*")))
    words = ["cpio", "-o", "-H", "newc", "-R", "0:0", "--quiet"]
    target.write_bytes(subprocess.run(words, input=names.encode(), cwd=early, capture_output=True, check=True).stdout)


def _modules(root: Path, version: str) -> Iterable[Path]:
    """The modules of the first minute, in the order in which they can be loaded."""
    found: dict[str, None] = {}
    for module in EARLY_MODULES:
        listed = run("modprobe", "-d", str(root), "-S", version, "--show-depends", module)
        found |= dict.fromkeys(line.split()[1] for line in listed.splitlines() if line.startswith("insmod "))
    return [Path(path) for path in found]
