"""From ``apply`` to a shell in a virtual machine, beside the same machine made with bare libvirt-python in the same run.

The same: the definition that ``apply`` made, with a disk over the same base, an empty home, the very first-boot seed, and a login with the
same key. What is compared is planning, state, watching the edge, the agent's answers, handing over keys and the environment. Each round
begins with an empty project; one is measured after the other, so that both meet the same load, and the best of some rounds counts.
``apply`` runs in this process: starting Python is measured by itself, in ``start_up``.
"""

from __future__ import annotations

import shutil
import subprocess
import time
import uuid
import xml.etree.ElementTree as ET
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from support import libvirt_host
from support.libvirt_project import LibvirtProject

from tests.benchmarks.starting import in_this_process, must, own_folders

Line = Callable[[str, float, float, str], None]

_ALLOWED_SHARE, _ALLOWED_SECONDS = 1.15, 2.0
_POLL_SECONDS = 0.1
_LIMIT_SECONDS = 180.0
_MAC = "52:54:00:be:9c:01"


def virtual_machines(line: Line, scratch: Path, rounds: int = 2) -> None:
    """``line`` gets what was measured, seconds, the limit (15 % or two seconds above by hand) and words beside it."""
    if reason := libvirt_host.why_not():
        print(f"Starts of virtual machines are not measured: {reason}", flush=True)
        return
    libvirt_host.guest()
    both = [_round(scratch / f"machine-{number}") for number in range(rounds)]
    ours, theirs = min(one for one, _ in both), min(other for _, other in both)
    limit = max(theirs * _ALLOWED_SHARE, theirs + _ALLOWED_SECONDS)
    beside = f"bare libvirt-python {theirs * 1000:.0f} ms: {ours / theirs:.2f} x, {ours - theirs:+.2f} s"
    line("virtual machine, apply to a shell", ours, limit, beside)


def _round(folder: Path) -> tuple[float, float]:
    """Seconds of ours, and of the same machine by hand."""
    project = LibvirtProject(folder).write()
    with own_folders(project):
        try:
            began = time.perf_counter()
            must(project, "apply", "--yes", "--local-state")
            (name,) = project.domains()
            key = next(folder.rglob("id_ed25519"))
            _login(key, libvirt_host.virsh("domifaddr", name).split()[-1].partition("/")[0], check=True)
            ours = time.perf_counter() - began
            mould = Mould.of(name, key, folder / "by-hand")
        finally:
            in_this_process(project, "destroy", "--yes")
            project.clear()
    return ours, mould.seconds()


@dataclass(frozen=True, slots=True, kw_only=True)
class Mould:
    """What a machine was made of: ``xml`` is its definition with files in ``folder``, ``base`` what its disk lies over."""

    xml: str
    base: str
    key: Path
    folder: Path

    @staticmethod
    def of(name: str, key: Path, folder: Path) -> Mould:
        """Take the mould of a running machine into ``folder``."""
        folder.mkdir()
        root = ET.fromstring(libvirt_host.virsh("dumpxml", "--inactive", name))
        for tag, text in (("name", f"by-hand-{uuid.uuid4().hex[:8]}"), ("uuid", str(uuid.uuid4()))):
            element = root.find(tag)
            assert element is not None
            element.text = text
        for metadata in root.findall("metadata"):
            root.remove(metadata)
        for address in root.iterfind("devices/interface/mac"):
            address.set("address", _MAC)
        for log in root.iterfind("devices/serial/log"):
            log.set("file", str(folder / "console.log"))
        base = ""
        for disk in root.iterfind("devices/disk"):
            source, target = disk.find("source"), disk.find("target")
            assert source is not None and target is not None
            was, now = source.get("file", ""), folder / f"{target.get('dev')}{Path(source.get('file', '')).suffix}"
            source.set("file", str(now))
            if target.get("dev") == "vda":
                told = subprocess.run(["qemu-img", "info", "-U", was], check=True, capture_output=True, text=True).stdout
                base = next(line.split(": ")[1].split(" (")[0] for line in told.splitlines() if line.startswith("backing file:"))
            elif was.endswith(".iso"):
                shutil.copy(was, now)
        kept = folder / "key"
        shutil.copy(key, kept)
        return Mould(xml=ET.tostring(root, encoding="unicode"), base=base, key=kept, folder=folder)

    def seconds(self) -> float:
        """From nothing to a shell."""
        import libvirt  # type: ignore[import-untyped,import-not-found,unused-ignore]

        began = time.perf_counter()
        _make(str(self.folder / "vda.qcow2"), "-b", self.base, "-F", "qcow2")
        _make(str(self.folder / "vdb.qcow2"), size="1G")
        connection = libvirt.open(libvirt_host.URI)
        domain = connection.defineXML(self.xml)
        try:
            domain.create()
            address = _until(lambda: _address(domain))
            _until(lambda: _login(self.key, address))
            return time.perf_counter() - began
        finally:
            domain.destroy()
            domain.undefine()


def _make(path: str, *words: str, size: str = "") -> None:
    subprocess.run(["qemu-img", "create", "-q", "-f", "qcow2", *words, path, *filter(None, [size])], check=True)


def _address(domain: object) -> str:
    found = domain.interfaceAddresses(0, 0)  # type: ignore[attr-defined]
    return next((str(one["addrs"][0]["addr"]) for one in found.values() if one["addrs"]), "")


def _login(key: Path, address: str, *, check: bool = False) -> bool:
    options = ("StrictHostKeyChecking=no", "UserKnownHostsFile=/dev/null", "IdentitiesOnly=yes", "BatchMode=yes", "ConnectTimeout=5")
    words = ["ssh", "-F", "none", "-i", str(key), *(part for one in options for part in ("-o", one)), f"nodus@{address}", "true"]
    return subprocess.run(words, check=check, capture_output=True, stdin=subprocess.DEVNULL).returncode == 0


def _until(happens: Callable[[], str | bool]) -> str:
    deadline = time.monotonic() + _LIMIT_SECONDS
    while not (found := happens()):
        if time.monotonic() > deadline:
            raise TimeoutError("it did not start; the benchmark means nothing")
        time.sleep(_POLL_SECONDS)
    return str(found)
