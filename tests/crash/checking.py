"""What must hold of a world once a command was killed and then finished by a fresh process: nothing leaked, made twice or lost."""

from __future__ import annotations

import json
import os
import time
from collections import Counter
from collections.abc import Callable
from datetime import timedelta
from pathlib import Path

from support.local_world import LocalWorld, machines_alive, processes_of
from support.world import World

from nodusctl.attempts.events import AttemptQueued, HomeSaved
from nodusctl.ports.claims import Liveness
from nodusctl.provider.machines import ReleaseState, Revision, RevisionState
from nodusctl.provider.replies import Done
from nodusctl.provider.requests import ReleaseRequest
from nodusctl.state.status import Phase

SESSION_FILE = "notes.txt"
_END_SECONDS = 30


def check(command: str, world: World) -> None:
    """What must hold once ``command`` was finished."""
    _check_quiet(world)
    assert max(Counter(_machines_ever_made(world)).values(), default=0) <= 1, "an Attempt had two machines"
    assert len(world.events(AttemptQueued)) == 1
    CHECKS[command](world)
    if command == "create":
        _write_in_home(world)


def _machines_ever_made(world: World) -> list[str]:
    """Of each machine, ended or not, its Attempt."""
    if not isinstance(world, LocalWorld):
        return [machine.tags["nodus-attempt"] for machine in world.cloud.simulated_machines("", include_ended=True)]
    return [record["tags"]["nodus-attempt"] for record in _records(world).values()]


def _records(world: LocalWorld) -> dict[str, dict[str, dict[str, str]]]:
    """What lies on this computer of each machine, by its id."""
    alive = {path.parent.name: path for path in world.folder.rglob("machines/m-*/machine.json")}
    gone = {path.stem: path for path in world.folder.rglob("gone/m-*.json")}
    return {machine: json.loads(path.read_text()) for machine, path in {**gone, **alive}.items()}


def _write_in_home(world: World) -> None:
    """The person's session: what it writes must never be lost."""
    if isinstance(world, LocalWorld):
        (world.home_folder() / SESSION_FILE).write_text("never lost")
    else:
        world.pass_time(timedelta(minutes=10))


def _live_machines(world: World) -> int:
    if isinstance(world, LocalWorld):
        return len(world.computer.list().value.machines)  # type: ignore[union-attr]
    return len(world.machines())


def _check_running(world: World) -> None:
    assert world.status().phase is Phase.RUNNING, world.status()
    assert _live_machines(world) == 1
    if isinstance(world, LocalWorld):
        machine = world.attempt().machine
        assert machine is not None
        assert machines_alive(world.folder) == {machine.id}, "the one machine, and no other that nobody knows of"
    assert not world.plan().has_changes


def _check_stopped(world: World) -> None:
    assert world.status().phase is Phase.STOPPED, world.status()
    assert _live_machines(world) == 0
    (revision,) = world.home().revisions
    assert revision.number == 1
    assert world.home().holder is None
    if isinstance(world, LocalWorld):
        _check_nothing_runs(world)
        assert (world.home_folder() / SESSION_FILE).read_text() == "never lost"
        saved = world.computer.verify_revision(world.home().disk_id, revision.id)
        assert isinstance(saved, Done) and isinstance(saved.value, Revision)
        assert (saved.value.state, saved.value.digest) == (RevisionState.READY, revision.digest), "every byte is as it was saved"
        (copy,) = world.home_folder().parent.glob(f"revisions/*/tree/{SESSION_FILE}")
        assert copy.read_text() == "never lost"
    else:
        assert len(world.cloud.disk_content(world.home().disk_id)) == 1


def _check_removed(world: World) -> None:
    assert world.state.journal.snapshot().standings == {}
    assert len(world.events(HomeSaved)) == 1, "it was saved first, and once"
    assert _live_machines(world) == 0
    if isinstance(world, LocalWorld):
        _check_nothing_runs(world)
        held = world.computer.list().value  # type: ignore[union-attr]
    else:
        held = world.cloud.list().value  # type: ignore[union-attr]
    assert (held.machines, held.disks) == ((), ())


def _check_nothing_runs(world: LocalWorld) -> None:
    """No process of a machine, no folder of one, and none of its keys in memory."""
    machines = _records(world)
    deadline = time.monotonic() + _END_SECONDS
    while (left := processes_of(world.folder, machines)) and time.monotonic() < deadline:
        time.sleep(0.05)
    assert left == []
    assert list(world.folder.rglob("machines/*m-*")) == []
    assert [vault for machine in machines if (vault := Path(f"/dev/shm/nodus-{os.geteuid()}-{machine}")).exists()] == []


CHECKS: dict[str, Callable[[World], None]] = {"create": _check_running, "stop": _check_stopped, "delete": _check_removed}


def _check_quiet(world: World) -> None:
    """Nothing open, nobody who lives holds anything, the books are right. A dead one's claim may stay until it is in somebody's way."""
    assert world.state.claims.plan_lock() is None
    assert [claim for claim in world.state.claims.claimed() if claim[3] is not Liveness.DEAD] == []
    assert world.state.journal.open_intents() == ()
    world.check_books()


def give_back(world: World) -> None:
    """After a fault: leave no process on this computer."""
    if isinstance(world, LocalWorld):
        for machine in world.computer.list().value.machines:  # type: ignore[union-attr]
            for _ in range(100):
                reply = world.computer.release(ReleaseRequest(token="after-a-fault", machine_id=machine.id))
                if isinstance(reply, Done) and reply.value.state is ReleaseState.GONE:
                    break
                time.sleep(0.1)
