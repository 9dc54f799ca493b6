"""The calling process is killed with -9 at a random moment of launch, release and save, many times over.

Whatever the moment: a token has one machine or none, nothing runs that isn't found, and no half revision is ready.
"""

from __future__ import annotations

import os
import random
import signal
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from machine_kit import MachineKit, eventually

from nodusctl.provider.machines import Machine, MachineState, Revision, RevisionState
from nodusctl.provider.requests import ReleaseRequest, RestoreRequest, SaveRequest
from nodusctl.testing.conformance_hooks import done

pytestmark = [pytest.mark.local, pytest.mark.slow]
ROUNDS = 12


def killed_during(call: Callable[[], object], after_seconds: float) -> None:
    """Run ``call`` in a process of its own that is killed after a while, wherever it is then."""
    child = os.fork()
    if child == 0:
        try:
            call()
        finally:
            os._exit(0)
    time.sleep(after_seconds)
    os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)


@pytest.mark.parametrize("seed", range(ROUNDS))
def test_a_killed_launch_is_one_machine_or_none(kit: MachineKit, seed: int) -> None:
    request = kit.a_request()
    killed_during(lambda: kit.provider.launch(request), random.Random(seed).uniform(0.0, 0.25))
    found = done(kit.provider.find(request.token))
    if found is None:
        folders = [path for path in (kit.root / "machines").glob("*") if not path.name.startswith(".")]
        assert folders == []
        eventually(lambda: True if kit.running_in_root() == [] else None, "nothing runs that isn't found")
    else:
        assert isinstance(found, Machine)
    machine = done(kit.provider.launch(request))
    assert machine.state is MachineState.RUNNING
    assert found is None or found.id == machine.id
    assert len([command for command in kit.running(machine.id).values() if "agent keep" in command]) == 1
    assert [listed.id for listed in done(kit.provider.list()).machines] == [machine.id]


@pytest.mark.parametrize("seed", range(ROUNDS))
def test_a_killed_release_is_finished_by_the_next(kit: MachineKit, seed: int) -> None:
    machine = kit.launched()
    pids = kit.running(machine.id)
    assert pids
    request = ReleaseRequest(token="nodus-release", machine_id=machine.id)
    killed_during(lambda: kit.provider.release(request), random.Random(seed).uniform(0.0, 0.25))
    kit.release(machine.id)
    eventually(lambda: True if kit.running(machine.id) == {} else None, "nothing runs, the killed caller's question included")
    assert done(kit.provider.list()).machines == ()
    assert kit.seen(machine).state is MachineState.GONE
    assert not list(Path("/dev/shm").glob(f"*{machine.id}*"))


def test_a_killed_save_never_leaves_a_half_revision_ready(kit: MachineKit) -> None:
    disk = kit.a_disk()
    home = kit.provider.home_of(disk.id)
    for number in range(400):
        folder = home / f"folder-{number % 7}"
        folder.mkdir(exist_ok=True)
        (folder / f"file-{number}").write_bytes(os.urandom(20_000))
    chance = random.Random(7)
    for number in range(1, ROUNDS + 1):
        request = SaveRequest(token=f"nodus-save-{number}", disk_id=disk.id, number=number)
        for _ in range(3):
            killed_during(lambda request=request: kit.provider.save(request), chance.uniform(0.0, 0.12))
        found = done(kit.provider.find(request.token))
        assert found is None or isinstance(found, Revision)
        ready = done(kit.provider.save(request))
        assert ready.state is RevisionState.READY
        if number > 1:
            first = done(kit.provider.observe_disks([disk.id]))[0].revisions[0]
            assert (ready.digest, ready.size_bytes) == (first.digest, first.size_bytes)
    revisions = done(kit.provider.observe_disks([disk.id]))[0].revisions
    assert [(revision.number, revision.state) for revision in revisions] == [(n, RevisionState.READY) for n in range(1, ROUNDS + 1)]


def test_a_killed_restore_is_all_or_nothing(kit: MachineKit) -> None:
    disk = kit.a_disk()
    home = kit.provider.home_of(disk.id)
    for number in range(200):
        (home / f"file-{number}").write_text("old")
    saved = done(kit.provider.save(SaveRequest(token="nodus-save", disk_id=disk.id, number=1)))
    chance = random.Random(11)
    for number in range(ROUNDS):
        for path in home.iterdir():
            path.write_text("new")
        request = RestoreRequest(token=f"nodus-restore-{number}", disk_id=disk.id, revision_id=saved.id)
        killed_during(lambda request=request: kit.provider.restore(request), chance.uniform(0.0, 0.12))
        seen = {path.read_text() for path in home.iterdir()} if home.exists() else {"between"}
        assert len(seen) == 1
        done(kit.provider.restore(request))
        assert {path.read_text() for path in home.iterdir()} == {"old"}
        assert len(list(home.iterdir())) == 200
