"""The Debian guest that ``nodusctl image build`` makes, and a project whose machine it is: real systemd and cloud-init, emulated."""

from __future__ import annotations

import base64
import functools
import json
import os
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from nodus_providers.libvirt.imaging.computer import lacks, whole_path
from support import libvirt_host
from support.libvirt_project import LAB, LibvirtProject

_BUILD_SECONDS = 1800
# For an emulated machine only: a clock that isn't calibrated, and no defence against its neighbours.
_FASTER = "mitigations=off tsc=reliable no_timer_check cryptomgr.notests random.trust_cpu=on"


@functools.cache
def why_not() -> str:
    """Why there can be no Debian machine here, or ""."""
    if reason := libvirt_host.why_not():
        return reason
    found = next(lacks(whole_path(os.environ["PATH"]), is_root=True), None)
    return f"{found.summary} {found.detail} sh scripts/libvirt_host.sh install" if found is not None else ""


@functools.cache
def guest() -> Path:
    """The guest's folder; built where it is missing, in about a minute on two cores that are free."""
    words = [sys.executable, str(libvirt_host.ROOT / "scripts" / "debian_guest.py"), "--cache", str(libvirt_host.CACHE)]
    built = subprocess.run(words, capture_output=True, text=True, timeout=_BUILD_SECONDS, check=False, stdin=subprocess.DEVNULL)
    assert built.returncode == 0, built.stderr
    return Path(built.stdout.strip())


def built() -> dict[str, Any]:
    """What ``image build --json`` said of it."""
    return dict(json.loads((guest() / "built.json").read_text(encoding="utf-8")))


def settings(folder: Path, **host: Any) -> dict[str, Any]:
    """Settings of a provider whose one host is this computer and starts Debian machines."""
    (said,) = built()["images"].values()
    files = {"path": "base.qcow2", "kernel": "kernel", "initrd": "initrd"}
    image = {
        **{key: str(guest() / name) for key, name in files.items()},
        "cmdline": f"{said['cmdline']} {_FASTER}",
        "sha256": said["sha256"],
    }
    named = {"name": "metal", "domainType": "qemu", "folder": str(folder), "network": libvirt_host.NETWORK, "cpu": 2, "memory": "512Mi"}
    return {"hosts": [{**named, **host}], "images": {libvirt_host.IMAGE: image}}


@dataclass(frozen=True, slots=True)
class DebianProject(LibvirtProject):
    """The same project with a Debian machine, which takes a minute to boot where a processor is free, and longer where none is."""

    def write(self) -> DebianProject:
        for part in ("project", "home"):
            (self.folder / part).mkdir(parents=True, exist_ok=True)
        provider = {"type": "libvirt", **settings(self.folder / "host", rateUSDPerHour="0.12")}
        (self.project / "nodusctl.yaml").write_text(json.dumps({"project": "lab", "providers": {"metal": provider}}), encoding="utf-8")
        lab = LAB.replace("{cpu: 1, memory: 192Mi}", "{cpu: 2, memory: 512Mi}").replace("[SSH]", "[SSH, VSCode]\n  secrets: [wandb]")
        (self.project / "lab.yaml").write_text(lab, encoding="utf-8")
        return self

    def run(self, *words: str, limit_seconds: float = 900) -> subprocess.CompletedProcess[str]:
        return super(DebianProject, self).run(*words, limit_seconds=limit_seconds)

    def inside(self, script: str) -> str:
        """What a shell command in the Workspace prints."""
        return self.done("ssh", "lab", "--", script)

    def as_root(self, script: str) -> str:
        """What a shell command prints that QEMU's guest agent runs as root."""
        (name,) = self.domains()

        def ask(command: str, **arguments: object) -> Any:
            request = json.dumps({"execute": command, "arguments": arguments})
            return json.loads(libvirt_host.virsh("qemu-agent-command", "--timeout", "60", name, request))["return"]

        pid = ask("guest-exec", path="/bin/sh", arg=["-c", script], **{"capture-output": True})["pid"]
        until = time.monotonic() + 120
        while not (state := ask("guest-exec-status", pid=pid))["exited"]:
            assert time.monotonic() < until, f"{script} doesn't end"
            time.sleep(0.3)
        return base64.b64decode(state.get("out-data", "")).decode()
