"""Kills a command in one gap after the other and lets fresh processes finish it. Run by the tests as a process of its own.

    python killing.py PROVIDER COMMAND LANE LANES FOLDER

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
from pathlib import Path

from support.exploding import Fuse, fused
from support.local_world import LocalWorld, processes_of
from support.world import HOME_YAML, LAB, World, workspace_yaml

from nodusctl.attempts.events import AttemptQueued, HomeSaved
from nodusctl.executor.outside import Outside
from nodusctl.ports.claims import Liveness
from nodusctl.state.status import Phase

KILLED = -9
QUICK_WORLD = "times: {release: 2s, save: 2s}\n"
"""A cloud that makes one wait for a release and for a save, but not for long: waiting for them longer adds no other gap."""
HOME = HOME_YAML.replace("size: 1Gi", "size: 1Gi, deletionPolicy: Delete")
SESSION_FILE = "notes.txt"
POLLS = {"observe", "ask", "release"}
"""What a real platform is asked again and again until it is so: how often depends on the computer, so only the first two count as gaps."""
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


class Lane:
    """One provider, one command; its share of the gaps."""

    def __init__(self, provider: str, command: str, folder: Path) -> None:
        self.kind: type[World] = World if provider == "simulated" else LocalWorld
        self.command, self.folder = command, folder
        self.is_local = provider == "local"

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

    def must(self, act: Callable[[World], None], project: Path) -> None:
        code, words = self.in_child(act, project)
        assert code == 0, words

    # Before, between and after

    def prepared(self, name: str) -> Path:
        """A project in which the command is about to be given."""
        project = self.folder / name
        template = self.folder / "template"
        if self.command == "create":
            self.written(project)
        elif self.is_local:
            self.written(project)
            self.must(_run_a_session, project)
        else:
            if not template.exists():
                self.written(template)
                self.must(_run_a_session, template)
            shutil.copytree(template, project)
        return project

    def written(self, project: Path) -> None:
        """A project with its documents and nothing else."""
        size = {"cpu": 1, "memory": "256Mi"} if self.is_local else {"cpu": 4, "memory": "16Gi"}
        self.kind(project, world="" if self.is_local else QUICK_WORLD).write(HOME, workspace_yaml(resources=size)).close()

    def gaps(self) -> list[tuple[str, int]]:
        """Each gap as (the deed it lies before, which of its name that is), counted on a run that isn't killed."""
        project, listed = self.prepared("counted"), self.folder / "counted.deeds"

        def count(world: World) -> None:
            fuse = Fuse()
            COMMANDS[self.command](world, fused(world.outside(), fuse))
            listed.write_text("\n".join(fuse.deeds))

        self.must(count, project)
        self.must(_remove_all, project)
        seen: Counter[str] = Counter()
        found = []
        for deed in listed.read_text().split():
            seen[deed] += 1
            found.append((deed, seen[deed]))
        return [gap for gap in found if not self.is_local or gap[0] not in POLLS or gap[1] <= 2]

    def killed_in(self, gap: tuple[str, int], name: str) -> tuple[bool, list[str]]:
        """Whether the child died there, and what was wrong after fresh processes had finished the command and removed everything."""
        project = self.prepared(name)
        code, words = self.in_child(lambda world: COMMANDS[self.command](world, fused(world.outside(), NamedFuse(gap))), project)
        faults = [] if code in {KILLED, 0} else [f"the command itself failed: {words}"]
        steps: list[Callable[[World], None]] = [lambda world: COMMANDS[self.command](world, world.outside()), self.check_after]
        steps += [] if self.command == "delete" else [_remove_all]
        for act in (*steps, self.check_removed):
            code_after, words = self.in_child(act, project)
            faults += [words] if code_after else []
        if not faults:
            shutil.rmtree(project)
        return code == KILLED, faults

    # What must hold

    def check_after(self, world: World) -> None:
        _check_quiet(world)
        _check_one_machine_an_attempt(world)
        if self.command == "delete":
            return
        is_running = self.command == "create"
        assert world.status().phase is (Phase.RUNNING if is_running else Phase.STOPPED), world.status()
        assert len(world.events(AttemptQueued)) == 1
        assert self.live_machines(world) == (1 if is_running else 0)
        assert not world.plan().has_changes or not is_running
        if self.command == "stop":
            assert [one.number for one in world.home().revisions] == [1]
            assert len(world.events(HomeSaved)) == 1
            self.check_home(world)

    def check_home(self, world: World) -> None:
        if isinstance(world, LocalWorld):
            assert (world.home_folder() / SESSION_FILE).read_text() == "never lost"
        else:
            assert len(world.cloud.disk_content(world.home().disk_id)) == 1

    def live_machines(self, world: World) -> int:
        if isinstance(world, LocalWorld):
            return len(world.computer.list().value.machines)  # type: ignore[union-attr]
        return len(world.machines())

    def check_removed(self, world: World) -> None:
        _check_quiet(world)
        assert world.state.journal.snapshot().standings == {}
        assert self.live_machines(world) == 0
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


class NamedFuse(Fuse):
    """Dies before the n-th deed of one name."""

    def __init__(self, gap: tuple[str, int]) -> None:
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


def _run_a_session(world: World) -> None:
    create(world, world.outside())
    if isinstance(world, LocalWorld):
        (world.home_folder() / SESSION_FILE).write_text("never lost")
    else:
        world.pass_time(timedelta(minutes=10))
    world.close()


def _remove_all(world: World) -> None:
    delete(world, world.outside())


def _check_quiet(world: World) -> None:
    """Nothing open, nobody who lives holds anything, the books are right. A dead one's claim may stay until it is in somebody's way."""
    assert world.state.claims.plan_lock() is None
    assert [claim for claim in world.state.claims.claimed() if claim[3] is not Liveness.DEAD] == []
    assert world.state.journal.open_intents() == ()
    world.check_books()


def _check_one_machine_an_attempt(world: World) -> None:
    """No client token ever made two things, and no Attempt ever had two machines."""
    if isinstance(world, LocalWorld):
        return
    made = world.cloud.simulated_machines("", include_ended=True)
    assert max(Counter(machine.tags["nodus-attempt"] for machine in made).values(), default=0) <= 1, made
    assert world.count("create") <= 2


def main() -> None:
    provider, command, lane, lanes, folder = sys.argv[1], sys.argv[2], int(sys.argv[3]), int(sys.argv[4]), Path(sys.argv[5])
    mine = Lane(provider, command, folder)
    begun = time.monotonic()
    _warm_up(folder / "warm")
    gaps = mine.gaps()
    killed, faults = 0, []
    for number, gap in enumerate(gaps):
        if number % lanes != lane:
            continue
        did_die, wrong = mine.killed_in(gap, f"gap-{number}")
        killed += did_die
        faults += [f"killed before {gap[0]} number {gap[1]}: {one}" for one in wrong]
    share = len([number for number in range(len(gaps)) if number % lanes == lane])
    print(json.dumps({"gaps": len(gaps), "share": share, "killed": killed, "faults": faults, "seconds": time.monotonic() - begun}))


if __name__ == "__main__":
    main()
