"""Build the tiny guest that the tests boot under emulation: Debian's cloud kernel, busybox, OpenSSH, the QEMU guest agent. Nothing else.

    scripts/tiny_guest.py [--cache FOLDER]     prints the folder with vmlinux, initrd and base.qcow2

It is made from Debian packages alone, in about ten seconds, and kept under a name made of everything that goes into it, so that it is made
again when anything of that changes or is missing. It needs apt-get, dpkg, cpio, mke2fs, qemu-img and busybox-static, but no root.
"""

from __future__ import annotations

import argparse
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

from guest_cache import kept
from guest_parts import LIBRARY_FOLDERS, content, file_system, kernel_package, make_initrd, run, uncompressed_kernel

PARTS = Path(__file__).resolve().parent / "tiny_guest"
KERNEL = "linux-image-cloud-amd64"
PACKAGES = (
    "openssh-server",
    "openssh-sftp-server",
    "openssh-client",
    "qemu-guest-agent",
    "e2fsprogs",
    "pciutils",
    "busybox-static",
    "lz4",  # not for the guest: kernels are packed with it
    "liblz4-1",
)
PROGRAMS = (
    "usr/sbin/sshd",
    "usr/lib/openssh/sftp-server",
    "usr/bin/scp",
    "usr/sbin/qemu-ga",
    "sbin/mke2fs",
    "sbin/resize2fs",
    "sbin/e2fsck",
    "usr/bin/lspci",
    "bin/busybox",
)
MODULES = ("virtio_pci", "virtio_blk", "virtio_net", "virtio_console", "virtio_rng", "ext4", "crc32c_generic", "isofs")
ROOT_MIB = 96


def main(arguments: list[str]) -> int:
    """Build it unless it is there; the folder goes to stdout."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    cache = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    parser.add_argument("--cache", type=Path, default=cache / "nodusctl" / "guests")
    print(built(parser.parse_args(arguments).cache))
    return 0


def built(cache: Path) -> Path:
    """The guest's folder under ``cache``."""
    kernel = kernel_package(KERNEL)
    return kept(cache, "tiny", content((kernel, *PACKAGES), Path(__file__), PARTS), lambda work: _build(work, kernel))


def _build(work: Path, kernel: str) -> Path:
    packages, made = work / "packages", work / "made"
    for folder in (packages, made):
        folder.mkdir()
    run("apt-get", "download", "-q", kernel, *PACKAGES, cwd=packages)
    unpacked = work / "unpacked"
    for package in sorted(packages.glob("*.deb")):
        run("dpkg-deb", "-x", str(package), str(unpacked))
    (image,) = (unpacked / "boot").glob("vmlinuz-*")
    (made / "vmlinux").write_bytes(uncompressed_kernel(image, unpacked))
    shutil.copy(image, made / "vmlinuz")
    version = image.name.removeprefix("vmlinuz-")
    make_initrd(work / "early", made / "initrd", system=unpacked, version=version, modules=MODULES, init="/sbin/init")
    _make_root(work, unpacked, made / "base.qcow2")
    return made


def _make_root(work: Path, unpacked: Path, target: Path) -> None:
    root = work / "root"
    folders = (
        "bin",
        "sbin",
        "lib64",
        "dev",
        "proc",
        "sys",
        "tmp",
        "run",
        "root",
        "home",
        "mnt",
        "var/log",
        "etc/ssh",
        "usr/bin",
        "usr/sbin",
    )
    for folder in (*folders, "usr/lib/openssh", "usr/lib/x86_64-linux-gnu", "lib", "usr/share/misc"):
        (root / folder).mkdir(parents=True, exist_ok=True)
    (root / "lib/x86_64-linux-gnu").symlink_to("../usr/lib/x86_64-linux-gnu")
    for program in PROGRAMS:
        shutil.copy(unpacked / program, root / program)
        for library in _libraries(unpacked, root / program):
            where = root / ("lib64" if library.parent.name == "lib64" else "usr/lib/x86_64-linux-gnu")
            shutil.copy(library, where / library.name, follow_symlinks=True)
    for applet in run(str(root / "bin/busybox"), "--list-full").split():
        place = root / applet
        if not place.exists():
            place.parent.mkdir(parents=True, exist_ok=True)
            place.symlink_to("/bin/busybox")
    # busybox's shell takes its own applet for mke2fs, whatever lies on the path; nobody but it is called mkfs.ext4.
    (root / "sbin/mkfs.ext4").symlink_to("mke2fs")
    for source, place in (("init.sh", "sbin/init"), ("udhcpc.sh", "etc/udhcpc.sh"), ("shutdown.sh", "sbin/shutdown")):
        (root / place).unlink(missing_ok=True)
        shutil.copy(PARTS / source, root / place)
        (root / place).chmod(0o755)
    _write_etc(root / "etc")
    raw = work / "root.raw"
    file_system(root, raw, "root", ROOT_MIB)
    run("qemu-img", "convert", "-O", "qcow2", "-c", str(raw), str(target))


def _write_etc(etc: Path) -> None:
    users = ("root:x:0:0:root:/root:/bin/sh", "sshd:x:100:65534::/run/sshd:/bin/false", "nobody:x:65534:65534:nobody:/:/bin/false")
    texts = {
        "passwd": "\n".join(users) + "\n",
        "shadow": "root:*:19000:0:99999:7:::\nsshd:!:19000::::::\nnobody:*:19000::::::\n",
        "group": "root:x:0:\ntty:x:5:\nnogroup:x:65534:\n",
        "shells": "/bin/sh\n",
        "nsswitch.conf": "passwd: files\ngroup: files\nhosts: files dns\n",
        "hosts": "127.0.0.1 localhost\n",
        "profile": "export PATH=/usr/local/bin:/usr/bin:/bin:/usr/sbin:/sbin\n",
        "os-release": 'ID=nodus-tiny\nPRETTY_NAME="tiny guest of nodusctl\'s tests"\n',
    }
    for name, text in texts.items():
        (etc / name).write_text(text, encoding="utf-8")
    (etc / "resolv.conf").symlink_to("/run/resolv.conf")


def _libraries(unpacked: Path, program: Path) -> list[Path]:
    """Shared libraries a program needs: from the unpacked packages where they are among them, else this computer's own."""
    folders = [unpacked / folder for folder in LIBRARY_FOLDERS]
    ended = subprocess.run(
        ["ldd", str(program)],
        env={"LD_LIBRARY_PATH": ":".join(map(str, folders)), "PATH": os.environ["PATH"]},
        capture_output=True,
        text=True,
        check=False,
    )
    return [Path(path) for path in re.findall(r"(?:=> |^\t)(/\S+) \(0x", ended.stdout, re.MULTILINE)]


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
