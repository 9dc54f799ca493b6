"""A libvirt host to test on: this computer's own, with the tiny guest. One network, made once, whose leases come without a delay."""

from __future__ import annotations

import functools
import importlib.util
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

from support.libvirt_leftovers import clear_leftovers

ROOT = Path(__file__).parents[2]
# Read when this module is imported: fixtures give each test folders of its own.
CACHE = Path(os.environ.get("NODUSCTL_GUESTS") or Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "nodusctl" / "guests")
URI = "qemu:///system"
NETWORK = "nodus-test"
IMAGE = "nodus/workspace-cpu"
_LINE = "console=ttyS0 quiet panic=-1 net.ifnames=0 mitigations=off tsc=reliable no_timer_check cryptomgr.notests random.trust_cpu=on"
NETWORK_XML = f"""<network xmlns:dnsmasq='http://libvirt.org/schemas/network/dnsmasq/1.0'>
  <name>{NETWORK}</name>
  <forward mode='nat'/>
  <bridge name='virbr-nodus' stp='off' delay='0'/>
  <ip address='192.168.231.1' netmask='255.255.255.0'><dhcp><range start='192.168.231.2' end='192.168.231.254'/></dhcp></ip>
  <dnsmasq:options><dnsmasq:option value='no-ping'/></dnsmasq:options>
</network>
"""


@functools.cache
def why_not() -> str:
    """Why there can be no machines here, or ""; what is missing and can be started is started, and what dead runs left is ended."""
    if os.geteuid() != 0:
        return "virtual machines are tested as root"
    for module in ("libvirt", "pycdlib"):
        if importlib.util.find_spec(module) is None:
            return f"the Python module {module} is not installed: sh scripts/libvirt_host.sh install"
    missing = [name for name in ("virsh", "qemu-img", "qemu-system-x86_64", "cpio", "apt-get") if shutil.which(name) is None]
    if missing:
        return f"{', '.join(missing)} not installed: sh scripts/libvirt_host.sh install"
    _run("sh", str(ROOT / "scripts" / "libvirt_host.sh"), "start")
    if _run("virsh", "-q", "-c", URI, "uri").returncode:
        return "no libvirtd answers at qemu:///system, and none could be started"
    clear_leftovers(URI)
    return _network_fault()


def _network_fault() -> str:
    if "yes" in _run("virsh", "-c", URI, "net-info", NETWORK).stdout.split():
        return ""
    made = subprocess.run(["virsh", "-c", URI, "net-create", "/dev/stdin"], input=NETWORK_XML, capture_output=True, text=True, check=False)
    there = "yes" in _run("virsh", "-c", URI, "net-info", NETWORK).stdout.split()
    return "" if there else f"no network for machines: {made.stderr.strip()}"


@functools.cache
def guest() -> Path:
    """The tiny guest's folder; built where it is missing."""
    built = _run(sys.executable, str(ROOT / "scripts" / "tiny_guest.py"), "--cache", str(CACHE))
    assert built.returncode == 0, built.stderr
    return Path(built.stdout.strip())


def settings(folder: Path, **host: Any) -> dict[str, Any]:
    """Settings of a provider whose one host is this computer and keeps its files in ``folder``."""
    files = {"path": "base.qcow2", "kernel": "vmlinux", "initrd": "initrd"}
    image = {**{key: str(guest() / name) for key, name in files.items()}, "cmdline": _LINE}
    named = {"name": "metal", "domainType": "qemu", "folder": str(folder), "network": NETWORK, "cpu": 1, "memory": "192Mi"}
    return {"hosts": [{**named, **host}], "images": {IMAGE: image}}


def virsh(*words: str) -> str:
    """What virsh says."""
    return _run("virsh", "-q", "-c", URI, *words).stdout.strip()


def _run(*words: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(words, capture_output=True, text=True, timeout=300, check=False, stdin=subprocess.DEVNULL)
