"""The simulated provider passes the shipped conformance suite, in its default world and in worlds with other manners."""

from __future__ import annotations

from pathlib import Path

from nodus_providers.simulated.provider import SimulatedProvider
from nodusctl.provider.contract import Provider
from nodusctl.provider.machines import Disk, Machine
from nodusctl.testing.provider_conformance import ProviderConformance, a_context


class OnSimulated(ProviderConformance):
    """Time passes by jumps, and a save is broken by a scripted fault."""

    world = ""

    def make_provider(self, tmp_path: Path) -> Provider:
        context = a_context(tmp_path, instance="sim")
        if self.world:
            Path(context.project_dir, "world.yaml").write_text(self.world)
        return SimulatedProvider.open(context, {})

    def let_time_pass(self, provider: Provider) -> None:
        assert isinstance(provider, SimulatedProvider)
        provider.simulated_clock().sleep(5)

    def use(self, provider: Provider, machine: Machine) -> None:
        assert isinstance(provider, SimulatedProvider)
        provider.record_activity(machine.id, "process", "python train.py")

    def break_next_save(self, provider: Provider, disk: Disk) -> None:
        assert isinstance(provider, SimulatedProvider)
        provider.add_fault("save", "", None, 1, "partial 40")


class TestDefaultWorld(OnSimulated):
    """As ``sim init`` writes it."""


class TestWorldWithoutIdempotency(OnSimulated):
    """A repeated launch makes a second machine there, and says so beforehand."""

    world = "manners: {createIsIdempotent: false}\n"


class TestWorldThatAttachesAtLaunch(OnSimulated):
    """Disks go with the launch."""

    world = "manners: {attachesAtLaunch: true}\n"


class TestWorldWhereDisksEndWithTheirMachine(OnSimulated):
    """Only revisions outlive a machine."""

    world = "manners: {diskOutlivesMachine: false}\n"


class TestWorldWhereTheEdgeEndsTheMachine(OnSimulated):
    """A shutdown from inside is the end of it."""

    world = "billing: {selfStop: ends-machine}\n"


class TestWorldThatKeepsBilling(OnSimulated):
    """A shutdown from inside doesn't end the bill."""

    world = "billing: {selfStop: keeps-billing, endsAt: terminated}\n"
