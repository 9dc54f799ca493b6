"""A domain that is defined, off and was never seen to run: a launch under way, or one that nobody can be at any more."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from nodus_providers.libvirt.connection import Connection, Domain, Power
from nodus_providers.libvirt.hosts import Host
from nodus_providers.libvirt.locks import Locks
from nodus_providers.libvirt.machines import observed
from nodus_providers.libvirt.records import STARTED, MachineRecord, domain_uuid, thing_id
from nodus_providers.libvirt.settings import HostSettings
from nodus_providers.libvirt.shell import HostShell
from nodusctl.base.timestamps import format_time
from nodusctl.provider.machines import Machine, MachineState
from nodusctl.testing.clocks import FakeWall

BOOTED = datetime.fromtimestamp(
    next(int(line.split()[1]) for line in Path("/proc/stat").read_text(encoding="ascii").splitlines() if line.startswith("btime")), UTC
)
JUST_AFTER = BOOTED + timedelta(seconds=30)


def seen(folder: Path, *, created_at: datetime, now: datetime, phase: str = "launching", console: str = "") -> Machine:
    """This computer's machine of those facts, whose domain is off."""
    wall = FakeWall(now)
    host = Host(
        zone="here",
        settings=HostSettings(name="here", uri="qemu:///system", folder=str(folder)),
        connection=Connection("test:///default"),
        shell=HostShell(),
        locks=Locks(folder / "locks", wall),
        wall=wall,
        is_this_computer=True,
        domain_type_wish="qemu",
    )
    record = MachineRecord(
        id=thing_id("m", host.tag, "token"),
        token="token",
        digest="d",
        name="nodus-lab-1",
        offer_id="cpu-1c-1g-local",
        image="nodus/workspace-cpu",
        tags={},
        created_at=format_time(created_at),
        edge_seconds=600,
        seed="seed-1.iso",
        vcpus=1,
        memory_bytes=2**30,
        phase=phase,
    )
    if console:
        made = Path(host.machine_folder(record.id))
        made.mkdir(parents=True)
        (made / "console.log").write_text(console, encoding="ascii")
    domain = Domain(uuid=domain_uuid(host.tag, "token"), name=record.name, power=Power.OFF, reason="", mark="")
    return observed(host, record.id, domain, record)


def test_a_launch_may_be_under_way_for_as_long_as_one_can_take(tmp_path: Path) -> None:
    machine = seen(tmp_path, created_at=JUST_AFTER, now=JUST_AFTER + timedelta(minutes=30))
    assert (machine.state, machine.reason, machine.ended_at) == (MachineState.PENDING, "launching", None)


def test_a_launch_that_nobody_ended_in_time_has_failed(tmp_path: Path) -> None:
    machine = seen(tmp_path, created_at=JUST_AFTER, now=JUST_AFTER + timedelta(hours=1))
    assert (machine.state, machine.reason) == (MachineState.FAILED, "failed")
    assert "nobody starts it any more" in machine.reason_detail
    assert machine.ended_at is not None and JUST_AFTER < machine.ended_at < JUST_AFTER + timedelta(hours=1)


def test_a_launch_whose_host_was_started_anew_has_failed_at_once(tmp_path: Path) -> None:
    """A host that crashes within seconds of a start forgets the start and keeps the definition."""
    machine = seen(tmp_path, created_at=BOOTED - timedelta(seconds=20), now=BOOTED + timedelta(seconds=10))
    assert (machine.state, machine.ended_at) == (MachineState.FAILED, BOOTED)
    assert "its host was started anew" in machine.reason_detail


@pytest.mark.parametrize(("phase", "console"), [(STARTED, ""), ("launching", "Linux version 6.1\n")], ids=["started", "spoke"])
def test_one_that_ran_is_one_that_stopped(tmp_path: Path, phase: str, console: str) -> None:
    machine = seen(tmp_path, created_at=JUST_AFTER, now=JUST_AFTER + timedelta(minutes=1), phase=phase, console=console)
    assert (machine.state, machine.reason) == (MachineState.STOPPED, "killed")
