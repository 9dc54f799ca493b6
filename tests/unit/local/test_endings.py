"""How a local machine ends: whatever was started in it, and whoever was killed on the way, nothing of it runs afterwards."""

from __future__ import annotations

import os
import signal
import subprocess
from pathlib import Path

import pytest
from machine_kit import MachineKit, eventually, is_alive

from nodusctl.provider.agent import AgentCommand
from nodusctl.provider.machines import Disk, Machine, MachineState
from nodusctl.testing.conformance_hooks import done

pytestmark = pytest.mark.local

LEAVE_DAEMONS = (
    "setsid sh -c 'echo $$ > marked.pid; exec sleep 1001' >/dev/null 2>&1 </dev/null & "
    "env -i setsid sh -c '(echo $(cut -d\" \" -f4 /proc/self/stat); exec sleep 1002) > bare.pid' >/dev/null 2>&1 </dev/null & "
    "env -i setsid sh -c 'trap \"\" TERM; echo $$ > stubborn.pid; while :; do sleep 1; done' >/dev/null 2>&1 </dev/null & "
    "until [ -s marked.pid ] && [ -s bare.pid ] && [ -s stubborn.pid ]; do sleep 0.05; done"
)


def daemons_of(kit: MachineKit, machine: Machine, disk: Disk) -> list[int]:
    """Our pids of what LEAVE_DAEMONS left."""
    home = kit.provider.home_of(disk.id)
    return [kit.outside(machine, int((home / f"{name}.pid").read_text())) for name in ("marked", "bare", "stubborn")]


def test_a_release_ends_daemons_that_left_their_session_and_emptied_their_environment(kit: MachineKit) -> None:
    disk = kit.a_disk()
    machine = kit.launched(disk=disk)
    assert subprocess.run(kit.login(machine, LEAVE_DAEMONS), check=False).returncode == 0
    pids = [*kit.running(machine.id), *daemons_of(kit, machine, disk)]
    assert all(is_alive(pid) for pid in pids)
    assert done(kit.provider.list()).machines
    kit.release(machine.id)
    assert [pid for pid in pids if is_alive(pid)] == []
    assert kit.running(machine.id) == {}
    assert not list(Path("/dev/shm").glob(f"*{machine.id}*"))


@pytest.mark.parametrize("kit", ["not isolated"], indirect=True)
def test_what_a_killed_keeper_left_is_seen_and_ended_by_the_release(kit: MachineKit) -> None:
    disk = kit.a_disk()
    machine = kit.launched(disk=disk)
    sleeping = subprocess.Popen(kit.login(machine, "echo $$ > own.pid; exec sleep 1003"))
    pid_file = kit.provider.home_of(disk.id) / "own.pid"
    sleeper = eventually(lambda: int(pid_file.read_text()) if pid_file.exists() and pid_file.read_text() else None, "a session")
    forwarding = subprocess.Popen([*kit.login(machine)[:-1], "-N", "127.0.0.1"])
    keeper = next(pid for pid, command in kit.running(machine.id).items() if "agent keep" in command)
    os.kill(keeper, signal.SIGKILL)
    eventually(lambda: None if is_alive(keeper) else True, "the keeper is dead")
    seen = kit.seen(machine)
    assert (seen.state, seen.reason) == (MachineState.RUNNING, "killed")
    assert "still run" in seen.reason_detail
    kit.release(machine.id)
    assert not is_alive(sleeper)
    assert kit.running(machine.id) == {}
    assert sleeping.wait(timeout=30) != 0
    assert forwarding.wait(timeout=30) != 0


@pytest.mark.parametrize("kit", ["isolated"], indirect=True)
def test_a_killed_keeper_takes_its_whole_sandbox_along(kit: MachineKit) -> None:
    disk = kit.a_disk()
    machine = kit.launched(disk=disk)
    assert subprocess.run(kit.login(machine, LEAVE_DAEMONS), check=False).returncode == 0
    pids = daemons_of(kit, machine, disk)
    keeper = next(pid for pid, command in kit.running(machine.id).items() if "agent keep" in command)
    os.kill(keeper, signal.SIGKILL)
    eventually(lambda: True if not any(is_alive(pid) for pid in pids) else None, "all that ran inside has ended")
    assert kit.seen(machine).state is MachineState.STOPPED


def test_a_killed_keeper_takes_its_sshd_along_and_the_machine_is_stopped(kit: MachineKit) -> None:
    machine = kit.launched()
    running = kit.running(machine.id)
    keeper = next(pid for pid, command in running.items() if "agent keep" in command)
    os.kill(keeper, signal.SIGKILL)
    eventually(lambda: True if not kit.running(machine.id) else None, "sshd ended too")
    seen = kit.seen(machine)
    assert seen.state is MachineState.STOPPED
    assert seen.ended_at is not None
    assert machine.created_at is not None
    assert seen.ended_at >= machine.created_at
    assert kit.release(machine.id).ended_at == seen.ended_at


def test_a_machine_whose_folder_is_taken_away_ends(kit: MachineKit) -> None:
    machine = kit.launched()
    pids = list(kit.running(machine.id))
    (kit.root / "machines" / machine.id).rename(kit.root / "machines" / ".elsewhere")
    eventually(lambda: True if not any(is_alive(pid) for pid in pids) else None, "the keeper noticed")


def test_a_computer_restart_is_a_stop_at_the_last_heartbeat(kit: MachineKit) -> None:
    machine = kit.launched()
    keeper_file = kit.root / "machines" / machine.id / "run" / "keeper.json"
    heartbeat = keeper_file.with_name("heartbeat")
    eventually(lambda: True if heartbeat.exists() else None, "a heartbeat")
    written = keeper_file.read_text()
    boot_id = Path("/proc/sys/kernel/random/boot_id").read_text().strip()
    keeper_file.write_text(written.replace(boot_id, "another-boot"))
    seen = kit.seen(machine)
    keeper_file.write_text(written)
    assert seen.state is MachineState.STOPPED
    assert seen.ended_at is not None
    assert abs(seen.ended_at.timestamp() - heartbeat.stat().st_mtime) < 2
    assert seen.reason == "poweroff"
    assert "restarted" in seen.reason_detail


def test_a_removed_key_ends_the_sessions_it_opened(kit: MachineKit) -> None:
    disk = kit.a_disk()
    machine = kit.launched(disk=disk)
    session = subprocess.Popen(kit.login(machine, "touch here; exec sleep 1004"))
    eventually(lambda: True if (kit.provider.home_of(disk.id) / "here").exists() else None, "a session")
    done(kit.ask(machine, AgentCommand.SECRETS, files={"authorized_keys": kit.service_key.public + "\n"}))
    assert session.wait(timeout=30) == 255
    assert subprocess.run(kit.login(machine, "true"), capture_output=True, check=False).returncode == 255


def test_quiesce_closes_the_door_to_people_and_ends_what_they_run(kit: MachineKit) -> None:
    disk = kit.a_disk()
    machine = kit.launched(disk=disk)
    assert subprocess.run(kit.login(machine, LEAVE_DAEMONS), check=False).returncode == 0
    pids = daemons_of(kit, machine, disk)
    assert all(is_alive(pid) for pid in pids)
    assert done(kit.ask(machine, AgentCommand.QUIESCE, grace_seconds=1)).is_quiet
    assert [pid for pid in pids if is_alive(pid)] == []
    assert subprocess.run(kit.login(machine, "true"), capture_output=True, check=False).returncode == 255
    assert kit.seen(machine).state is MachineState.RUNNING


def test_the_edge_ends_a_machine_and_says_so(kit: MachineKit) -> None:
    disk = kit.a_disk()
    machine = kit.launched(edge_seconds=8, disk=disk)
    subprocess.run(kit.login(machine, "setsid sleep 1005 >/dev/null 2>&1 </dev/null &"), check=True)
    over = eventually(lambda: seen if (seen := kit.seen(machine)).state is MachineState.STOPPED else None, "the edge")
    assert over.reason == "edge"
    assert machine.armed_until is not None
    assert over.ended_at is not None
    assert over.ended_at >= machine.armed_until
    assert kit.running(machine.id) == {}
    assert over.disk_ids == (disk.id,)
