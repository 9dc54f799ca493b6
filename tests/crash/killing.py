"""Kills a command in one gap after the other and lets fresh processes finish it. Run by the tests as a process of its own.

    python killing.py PROVIDER LANE LANES FOLDER

It is single-threaded, imports everything once, and forks a child a gap; the child opens its own state and providers, as a command does.
Prints one JSON document: how many gaps there are, how many children died in theirs, and what was wrong afterwards.
"""

from __future__ import annotations

import gc
import json
import os
import shutil
import sys
import threading
import time
import traceback
from collections import Counter
from collections.abc import Callable
from datetime import timedelta
from functools import partial
from itertools import zip_longest
from pathlib import Path

from support.exploding import Fuse, fused
from support.local_world import LocalWorld, processes_of
from support.world import HOME_YAML, LAB, World, workspace_yaml

from nodusctl.attempts.events import AttemptQueued, HomeSaved
from nodusctl.executor.outside import Outside
from nodusctl.ports.claims import Liveness
from nodusctl.provider.machines import ReleaseState
from nodusctl.provider.replies import Done
from nodusctl.provider.requests import ReleaseRequest
from nodusctl.state.status import Phase

KILLED = -9
QUICK_WORLD = "times: {release: 2s, save: 2s}\n"
"""A cloud that makes one wait for a release and for a save, but not for long: waiting for them longer adds no other gap."""
HOME = HOME_YAML.replace("size: 1Gi", "size: 1Gi, deletionPolicy: Delete")
SESSION_FILE = "notes.txt"
POLLS = {"observe", "ask", "release"}
"""What a real platform is asked again and again until it is so: how often depends on the computer, so only the first two count as gaps."""
CLAIMS = {"take_plan_lock", "drop_plan_lock", "claim", "preempt", "heartbeat", "drop"}
LOCK = timedelta(seconds=30)


def create(world: World, outside: Outside) -> None:
    """``nodusctl apply`` of a Volume and a Workspace."""
    _must_end(world.apply(outside=outside, lock_timeout=LOCK))


def stop(world: World, outside: Outside) -> None:
    """``nodusctl stop``."""
    from nodusctl.engine import verbs
    from nodusctl.engine.applying import ApplySettings
    from nodusctl.executor.runs import Interrupts

    settings = ApplySettings(lock_timeout=LOCK)
    _must_end(verbs.stop(LAB, outside=outside, command="nodusctl stop", settings=settings, interrupts=Interrupts()))


def delete(world: World, outside: Outside) -> None:
    """``nodusctl destroy``, home and all."""
    _must_end(world.apply(world.removal(), outside=outside, lock_timeout=LOCK))


def _must_end(result: object) -> None:
    assert str(getattr(result, "exit_code", "")) == "0", result


COMMANDS: dict[str, Callable[[World, Outside], None]] = {"create": create, "stop": stop, "delete": delete}


Gap = tuple[str, int]
Life = list[tuple[str, Gap | None]]


class Lane:
    """One provider; its share of the lives. A life is create, then stop or delete, with a kill in one gap of some of them."""

    def __init__(self, provider: str, folder: Path) -> None:
        self.kind: type[World] = World if provider == "simulated" else LocalWorld
        self.folder, self.is_local = folder, provider == "local"

    # Processes

    def in_child(self, act: Callable[[World], None], project: Path) -> tuple[int, str]:
        """``act`` in a process of its own: its exit code, and its last words where it failed."""
        words = project.parent / f"{project.name}.words"
        words.unlink(missing_ok=True)
        child = os.fork()
        if child == 0:
            code = 1
            try:
                act(self.kind(project))
                code = 0
            except BaseException:
                words.write_text(traceback.format_exc())
            finally:
                os._exit(code)
        code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
        return code, words.read_text() if words.exists() else ""

    # Gaps and lives

    def written(self, name: str) -> Path:
        """A project with its documents and nothing else."""
        project = self.folder / name
        size = {"cpu": 1, "memory": "256Mi"} if self.is_local else {"cpu": 4, "memory": "16Gi"}
        self.kind(project, world="" if self.is_local else QUICK_WORLD).write(HOME, workspace_yaml(resources=size, tools=["SSH"])).close()
        return project

    def gaps(self) -> dict[str, list[Gap]]:
        """Of each command: each gap as (the deed it lies before, which of its name that is), counted on runs that aren't killed."""
        found: dict[str, list[Gap]] = {}
        for commands in (("create", "delete"), ("create", "stop", "delete")):
            project = self.written("-".join(commands))
            for command in commands:
                deeds = self.folder / f"{command}.deeds"
                code, words = self.in_child(partial(_count, command, deeds), project)
                assert code == 0, words
                found.setdefault(command, [gap for gap in _numbered(deeds.read_text().split()) if self.is_gap(gap)])
        return found

    def is_gap(self, gap: Gap) -> bool:
        """Claims are the store's alone, so the simulated lane is enough for them; and of a poll the first two count."""
        return not self.is_local or (gap[0] not in CLAIMS and (gap[0] not in POLLS or gap[1] <= 2))

    def lived(self, name: str, life: Life) -> tuple[int, list[str]]:
        """How many children died in their gaps, and what was wrong after fresh processes had finished their commands."""
        project = self.written(name)
        deaths, faults = self._life_of(project, life)
        if faults:
            self.in_child(_give_back, project)
        else:
            shutil.rmtree(project)
        return deaths, faults

    def _life_of(self, project: Path, life: Life) -> tuple[int, list[str]]:
        deaths = 0
        for command, gap in life:
            if gap is not None:
                code, words = self.in_child(partial(_die, command, gap), project)
                deaths += code == KILLED
                if code not in {KILLED, 0}:
                    return deaths, [f"{command} before {gap}: the command itself failed: {words}"]
            for act in (partial(_finish, command), partial(_check, command)):
                code, words = self.in_child(act, project)
                if code:
                    return deaths, [f"{command} killed before {gap}: {words}"]
        return deaths, []


class NamedFuse(Fuse):
    """Dies before the n-th deed of one name."""

    def __init__(self, gap: Gap) -> None:
        super().__init__()
        self._gap, self._seen = gap, 0

    def burn(self, deed: str) -> None:
        with self._lock:
            self._seen += deed == self._gap[0]
            if deed == self._gap[0] and self._seen == self._gap[1]:
                os.kill(os.getpid(), 9)


def _warm_up(project: Path) -> None:
    """Import all that a command imports late, so that no child has to; then the process is single-threaded again."""
    world = World(project, world=QUICK_WORLD).write(HOME, workspace_yaml())
    for command in COMMANDS.values():
        command(world, world.outside())
    world.close()
    gc.collect()
    gc.freeze()
    assert threading.active_count() == 1


def _numbered(deeds: list[str]) -> list[Gap]:
    seen: Counter[str] = Counter()
    found = []
    for deed in deeds:
        seen[deed] += 1
        found.append((deed, seen[deed]))
    return found


def _give_back(world: World) -> None:
    """After a fault: leave no process on this computer."""
    if isinstance(world, LocalWorld):
        for machine in world.computer.list().value.machines:  # type: ignore[union-attr]
            for _ in range(100):
                reply = world.computer.release(ReleaseRequest(token="after-a-fault", machine_id=machine.id))
                if isinstance(reply, Done) and reply.value.state is ReleaseState.GONE:
                    break
                time.sleep(0.1)


def _die(command: str, gap: Gap, world: World) -> None:
    COMMANDS[command](world, fused(world.outside(), NamedFuse(gap)))


def _finish(command: str, world: World) -> None:
    COMMANDS[command](world, world.outside())


def _count(command: str, into: Path, world: World) -> None:
    fuse = Fuse()
    COMMANDS[command](world, fused(world.outside(), fuse))
    into.write_text("\n".join(fuse.deeds))


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


def _check(command: str, world: World) -> None:
    """What must hold once ``command`` was finished."""
    _check_quiet(world)
    if not isinstance(world, LocalWorld):
        made = world.cloud.simulated_machines("", include_ended=True)
        assert max(Counter(machine.tags["nodus-attempt"] for machine in made).values(), default=0) <= 1, made
    assert len(world.events(AttemptQueued)) == 1
    CHECKS[command](world)
    if command == "create":
        _write_in_home(world)


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


def _lives(gaps: dict[str, list[Gap]]) -> list[Life]:
    """Every gap once. A create and a delete share a life; a stop has one of its own."""
    pairs = zip_longest(gaps["create"], gaps["delete"])
    lives: list[Life] = [[("create", create_at), ("delete", delete_at)] for create_at, delete_at in pairs]
    return [*lives, *([("create", None), ("stop", stop_at), ("delete", None)] for stop_at in gaps["stop"])]


def main() -> None:
    provider, lane, lanes, folder = sys.argv[1], int(sys.argv[2]), int(sys.argv[3]), Path(sys.argv[4])
    mine = Lane(provider, folder)
    begun = time.monotonic()
    _warm_up(folder / "warm")
    gaps = mine.gaps()
    lives = _lives(gaps)[lane::lanes]
    deaths, faults = 0, []
    for number, life in enumerate(lives):
        died, wrong = mine.lived(f"life-{number}", life)
        deaths += died
        faults += wrong
    wanted = sum(gap is not None for life in lives for _, gap in life)
    counts = {command: len(found) for command, found in gaps.items()}
    print(json.dumps({"gaps": counts, "wanted": wanted, "deaths": deaths, "faults": faults, "seconds": time.monotonic() - begun}))


if __name__ == "__main__":
    main()
