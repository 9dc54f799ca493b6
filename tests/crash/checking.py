"""What must hold of a world once a command was killed and then finished by a fresh process: nothing leaked, made twice or lost."""

from __future__ import annotations

import json
import time
from collections import Counter
from collections.abc import Callable
from datetime import timedelta

from support.local_world import LocalWorld, processes_of
from support.world import World

from nodusctl.attempts.events import AttemptQueued, HomeSaved
from nodusctl.ports.claims import Liveness
from nodusctl.provider.machines import ReleaseState
from nodusctl.provider.replies import Done
from nodusctl.provider.requests import ReleaseRequest
from nodusctl.state.status import Phase

SESSION_FILE = "notes.txt"


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
    records = [*world.folder.rglob("machines/m-*/machine.json"), *world.folder.rglob("gone/m-*.json")]
    return [json.loads(record.read_text())["tags"]["nodus-attempt"] for record in records]


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
    assert not world.plan().has_changes


def _check_stopped(world: World) -> None:
    assert world.status().phase is Phase.STOPPED, world.status()
    assert _live_machines(world) == 0
    assert [one.number for one in world.home().revisions] == [1]
    assert world.home().holder is None
    if isinstance(world, LocalWorld):
        assert (world.home_folder() / SESSION_FILE).read_text() == "never lost"
    else:
        assert len(world.cloud.disk_content(world.home().disk_id)) == 1


def _check_removed(world: World) -> None:
    assert world.state.journal.snapshot().standings == {}
    assert len(world.events(HomeSaved)) == 1, "it was saved first, and once"
    assert _live_machines(world) == 0
    if isinstance(world, LocalWorld):
        ids = {one.machine.id for one in world.attempts() if one.machine is not None}
        deadline = time.monotonic() + 5
        while (left := processes_of(world.folder, ids)) and time.monotonic() < deadline:
            time.sleep(0.05)
        assert left == []
        assert world.computer.list().value.disks == ()  # type: ignore[union-attr]
    else:
        held = world.cloud.list().value  # type: ignore[union-attr]
        assert (held.machines, held.disks) == ((), ())


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
