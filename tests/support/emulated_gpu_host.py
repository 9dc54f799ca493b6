"""The virtual machine that plays a GPU host, for a test run: started by its script, reached as a person would, wholly ended afterwards."""

from __future__ import annotations

import contextlib
import importlib.util
import json
import os
import shutil
import subprocess
import sys
import xml.etree.ElementTree as ET
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from support.libvirt_host import CACHE, ROOT

PROGRAMS = ("mmdebstrap", "qemu-system-x86_64", "qemu-img", "apt-get", "dpkg-deb", "cpio", "ssh", "ssh-keygen", "virsh")
SCRIPT = ROOT / "scripts" / "gpu_host.py"


def why_not() -> str:
    """Why there can be none here, or ""."""
    if os.geteuid() != 0:
        return "the emulated GPU host's disk is made as root"
    for module in ("libvirt", "pycdlib"):
        if importlib.util.find_spec(module) is None:
            return f"the Python module {module} is not installed: sh scripts/libvirt_host.sh install"
    path = os.pathsep.join((os.environ.get("PATH", ""), "/usr/sbin", "/sbin"))
    missing = [name for name in PROGRAMS if shutil.which(name, path=path) is None]
    return f"{', '.join(missing)} not installed: sh scripts/libvirt_host.sh install" if missing else ""


@dataclass(frozen=True, slots=True)
class GpuHost:
    """One that runs; its files lie in ``folder``. ``settings`` is a whole project file that uses it."""

    folder: Path
    settings: dict[str, Any]
    boot_id: str = ""

    def ill(self) -> str:
        """Why nothing can be said by it: an emulated processor that emulates another's virtualization sometimes hangs or starts anew."""
        try:
            boot_id = self.run("cat", "/proc/sys/kernel/random/boot_id")
        except subprocess.TimeoutExpired:
            boot_id = ""
        if not boot_id:
            return "the emulated GPU host doesn't answer any more"
        return "" if boot_id == self.boot_id else "the emulated GPU host crashed and started anew"

    @property
    def host(self) -> dict[str, Any]:
        """The host's own settings."""
        return dict(self.settings["providers"]["libvirt"]["hosts"][0])

    def run(self, *words: str) -> str:
        """What a command on it says."""
        return self._ran(*words).stdout.strip()

    def virsh(self, *words: str, given: str = "") -> str:
        """What virsh on it says; an error is part of it."""
        ended = self._ran("virsh", "-q", *words, given=given)
        return (ended.stdout + ended.stderr).strip()

    def domains(self) -> dict[str, str]:
        """Domains and their states."""
        lines = [line.split(maxsplit=2) for line in self.virsh("list", "--all").splitlines() if line]
        return {name: state for _, name, state in lines}

    def drivers(self, *ids: str) -> dict[str, str]:
        """The driver of each device by its ids, as ``1234:1111``; "" for none."""
        script = """for ids; do for device in /sys/bus/pci/devices/*; do
            [ "$(cat "$device/vendor" "$device/device" | tr -d '\\n')" = "0x${ids%:*}0x${ids#*:}" ] || continue
            driver=$(readlink "$device/driver"); echo "${ids}=${driver##*/}"
        done; done"""
        return dict(line.split("=") for line in self.run("sh", "-c", script, "drivers", *ids).splitlines())

    def address_of(self, ids: str) -> str:
        """Where the one device of these ids is: ``0000:01:00.0``."""
        return self.run("sh", "-c", f"lspci -D -d {ids} | cut -d' ' -f1")

    def foreign(self, name: str, *addresses: str, uuid: str = "") -> str:
        """A domain of somebody else's that has these devices."""
        root = ET.fromstring(f"<domain type='qemu'><name>{name}</name><memory unit='MiB'>64</memory><vcpu>1</vcpu></domain>")
        if uuid:
            ET.SubElement(root, "uuid").text = uuid
        system = ET.SubElement(root, "os")
        ET.SubElement(system, "type", arch="x86_64", machine="q35").text = "hvm"
        devices = ET.SubElement(root, "devices")
        ET.SubElement(devices, "controller", type="usb", model="none")
        ET.SubElement(devices, "memballoon", model="none")
        for address in addresses:
            domain, bus, rest = address.split(":")
            slot, function = rest.split(".")
            source = ET.SubElement(ET.SubElement(devices, "hostdev", mode="subsystem", type="pci", managed="yes"), "source")
            ET.SubElement(source, "address", domain=f"0x{domain}", bus=f"0x{bus}", slot=f"0x{slot}", function=f"0x{function}")
        return ET.tostring(root, encoding="unicode")

    def _ran(self, *words: str, given: str = "") -> subprocess.CompletedProcess[str]:
        import shlex

        known = self.folder / "known_hosts"
        known.write_text(f"gpu-host {self.host['hostKey']}\n")
        port = self.host["uri"].rpartition(":")[2].partition("/")[0]
        options = {
            "StrictHostKeyChecking": "yes",
            "UserKnownHostsFile": str(known),
            "HostKeyAlias": "gpu-host",
            "IdentitiesOnly": "yes",
            "BatchMode": "yes",
            "LogLevel": "ERROR",
            "ControlMaster": "auto",
            "ControlPath": str(self.folder / "c"),
            "ControlPersist": "60",
        }
        named = [part for option, value in options.items() for part in ("-o", f"{option}={value}")]
        line = ["ssh", "-F", "none", "-i", self.host["identityFile"], *named, "-p", port, "root@127.0.0.1", shlex.join(words)]
        return subprocess.run(line, input=given, capture_output=True, text=True, timeout=120, check=False)


@contextlib.contextmanager
def running(folder: Path) -> Iterator[GpuHost]:
    """Start one, and end it with everything it started."""
    words = [sys.executable, str(SCRIPT)]
    started = subprocess.run(
        [*words, "start", "--with-me", "--folder", str(folder), "--cache", str(CACHE)],
        capture_output=True,
        text=True,
        timeout=900,
        check=False,
        stdin=subprocess.DEVNULL,
    )
    if "doesn't come up" in started.stderr:
        pytest.skip(f"no emulated GPU host: {started.stderr.strip().splitlines()[-1]}")
    assert started.returncode == 0, started.stderr
    try:
        settings = json.loads(started.stdout)
        boot_id = GpuHost(folder, settings).run("cat", "/proc/sys/kernel/random/boot_id")
        yield GpuHost(folder, settings, boot_id)
    finally:
        subprocess.run([*words, "stop", "--folder", str(folder)], check=False, timeout=60, stdin=subprocess.DEVNULL)
