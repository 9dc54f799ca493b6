"""The disk of the emulated GPU host: Debian with libvirt, QEMU and a kernel that has an IOMMU and vfio-pci; one script is its init.

It is made from Debian packages alone, from wherever this computer's apt takes them, and kept under a name made of everything that goes into
it. It needs root, mmdebstrap and apt-get, and about a minute and a half.
"""

from __future__ import annotations

import shutil
from pathlib import Path

from guest_cache import kept
from guest_parts import content, file_system, kernel_package, make_initrd, run, uncompressed_kernel

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
INIT = "sbin/gpu-host"
PLACES = {
    "init.sh": INIT,
    "network.xml": "etc/nodus-network.xml",
    "qemu.conf": "etc/libvirt/qemu.conf",
    "libvirtd.conf": "etc/libvirt/libvirtd.conf",
    "sshd_config": "etc/ssh/sshd_config",
}
SIZE_MIB = 3072


def built(cache: Path) -> Path:
    """The folder with vmlinux, initrd and root.raw, under ``cache``; made where it is missing, once."""
    kernel = kernel_package(KERNEL)
    return kept(cache, "host", content((kernel, *PACKAGES), Path(__file__), PARTS), lambda work: _build(work, kernel))


def _build(work: Path, kernel: str) -> Path:
    root, made = work / "root", work / "made"
    made.mkdir()
    _make_system(root)
    version = _add_kernel(work, root, kernel, made / "vmlinux")
    make_initrd(work / "early", made / "initrd", system=root, version=version, modules=EARLY_MODULES, init=f"/{INIT}")
    for name, place in PLACES.items():
        (root / place).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(PARTS / name, root / place)
    (root / INIT).chmod(0o755)
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
    target.write_bytes(uncompressed_kernel(image, unpacked))
    modules = unpacked / "lib/modules" / version
    for folder in UNUSED:
        shutil.rmtree(modules / "kernel/drivers" / folder, ignore_errors=True)
    place = root / "usr/lib/modules" if (root / "lib").is_symlink() else root / "lib/modules"
    place.mkdir(parents=True, exist_ok=True)
    shutil.move(modules, place / version)
    return version
