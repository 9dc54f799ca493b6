"""A virtual machine that plays a GPU host: an emulated IOMMU, real vfio-pci, emulated cards, libvirt behind sshd on the loopback.

    scripts/gpu_host.py start [--folder FOLDER] [--cache FOLDER]     prints a project file that uses it
    scripts/gpu_host.py stop [--folder FOLDER]                       ends it
    scripts/gpu_host.py build [--cache FOLDER]                       only makes its disk, where it is missing

It needs root for its disk, and no KVM: it is emulated. Its processor is one of AMD's with SVM, emulated too, so that machines on it run by
its own KVM: five times as fast as emulation inside emulation. Each start has a disk, a host key and a login of its own, in FOLDER; the tiny
guest lies on the host for the machines it starts. Started to die with whoever started it (--with-me), it never outlives a test run.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import gpu_host_image
import tiny_guest
from guest_parts import file_system, run

CACHE = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "nodusctl"
MEMORY_MIB = 2048
START_SECONDS, ATTEMPTS = 100, 3
"""It takes half a minute where nothing else runs."""
_QUICK = "mitigations=off tsc=reliable no_timer_check cryptomgr.notests random.trust_cpu=on"
LINE = f"console=ttyS0 quiet net.ifnames=0 intel_iommu=on iommu=pt {_QUICK}"
GUEST_LINE = f"console=ttyS0 quiet panic=-1 net.ifnames=0 {_QUICK}"
NAMES = {"1234:1111": "bochs 1", "1002:5046": "rage128 1", "1af4:1050": "virtiogpu 1"}
"""How the emulated cards are offered. They are no cards anybody computes on, so the shipped table doesn't know them."""
DEVICES = (
    # A card with its audio function, alone in its IOMMU group; both have a driver on the host.
    ("pcie-root-port", "id=port1,bus=pcie.0,addr=0x18,chassis=1,slot=1"),
    ("bochs-display", "bus=port1,addr=0x0,multifunction=on"),
    ("ich9-intel-hda", "bus=port1,addr=0x0.0x1"),
    # A display device of ATI, alone in its group; the host has no driver for it.
    ("pcie-root-port", "id=port2,bus=pcie.0,addr=0x19,chassis=2,slot=2"),
    ("ati-vga", "bus=port2,vgamem_mb=16"),
    # A network card in a group of its own.
    ("pcie-root-port", "id=port3,bus=pcie.0,addr=0x1a,chassis=3,slot=3"),
    ("e1000e", "bus=port3,netdev=spare1,mac=52:54:00:aa:bb:01"),
    # A badly isolated group: a card and a network card that share a bridge without isolation.
    ("pcie-root-port", "id=port4,bus=pcie.0,addr=0x1b,chassis=4,slot=4"),
    ("pcie-pci-bridge", "id=bridge,bus=port4"),
    ("virtio-gpu-pci", "bus=bridge,addr=0x1"),
    ("e1000", "bus=bridge,addr=0x2,netdev=spare2,mac=52:54:00:aa:bb:02"),
)


def main(arguments: list[str]) -> int:
    """Do what the first word says."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=("start", "stop", "build"))
    parser.add_argument("--folder", type=Path, default=CACHE / "gpu-host", help="files of the running host")
    parser.add_argument("--cache", type=Path, default=CACHE / "guests", help="images, kept by their content")
    parser.add_argument("--with-me", action="store_true", help="it ends when the process that started this script does")
    given = parser.parse_args(arguments)
    if given.what == "stop":
        stop(given.folder)
    elif given.what == "build":
        print(gpu_host_image.built(given.cache))
    else:
        print(json.dumps(start(given.folder, given.cache, owner=os.getppid() if given.with_me else 0), indent=2))
    return 0


def start(folder: Path, cache: Path, *, owner: int = 0) -> dict[str, Any]:
    """Start it, and wait until its libvirt answers; a project file that uses it. ``owner`` is a process it ends with, 0 for none."""
    if _pid(folder):
        raise SystemExit(f"one runs already; end it: {sys.argv[0]} stop --folder {folder}")
    host, guest = gpu_host_image.built(cache), tiny_guest.built(cache)
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(mode=0o700, parents=True)
    port = _free_port()
    _make_files(folder, guest)
    try:
        for left in reversed(range(ATTEMPTS)):
            run("qemu-img", "create", "-q", "-f", "qcow2", "-b", str(host / "root.raw"), "-F", "raw", str(folder / "root.qcow2"), "8G")
            qemu = _begin(_words(folder, host, port), folder, owner)
            if _is_ready(folder, qemu):
                return _project(folder, port)
            _end(folder)
            print(f"the emulated GPU host hung at its boot; {left} more attempts", file=sys.stderr)
        raise SystemExit(f"the emulated GPU host doesn't come up within {START_SECONDS} s")
    except BaseException:
        stop(folder)
        raise


def stop(folder: Path) -> None:
    """End it and remove its files; none that runs is fine."""
    _end(folder)
    shutil.rmtree(folder, ignore_errors=True)


def _end(folder: Path) -> None:
    for number in (signal.SIGTERM, signal.SIGKILL):
        pid, until = _pid(folder), time.monotonic() + 5
        if pid:
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, number)
        while _pid(folder) and time.monotonic() < until:
            time.sleep(0.05)


def _pid(folder: Path) -> int:
    """The running QEMU of this folder, 0 for none; a number that another process has by now doesn't count."""
    with contextlib.suppress(OSError, ValueError):
        pid = int((folder / "qemu.pid").read_text())
        with contextlib.suppress(ChildProcessError):
            os.waitpid(pid, os.WNOHANG)
        if os.fsencode(folder) in Path(f"/proc/{pid}/cmdline").read_bytes():
            return pid
    return 0


def _make_files(folder: Path, guest: Path) -> None:
    """The guest's files as a second disk, a host key and a login."""
    with tempfile.TemporaryDirectory(dir=folder) as work:
        for name in ("vmlinux", "initrd", "base.qcow2"):
            shutil.copy(guest / name, work)
        size = sum(path.stat().st_size for path in Path(work).iterdir())
        file_system(Path(work), folder / "guest.raw", "guest", size * 5 // 4 // 2**20 + 16)
    for name in ("host_key", "identity"):
        run("ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-C", "emulated-gpu-host", "-f", str(folder / name))


def _words(folder: Path, host: Path, port: int) -> list[str]:
    """QEMU's command line. The IOMMU is Intel's, which is the one it emulates whole; its own network reaches nothing outside."""
    drives = (("root.qcow2", "qcow2"), ("guest.raw", "raw"))
    files = (("authorized-key", "identity.pub"), ("host-key", "host_key"))
    return [
        *(
            "nice",
            "-n",
            "-5",
            "qemu-system-x86_64",
            "-name",
            "nodus-gpu-host",
            "-nodefaults",
            "-no-user-config",
            "-display",
            "none",
            "-vga",
            "none",
        ),
        *("-machine", "q35", "-accel", "tcg,thread=multi", "-cpu", "max", "-smp", "1", "-m", str(MEMORY_MIB)),
        *("-device", "intel-iommu,intremap=on,caching-mode=on,device-iotlb=on,eim=off"),
        *("-kernel", str(host / "vmlinux"), "-initrd", str(host / "initrd"), "-append", LINE),
        *("-serial", f"file:{folder / 'console.log'}", "-device", "virtio-rng-pci,bus=pcie.0,addr=0x2"),
        *_drives(folder, drives),
        *(word for name, file in files for word in ("-fw_cfg", f"name=opt/nodus/{name},file={folder / file}")),
        *(
            "-netdev",
            f"user,id=door,restrict=on,hostfwd=tcp:127.0.0.1:{port}-:22",
            "-device",
            "virtio-net-pci,netdev=door,bus=pcie.0,addr=0x10",
        ),
        *(word for name in ("spare1", "spare2") for word in ("-netdev", f"user,id={name},restrict=on")),
        *(word for name, options in DEVICES for word in ("-device", f"{name},{options}")),
    ]


def _drives(folder: Path, drives: tuple[tuple[str, str], ...]) -> Iterator[str]:
    for number, (file, kind) in enumerate(drives):
        path = folder / file
        yield from ("-drive", f"file={path},format={kind},if=none,id=drive{number},cache=unsafe")
        yield from ("-device", f"virtio-blk-pci,drive=drive{number},bus=pcie.0,addr={0x4 + number:#x}")


def _begin(words: list[str], folder: Path, owner: int) -> subprocess.Popen[bytes]:
    with (folder / "qemu.log").open("wb") as log:
        qemu = subprocess.Popen(words, stdin=subprocess.DEVNULL, stdout=log, stderr=log, start_new_session=True)
    (folder / "qemu.pid").write_text(str(qemu.pid))
    _go_first(qemu.pid)
    if owner:
        _watch(owner, qemu.pid)
    return qemu


def _is_ready(folder: Path, qemu: subprocess.Popen[bytes]) -> bool:
    """False where it hangs, as it does now and then: emulated processors that wait for each other for good."""
    console, until = folder / "console.log", time.monotonic() + START_SECONDS
    while time.monotonic() < until:
        said = console.read_text(encoding="utf-8", errors="replace") if console.exists() else ""
        if "GPU-HOST READY" in said:
            return True
        if qemu.poll() is not None:
            why = (folder / "qemu.log").read_text(errors="replace").strip() or said.strip()
            raise SystemExit(f"the emulated GPU host ended at its start: {why[-800:]}")
        time.sleep(0.2)
    return False


def _go_first(pid: int) -> None:
    """It goes before what else this computer does: a real host isn't slowed by that either, and a plan waits ten seconds for a host."""
    with contextlib.suppress(OSError):
        os.setpriority(os.PRIO_PROCESS, pid, -10)
    with contextlib.suppress(OSError):
        Path(f"/proc/{pid}/autogroup").write_text("-10")  # where sessions share the processor, and only then their processes


def _watch(owner: int, pid: int) -> None:
    """A process that ends QEMU once its owner is gone, however it went, and ends with QEMU."""
    script = 'while kill -0 "$1" 2>/dev/null && kill -0 "$2" 2>/dev/null; do sleep 1; done; kill "$2" 2>/dev/null || :'
    words = ["sh", "-c", script, "gpu-host-watch", str(owner), str(pid)]
    none = subprocess.DEVNULL
    subprocess.Popen(words, stdin=none, stdout=none, stderr=none, start_new_session=True)


def _project(folder: Path, port: int) -> dict[str, Any]:
    image = {"path": "/srv/guest/base.qcow2", "kernel": "/srv/guest/vmlinux", "initrd": "/srv/guest/initrd", "cmdline": GUEST_LINE}
    host = {
        "name": "gpu1",
        "uri": f"qemu+ssh://root@127.0.0.1:{port}/system",
        "hostKey": " ".join((folder / "host_key.pub").read_text().split()[:2]),
        "identityFile": str(folder / "identity"),
        "rateUSDPerHour": "0.45",
        "cpu": 1,
        "memory": "192Mi",
        "cards": {"names": NAMES},
    }
    images = dict.fromkeys(("nodus/workspace-cpu", "nodus/workspace-pytorch-cuda"), image)
    return {"project": "libvirt", "providers": {"libvirt": {"type": "libvirt", "hosts": [host], "images": images}}}


def _free_port() -> int:
    with contextlib.closing(socket.socket()) as probing:
        probing.bind(("127.0.0.1", 0))
        return int(probing.getsockname()[1])


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
