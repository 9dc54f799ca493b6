"""A simulated world in a temporary folder, and short words for what tests of it do."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from nodus_providers.simulated.provider import SimulatedProvider
from nodusctl.base.clock import Wall
from nodusctl.provider.agent import AgentAnswer, AgentCommand, AgentRequest
from nodusctl.provider.machines import Disk, Machine
from nodusctl.provider.replies import Reply
from nodusctl.provider.requests import AttachRequest, DiskAttachment, DiskRequest, LaunchRequest, ReleaseRequest, SaveRequest
from nodusctl.provider.tokens import Ownership
from nodusctl.testing.clocks import FakeWall
from nodusctl.testing.provider_conformance import a_context, done

START = datetime(2026, 1, 5, 9, 0, tzinfo=UTC)


class Sim:
    """One provider on one world; ``at(seconds)`` moves it to START + seconds."""

    def __init__(self, folder: Path, wall: Wall, world: str = "") -> None:
        self.folder, self.wall = folder, wall
        context = a_context(folder, instance="sim", wall=wall)
        self.world_path = Path(context.project_dir, "world.yaml")
        if world:
            self.world_path.write_text(world)
        self.provider = SimulatedProvider.open(context, {})
        self.clock = self.provider.simulated_clock()
        self._numbers = itertools.count(1)

    def elapsed(self) -> float:
        return (self.clock.now() - START).total_seconds()

    def sleep(self, seconds: float) -> None:
        self.clock.sleep(seconds)

    def token(self) -> str:
        return f"nodus-{next(self._numbers):040x}"

    def tags(self, address: str) -> dict[str, str]:
        owner = Ownership(state_id="s", project="p", object_uid="u", address=address, attempt_uid="a", owner="o")
        return dict(owner.tags())

    def launch_request(self, address: str = "workspace/lab", **changes: Any) -> LaunchRequest:
        request = LaunchRequest(
            token=self.token(),
            name="nodus-lab-1",
            offer_id="cpu-4c-16g-us",
            instance_type="sim.c4",
            zone="us-1a",
            is_interruptible=False,
            image="nodus/workspace-cpu",
            boot="#!",
            edge_seconds=8 * 3600,
            tags=self.tags(address),
        )
        return replace(request, **changes)

    def launch(self, address: str = "workspace/lab", **changes: Any) -> Machine:
        return done(self.provider.launch(self.launch_request(address, **changes)))

    def running(self, address: str = "workspace/lab", **changes: Any) -> Machine:
        machine = self.launch(address, **changes)
        self.sleep(45)
        return self.seen(machine.id)

    def seen(self, machine_id: str) -> Machine:
        return done(self.provider.observe([machine_id]))[0]

    def release(self, machine_id: str) -> None:
        done(self.provider.release(ReleaseRequest(token=self.token(), machine_id=machine_id)))
        self.sleep(10)

    def disk(self, address: str = "volume/home", **changes: Any) -> Disk:
        request = DiskRequest(token=self.token(), name="nodus-home-1", zone="us-1a", size_bytes=2**30, tags=self.tags(address))
        return done(self.provider.create_disk(replace(request, **changes)))

    def attach(self, machine: Machine, disk: Disk) -> Reply[Disk]:
        attachment = DiskAttachment(disk_id=disk.id, mount_path="/home/nodus")
        return self.provider.attach(AttachRequest(token=self.token(), machine_id=machine.id, disk=attachment))

    def save_request(self, disk: Disk, number: int = 1) -> SaveRequest:
        return SaveRequest(token=self.token(), disk_id=disk.id, number=number)

    def ask(self, machine: Machine, command: AgentCommand = AgentCommand.READY, **fields: Any) -> Reply[AgentAnswer]:
        return self.provider.ask_agent(machine.id, AgentRequest(command=command, **fields))

    def fault(self, operation: str, effect: str, match: str = "", nth: int | None = None, times: int | None = None) -> None:
        self.provider.add_fault(operation, match, nth, times, effect)

    def count(self, operation: str, match: str = "") -> int:
        return len(self.provider.calls(operation, match))


@pytest.fixture
def make_sim(tmp_path: Path) -> Iterator[Callable[..., Sim]]:
    """Opens the world under ``tmp_path``; again with the same arguments, the same world."""
    made: list[Sim] = []

    def make(world: str = "", wall: Wall | None = None) -> Sim:
        made.append(Sim(tmp_path, wall or FakeWall(START), world))
        return made[-1]

    yield make
    for one in made:
        one.provider.close()


@pytest.fixture
def sim(make_sim: Callable[..., Sim]) -> Sim:
    """The default world, at START."""
    return make_sim()
