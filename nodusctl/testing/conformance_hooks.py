"""What a plugin's author fills in to run the conformance suite, and how the suite waits.

The suite never sleeps a fixed time: it asks again until it has seen what it needs, letting time pass in between the way the
platform's time passes. A simulated world jumps, a real platform is polled, and both run the same tests.
"""

from __future__ import annotations

import itertools
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from types import MappingProxyType
from typing import Any, TypeVar

import pytest

from nodusctl.base.clock import Clock, SystemClock, SystemWall, Wall
from nodusctl.provider.agent import AgentAnswer, AgentRequest
from nodusctl.provider.contract import CanAnswerAgent, CanHoldVolumes, Provider, ProviderContext
from nodusctl.provider.machines import Disk, Machine, MachineState, Release, ReleaseState
from nodusctl.provider.offers import Availability, Offer, OfferQuery
from nodusctl.provider.replies import Done, Reply
from nodusctl.provider.requests import DeleteDiskRequest, DetachRequest, DiskRequest, LaunchRequest, ReleaseRequest
from nodusctl.provider.tokens import Ownership, client_token
from nodusctl.testing.runs import PROJECT, Run, is_left_over

T = TypeVar("T")

GIB = 2**30


def a_context(
    tmp_path: Path,
    *,
    instance: str = "under-test",
    clock: Clock | None = None,
    wall: Wall | None = None,
    environment: Mapping[str, str] | None = None,
) -> ProviderContext:
    """A context whose project, state and user folders lie under ``tmp_path``; they exist."""
    folders = {name: tmp_path / name for name in ("project", "project/.nodus", "user")}
    for folder in folders.values():
        folder.mkdir(parents=True, exist_ok=True)
    return ProviderContext(
        instance=instance,
        project_dir=str(folders["project"]),
        state_dir=str(folders["project/.nodus"]),
        data_dir=str(folders["user"]),
        clock=clock or SystemClock(),
        wall=wall or SystemWall(),
        environment=environment or {},
    )


def done(reply: Reply[T]) -> T:
    """The value of a Done; any other answer fails the test with its words."""
    assert isinstance(reply, Done), f"expected Done, got {reply!r}"
    return reply.value


class ConformanceHooks:
    """Subclass through ``ProviderConformance`` and override what your platform needs; only ``make_provider`` is mandatory."""

    wall_limit_seconds: float = 30.0
    """How long one wait may take on this computer's clock."""

    edge_seconds: int = 3600
    """The armed edge of ordinary test machines."""

    short_edge_seconds: int = 90
    """An edge that the suite is willing to wait for; longer than the platform's boot."""

    short_idle_seconds: int = 60
    """An idle timeout that the suite is willing to wait for."""

    boot_slack_seconds: int = 120
    """How much of an edge may have run down between arming and the first answer; at least the platform's boot."""

    disk_size_bytes: int = GIB
    """The size of test Volumes."""

    unknown_zone: str = "no-such-zone"
    """A zone that the platform doesn't have."""

    files_to_push: Mapping[str, str] = MappingProxyType({"/run/secrets/conformance/key": "not a secret"})
    """What the test of pushes pushes: path to content; at least one lies under /run/secrets."""

    parallel_launches: int = 10
    """How many machines the platform takes at once in the test of parallel launches."""

    def make_provider(self, tmp_path: Path) -> Provider:
        """An instance on an empty platform; called again with the same ``tmp_path``, a second instance on the same platform.

        See ``a_context``.
        """
        raise NotImplementedError("override make_provider")

    def an_offer(self, provider: Provider) -> Offer:
        """An offer that can be launched now and is not interruptible: the first one, unless overridden."""
        offers = done(provider.offers(OfferQuery()))
        able = [offer for offer in offers if offer.availability is not Availability.SOLD_OUT and not offer.is_interruptible]
        assert able, "the provider offers nothing that could be launched"
        return able[0]

    def make_boot(self, provider: Provider, name: str, edge_seconds: int, tmp_path: Path) -> str:
        """The first-boot document in the provider's ``boot_form``; deterministic for equal arguments within one test."""
        return ""

    def image(self, provider: Provider) -> str:
        """An image that the platform can start."""
        return "nodus/workspace-cpu"

    def let_time_pass(self, provider: Provider) -> None:
        """Let a little of the platform's time pass; override with a jump where the platform's clock can jump."""
        time.sleep(0.05)

    def ask(self, provider: Provider, machine: Machine, request: AgentRequest) -> Reply[AgentAnswer]:
        """Ask the agent on a machine. Default: ``CanAnswerAgent``; override to go through SSH, or the agent's rules are skipped."""
        if not isinstance(provider, CanAnswerAgent):
            pytest.skip("this platform doesn't answer for the agent, and ask() is not overridden")
        return provider.ask_agent(machine.id, request)

    def write_home(self, provider: Provider, machine: Machine, disk: Disk) -> None:
        """Leave a trace on an attached disk; a platform whose machines do it by themselves needs nothing."""

    def use(self, provider: Provider, machine: Machine) -> None:
        """Have somebody use the machine now; without an override the rules of use are skipped."""
        pytest.skip("no way to use a machine here; override use()")

    def break_next_save(self, provider: Provider, disk: Disk) -> None:
        """Have the platform fail halfway through the next save; without an override that rule is skipped."""
        pytest.skip("no way to break a save here; override break_next_save()")

    def clear_leftovers(self, provider: Provider) -> None:
        """Release what runs of this suite that were killed have left on the platform, and nothing else."""
        now = SystemWall().now()
        self._clear(provider, lambda thing: is_left_over(thing.tags, thing.created_at, now))

    # what the tests use; not meant to be overridden

    @pytest.fixture
    def provider(self, tmp_path: Path) -> Iterator[Provider]:
        """The instance under test; what it still holds afterwards is released."""
        provider = self.make_provider(tmp_path)
        self._tmp_path = tmp_path
        self._numbers = itertools.count(1)
        self._run = Run.new()
        self.clear_leftovers(provider)
        yield provider
        self._clear(provider, lambda thing: self._run.made(thing.tags))

    @pytest.fixture
    def volumes(self, provider: Provider) -> CanHoldVolumes:
        """The same instance, where it holds Volumes."""
        if not isinstance(provider, CanHoldVolumes):
            pytest.skip("this provider holds no Volumes (CanHoldVolumes)")
        return provider

    def eventually(self, provider: Provider, look: Callable[[], T | None], what: str) -> T:
        """Ask ``look`` until it answers something, at most ``wall_limit_seconds``."""
        deadline = time.monotonic() + self.wall_limit_seconds
        while True:
            seen = look()
            if seen is not None:
                return seen
            assert time.monotonic() < deadline, f"not within {self.wall_limit_seconds:g} s: {what}"
            self.let_time_pass(provider)

    def new_token(self, part: str = "call") -> str:
        """A client token nobody has used before."""
        return client_token(self._run.state_id, "object", "attempt", next(self._numbers), part)

    def ownership(self, name: str = "lab", kind: str = "workspace") -> Ownership:
        """Whose a test thing is; no other run has one of the same name or uid."""
        return Ownership(
            state_id=self._run.state_id,
            project=PROJECT,
            object_uid=self._run.uid(f"{kind}-{name}"),
            address=f"{kind}/{name}",
            attempt_uid=self._run.uid(name),
            owner="suite",
        )

    def a_launch(self, provider: Provider, name: str = "lab", **changes: Any) -> LaunchRequest:
        """A request for one machine with a token of its own."""
        offer = self.an_offer(provider)
        edge_seconds = changes.get("edge_seconds", self.edge_seconds)
        ownership = self.ownership(name)
        request = LaunchRequest(
            token=self.new_token("create"),
            name=ownership.machine_name,
            offer_id=offer.id,
            instance_type=offer.instance_type,
            zone=offer.zone,
            is_interruptible=False,
            image=self.image(provider),
            boot=self.make_boot(provider, name, edge_seconds, self._tmp_path),
            edge_seconds=edge_seconds,
            tags=ownership.tags(),
        )
        return replace(request, **changes)

    def launched(self, provider: Provider, name: str = "lab", **changes: Any) -> Machine:
        """A machine that the provider accepted."""
        return done(provider.launch(self.a_launch(provider, name, **changes)))

    def running(self, provider: Provider, name: str = "lab", **changes: Any) -> Machine:
        """A machine that the provider reports as running."""
        return self.in_state(provider, self.launched(provider, name, **changes).id, MachineState.RUNNING)

    def in_state(self, provider: Provider, machine_id: str, *states: MachineState) -> Machine:
        """The machine once it is in one of ``states``."""

        def look() -> Machine | None:
            machine = self.seen(provider, machine_id)
            return machine if machine.state in states else None

        return self.eventually(provider, look, f"{machine_id} is {' or '.join(states)}")

    def seen(self, provider: Provider, machine_id: str) -> Machine:
        """The machine as observed now."""
        return done(provider.observe([machine_id]))[0]

    def released(self, provider: Provider, machine_id: str) -> Release:
        """Release a machine and ask until it is confirmed gone."""
        request = ReleaseRequest(token=self.new_token("delete"), machine_id=machine_id)

        def look() -> Release | None:
            release = done(provider.release(request))
            return release if release.state is ReleaseState.GONE else None

        return self.eventually(provider, look, f"{machine_id} is released")

    def a_disk_request(self, provider: Provider, name: str = "home", **changes: Any) -> DiskRequest:
        """A request for one disk where machines of ``an_offer`` run."""
        ownership = self.ownership(name, "volume")
        request = DiskRequest(
            token=self.new_token("volume-create"),
            name=ownership.machine_name,
            zone=self.an_offer(provider).zone,
            size_bytes=self.disk_size_bytes,
            tags=ownership.tags(),
        )
        return replace(request, **changes)

    def _clear(self, provider: Provider, goes: Callable[[Machine | Disk], bool]) -> None:
        holdings = done(provider.list())
        for machine in holdings.machines:
            if goes(machine):
                self.released(provider, machine.id)
        for disk in holdings.disks:
            if goes(disk):
                self._delete(provider, disk)

    def _delete(self, provider: Provider, disk: Disk) -> None:
        if not isinstance(provider, CanHoldVolumes):
            return
        if disk.attached_to:
            provider.detach(DetachRequest(token=self.new_token("detach"), machine_id=disk.attached_to, disk_id=disk.id))
        provider.delete_disk(DeleteDiskRequest(token=self.new_token("volume-delete"), disk_id=disk.id))
