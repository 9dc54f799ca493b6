"""Kills a command in one gap after the other and lets fresh processes finish it. Run by the tests as a process of its own.

    python killing.py list PROVIDER TOOLS FOLDER          prints each command's gaps, counted on runs that aren't killed
    python killing.py live PROVIDER TOOLS FOLDER LIVES    lives the lives in the file LIVES; prints what became of them

It is single-threaded, imports everything once, and forks a child a gap; the child opens its own state and providers, as a command does.
What is printed is one JSON document. ``TOOLS`` is a list with commas, ``PROVIDER`` is ``simulated`` or ``local``.
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
from collections.abc import Callable
from datetime import timedelta
from functools import partial
from pathlib import Path
from typing import Any

from crash.checking import check, give_back
from crash.gaps import THE_END, Gap, Listing, NamedFuse
from crash.slowness import HELD_BACK, slowed
from support.exploding import Fuse, fused
from support.local_world import LocalWorld
from support.world import HOME_YAML, LAB, World, workspace_yaml

from nodusctl.executor import drive
from nodusctl.executor.outside import Outside

KILLED = -9
QUICK_WORLD = "times: {release: 2s, save: 2s}\n"
"""A cloud that makes one wait for a release and for a save, but not for long: waiting for them longer adds no other gap."""
HOME = HOME_YAML.replace("size: 1Gi", "size: 1Gi, deletionPolicy: Delete")
LOCK = timedelta(seconds=30)
TRIES = 3
"""A life whose child did not come by its gap is lived again: a gap counts only with a death in it."""


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
Life = list[tuple[str, Gap | None]]
"""The commands of one project in order, each with the gap in which it is killed first."""


class Lane:
    """One provider, one set of tools, one folder."""

    def __init__(self, provider: str, tools: str, folder: Path) -> None:
        self.kind: type[World] = World if provider == "simulated" else LocalWorld
        self.folder, self.tools, self.is_local = folder, tools.split(","), provider == "local"

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
        size = {"cpu": 1, "memory": "1Gi"} if self.is_local else {"cpu": 4, "memory": "16Gi"}
        self.kind(project, world="" if self.is_local else QUICK_WORLD).write(HOME, workspace_yaml(resources=size, tools=self.tools)).close()
        return project

    def gaps(self) -> dict[str, list[Gap]]:
        """Of each command, its gaps in order. A delete is one of a Workspace that runs."""
        found: dict[str, list[Gap]] = {}
        for commands in (("create", "delete"), ("create", "stop", "delete")):
            project = self.written("-".join(commands))
            for command in commands:
                listed = self.folder / f"{command}.gaps"
                code, words = self.in_child(partial(_list, command, listed), project)
                assert code == 0, words
                found.setdefault(command, [Gap(*gap) for gap in json.loads(listed.read_text())])
        return found

    def lived(self, name: str, life: Life) -> tuple[list[str], list[str]]:
        """Gaps in which no child died, and what was wrong after fresh processes had finished the commands."""
        missed: list[str] = []
        for number in range(TRIES):
            project = self.written(f"{name}-{number}")
            missed, faults = self._life_of(project, life)
            if faults:
                self.in_child(give_back, project)
                return missed, faults
            shutil.rmtree(project)
            if not missed:
                break
        return missed, []

    def _life_of(self, project: Path, life: Life) -> tuple[list[str], list[str]]:
        missed: list[str] = []
        for command, gap in life:
            proof = project.parent / f"{project.name}.{command}.died"
            if gap is not None:
                code, words = self.in_child(partial(_die, command, gap, proof), project)
                if code not in {KILLED, 0}:
                    return missed, [f"{command} before {gap}: the command itself failed: {words}"]
                if code != KILLED or not proof.exists() or proof.read_text() != str(gap):
                    missed.append(f"{command} before {gap}")
            for act in (partial(_finish, command), partial(check, command)):
                code, words = self.in_child(act, project)
                if code:
                    return missed, [f"{command} killed before {gap}: {words}"]
        return missed, []


def _warm_up(project: Path) -> None:
    """Import all that a command imports late, so that no child has to; then the process is single-threaded again."""
    assert drive._PASS_SECONDS < 1
    # What one commit holds is then a matter of what was decided, and not of how long it took.
    drive._PASS_SECONDS = float("inf")
    world = World(project, world=QUICK_WORLD).write(HOME, workspace_yaml())
    for command in COMMANDS.values():
        command(world, world.outside())
    world.close()
    gc.collect()
    gc.freeze()
    assert threading.active_count() == 1


def _die(command: str, gap: Gap, proof: Path, world: World) -> None:
    _run(command, world, NamedFuse(gap, proof))


def _list(command: str, into: Path, world: World) -> None:
    listing = Listing(HELD_BACK + 1 if isinstance(world, LocalWorld) else float("inf"))
    _run(command, world, listing)
    into.write_text(json.dumps(listing.gaps))


def _run(command: str, world: World, fuse: Fuse) -> None:
    """The command behind a fuse, on a slow outside."""
    COMMANDS[command](world, fused(slowed(world.outside()), fuse))
    fuse.burn(THE_END)


def _finish(command: str, world: World) -> None:
    COMMANDS[command](world, world.outside())


def _live(lane: Lane, lives: list[list[tuple[str, list[Any] | None]]]) -> dict[str, object]:
    missed, faults = [], []
    for number, life in enumerate(lives):
        unreached, wrong = lane.lived(f"life-{number}", [(command, Gap(*gap) if gap else None) for command, gap in life])
        missed += unreached
        faults += wrong
    return {"missed": missed, "faults": faults}


def main() -> None:
    mode, provider, tools, folder = sys.argv[1], sys.argv[2], sys.argv[3], Path(sys.argv[4])
    begun = time.monotonic()
    _warm_up(folder / "warm")
    lane = Lane(provider, tools, folder)
    found = lane.gaps() if mode == "list" else _live(lane, json.loads(Path(sys.argv[5]).read_text()))
    print(json.dumps({**found, "seconds": time.monotonic() - begun}))


if __name__ == "__main__":
    main()
