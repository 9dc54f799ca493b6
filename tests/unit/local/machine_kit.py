"""What tests with real machines share: a provider under a temporary folder, keys, requests, and a look at what runs."""

from __future__ import annotations

import contextlib
import json
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

from nodus_providers.local.provider import LocalProvider
from nodusctl.bootstrap.bundle import render_bundle
from nodusctl.ports.boot import BootPlan
from nodusctl.ports.reach import Access, KeyPair
from nodusctl.provider.agent import AgentAnswer, AgentCommand, AgentRequest
from nodusctl.provider.machines import Disk, Machine, Release, ReleaseState
from nodusctl.provider.offers import OfferQuery
from nodusctl.provider.replies import Reply
from nodusctl.provider.requests import DiskAttachment, DiskRequest, LaunchRequest, ReleaseRequest
from nodusctl.remote.keys import OpenSshKeys
from nodusctl.remote.reach import SshReach
from nodusctl.remote.session import PersonLogin, pin_host, ssh_command
from nodusctl.testing.conformance_hooks import a_context, done

T = TypeVar("T")
TAGS = {"nodus-state": "a-state"}


class MachineKit:
    """One provider instance on an empty folder, with keys."""

    def __init__(self, tmp_path: Path, **settings: object) -> None:
        keys = OpenSshKeys()
        self.tmp_path = tmp_path
        self.provider = LocalProvider.open(a_context(tmp_path), settings)
        self.host_key, self.service_key, self.person_key = (keys.new_key(name) for name in ("host", "service", "person"))
        self.person_path = tmp_path / "person"
        self.person_path.touch(mode=0o600)
        self.person_path.write_text(self.person_key.private)
        self.offer = done(self.provider.offers(OfferQuery()))[0]
        self.root = tmp_path / "user" / "local" / "under-test"

    def a_disk(self, token: str = "nodus-disk") -> Disk:
        return done(self.provider.create_disk(DiskRequest(token=token, name="home", zone=self.offer.zone, size_bytes=2**30, tags=TAGS)))

    @property
    def is_isolated(self) -> bool:
        """True where machines of this kit have a sandbox."""
        return self.provider._isolation.is_on

    def home_seen(self, disk: Disk) -> str:
        """The home's path as a session sees it."""
        return "/home/nodus" if self.is_isolated else str(self.provider.home_of(disk.id))

    def outside(self, machine: Machine, pid: int) -> int:
        """This computer's pid of a process that the machine knows as ``pid``."""
        written = json.loads((self.root / "machines" / machine.id / "run" / "keeper.json").read_text())
        if not self.is_isolated:
            return pid
        found = [outer for outer, inner in pids_below(int(written["pid"])) if inner == pid]
        assert len(found) == 1, f"{pid} is {found} outside"
        return found[0]

    def a_request(
        self,
        token: str = "nodus-launch",
        *,
        edge_seconds: int = 600,
        idle_seconds: int | None = None,
        disk: Disk | None = None,
        **more: Any,
    ) -> LaunchRequest:
        plan = BootPlan(
            host_key=self.host_key.private,
            service_key=self.service_key.public,
            person_keys=(self.person_key.public,),
            tools=("SSH",),
            edge_seconds=edge_seconds,
            idle_timeout_seconds=idle_seconds,
        )
        return LaunchRequest(
            token=token,
            name="nodus-lab",
            offer_id=self.offer.id,
            instance_type=self.offer.instance_type,
            zone=self.offer.zone,
            is_interruptible=False,
            image="nodus/workspace-cpu",
            boot=render_bundle(plan),
            edge_seconds=edge_seconds,
            disks=(DiskAttachment(disk_id=disk.id, mount_path="/home/nodus"),) if disk else (),
            tags=TAGS,
            **more,
        )

    def launched(self, token: str = "nodus-launch", **more: Any) -> Machine:
        return done(self.provider.launch(self.a_request(token, **more)))

    def seen(self, machine: Machine) -> Machine:
        return done(self.provider.observe([machine.id]))[0]

    def ask(self, machine: Machine, command: AgentCommand, host_key: KeyPair | None = None, **fields: object) -> Reply[AgentAnswer]:
        access = Access(
            provider="local",
            machine_id=machine.id,
            alias=machine.id,
            host_key=(host_key or self.host_key).public,
            service_key=self.service_key.private,
            endpoint=machine.ssh,
        )
        return SshReach().ask(access, AgentRequest(command=command, **fields))  # type: ignore[arg-type]

    def login(self, machine: Machine, *words: str) -> list[str]:
        assert machine.ssh is not None
        folder = f"known-{self.host_key.public.split()[1][-12:].replace('/', '-')}"
        pinned = pin_host(str(self.tmp_path / folder), machine.id, self.host_key.public)
        return ssh_command(PersonLogin(alias=machine.id, endpoint=machine.ssh, key_path=str(self.person_path), known_hosts=pinned), words)

    def release(self, machine_id: str) -> Release:
        request = ReleaseRequest(token="nodus-release", machine_id=machine_id)

        def look() -> Release | None:
            release = done(self.provider.release(request))
            return release if release.state is ReleaseState.GONE else None

        return eventually(look, "released")

    def clear(self) -> None:
        for machine in done(self.provider.list()).machines:
            self.release(machine.id)

    def running(self, machine_id: str) -> dict[int, str]:
        """Processes that carry the machine's marker or folder, found without any of our own code: pid → command line."""
        folder = str(self.root / "machines" / machine_id)
        rows = process_rows()
        return {pid: command for pid, command, marks in rows if folder in command or f"NODUSCTL_MACHINE={machine_id}" in marks}

    def running_in_root(self) -> list[str]:
        """Commands that name anything under this provider's folder."""
        return [command for _, command, _ in process_rows() if str(self.root) in command]


def process_rows() -> list[tuple[int, str, str]]:
    """Pid, command line and environment of every live process."""
    rows = []
    for name in filter(str.isdigit, (path.name for path in Path("/proc").iterdir())):
        with contextlib.suppress(OSError):
            command, environment = (Path(f"/proc/{name}/{part}").read_bytes().replace(b"\0", b" ") for part in ("cmdline", "environ"))
            if is_alive(int(name)):
                rows.append((int(name), command.decode(errors="replace"), environment.decode(errors="replace")))
    return rows


def pids_below(keeper: int) -> list[tuple[int, int]]:
    """Of each process in another pid namespace than ours and below ``keeper``: our pid and the one it has there."""
    rows = {}
    for name in filter(str.isdigit, (path.name for path in Path("/proc").iterdir())):
        with contextlib.suppress(OSError):
            lines = dict(line.split(":", 1) for line in Path(f"/proc/{name}/status").read_text().splitlines())
            rows[int(name)] = (int(lines["PPid"]), [int(pid) for pid in lines["NSpid"].split()])
    return [(pid, numbers[-1]) for pid, (_, numbers) in rows.items() if len(numbers) > 1 and _is_below(rows, pid, keeper)]


def _is_below(rows: dict[int, tuple[int, list[int]]], pid: int, keeper: int) -> bool:
    while pid in rows and pid != keeper:
        pid = rows[pid][0]
    return pid == keeper


def eventually(look: Callable[[], T | None], what: str, limit_seconds: float = 60.0) -> T:
    """What ``look`` answers as soon as it answers something."""
    deadline = time.monotonic() + limit_seconds
    while (seen := look()) is None:
        assert time.monotonic() < deadline, f"not within {limit_seconds:g} s: {what}"
        time.sleep(0.05)
    return seen


def is_alive(pid: int) -> bool:
    """False for no process and for a zombie."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] not in "ZX"
    except OSError:
        return False
