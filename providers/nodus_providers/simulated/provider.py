"""The simulated provider: a whole cloud in one SQLite file, with a clock of its own.

It keeps every rule of the contract and passes the conformance suite; a project that uses only this provider lives on the world's time.
The surprise: nothing here runs in the background. The world moves when somebody waits for it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, ClassVar, TypeVar

from nodus_providers.simulated import agents, disks, lookups, machines, offers, revisions
from nodus_providers.simulated.controls import WorldControls
from nodus_providers.simulated.database import Transaction, WorldDatabase
from nodus_providers.simulated.desk import Desk
from nodus_providers.simulated.gate import Effects, foreseen
from nodus_providers.simulated.instants import SECOND, to_micro
from nodus_providers.simulated.settings import SimulatedSettings, read_settings
from nodus_providers.simulated.world import World
from nodusctl import __version__
from nodusctl.base.diagnostics import Diagnostic, note
from nodusctl.provider.agent import AgentAnswer, AgentRequest
from nodusctl.provider.contract import Description, ProviderContext
from nodusctl.provider.machines import Disk, Holdings, Machine, Release, Revision
from nodusctl.provider.offers import Offer, OfferQuery
from nodusctl.provider.replies import Done, Reply
from nodusctl.provider.requests import (
    AttachRequest,
    DeleteDiskRequest,
    DeleteRevisionRequest,
    DetachRequest,
    DiskRequest,
    GrowRequest,
    LaunchRequest,
    ReleaseRequest,
    RestoreRequest,
    SaveRequest,
)

Q = TypeVar("Q")
V = TypeVar("V")


class SimulatedProvider(WorldControls):
    """Implements Provider, CanHoldVolumes, CanPruneRevisions, CanAnswerAgent, CanSimulate and CanCheck."""

    type_name: ClassVar[str] = "simulated"
    extra: ClassVar[str] = ""

    def __init__(self, context: ProviderContext, settings: SimulatedSettings) -> None:
        path = Path(context.state_dir) / "sim" / f"{context.instance}.db"
        database = WorldDatabase(path, lambda: to_micro(context.wall.now()) // SECOND * SECOND)
        super().__init__(database, Path(context.project_dir) / settings.world, settings.world)
        self._instance = context.instance
        self._desk = Desk(database, context.wall, self._hanging)

    @classmethod
    def settings_schema(cls) -> dict[str, Any]:
        return SimulatedSettings.model_json_schema()

    @classmethod
    def open(cls, context: ProviderContext, settings: Mapping[str, Any]) -> SimulatedProvider:
        return cls(context, read_settings(context.instance, settings))

    def describe(self) -> Description:
        world = self._world
        return Description(
            type=self.type_name,
            version=__version__,
            account=world.account,
            create_is_idempotent=world.manners.create_is_idempotent,
            list_lag_bound=world.list_lag_bound,
            self_stop=world.billing.self_stop,
            billing_ends_at=world.billing.ends_at,
            stop_bound=world.times.stop_bound,
            boot_form=world.manners.boot_form,
            boot_limit_bytes=world.manners.boot_limit,
            attaches_at_launch=world.manners.attaches_at_launch,
            disk_outlives_machine=world.manners.disk_outlives_machine,
            egress_policies=frozenset(world.manners.egress_policies),
            tools=frozenset(world.manners.tools),
            takes_own_images=world.manners.takes_own_images,
            size_granularity_bytes=world.manners.size_granularity,
        )

    def offers(self, query: OfferQuery) -> Reply[tuple[Offer, ...]]:
        def act(tx: Transaction, effects: Effects) -> Reply[tuple[Offer, ...]]:
            return Done(offers.offers(tx, self._world, self._instance, query, effects))

        return self._desk.take("price", lambda _: ("", *offers.names_to_match(self._world)), "", act, is_about_all=True)

    def posted(self) -> tuple[Offer, ...]:
        """The world's price list, scripted prices included. Reading it is no call: nothing is recorded, and no fault is used up."""
        with self._database.transaction() as tx:
            effects = foreseen(tx, "price", ("", *offers.names_to_match(self._world)))
            return offers.offers(tx, self._world, self._instance, OfferQuery(), effects)

    def launch(self, request: LaunchRequest) -> Reply[Machine]:
        address = machines.address_in(request.tags)
        act = self._world_act(machines.launch, request)
        return self._desk.take("create", lambda _: (address,), request.token, act, said=request.boot)

    def find(self, token: str) -> Reply[Machine | Disk | Revision | None]:
        def act(tx: Transaction, effects: Effects) -> Reply[lookups.Found]:
            return Done(lookups.find(tx, self._world, token, effects))

        return self._desk.take("find", lambda tx: lookups.addresses_of_token(tx, token) or ("",), token, act)

    def observe(self, machine_ids: Sequence[str]) -> Reply[tuple[Machine, ...]]:
        return self._look_at(machine_ids, machines.observe)

    def release(self, request: ReleaseRequest) -> Reply[Release]:
        act = self._world_act(machines.release, request)
        return self._desk.take("delete", _owners(request.machine_id), request.token, act)

    def list(self) -> Reply[Holdings]:
        def act(tx: Transaction, effects: Effects) -> Reply[Holdings]:
            return Done(lookups.holdings(tx, self._world, effects))

        return self._desk.take("list", lambda tx: ("", *lookups.all_addresses(tx)), "", act, is_about_all=True)

    def create_disk(self, request: DiskRequest) -> Reply[Disk]:
        address = machines.address_in(request.tags)
        return self._desk.take("volume-create", lambda _: (address,), request.token, self._world_act(disks.create, request))

    def attach(self, request: AttachRequest) -> Reply[Disk]:
        whose = _owners(request.disk.disk_id, request.machine_id)
        return self._desk.take("attach", whose, request.token, self._world_act(disks.attach, request))

    def detach(self, request: DetachRequest) -> Reply[Disk]:
        whose = _owners(request.disk_id, request.machine_id)
        return self._desk.take("detach", whose, request.token, self._world_act(disks.detach, request))

    def save(self, request: SaveRequest) -> Reply[Revision]:
        return self._desk.take("save", _owners(request.disk_id), request.token, self._world_act(revisions.save, request))

    def restore(self, request: RestoreRequest) -> Reply[Disk]:
        return self._desk.take("restore", _owners(request.disk_id), request.token, self._world_act(revisions.restore, request))

    def grow(self, request: GrowRequest) -> Reply[Disk]:
        return self._desk.take("grow", _owners(request.disk_id), request.token, self._world_act(disks.grow, request))

    def delete_disk(self, request: DeleteDiskRequest) -> Reply[Disk]:
        return self._desk.take("volume-delete", _owners(request.disk_id), request.token, self._world_act(disks.delete, request))

    def delete_revision(self, request: DeleteRevisionRequest) -> Reply[Disk]:
        return self._desk.take("revision-delete", _owners(request.disk_id), request.token, self._world_act(revisions.delete, request))

    def observe_disks(self, disk_ids: Sequence[str]) -> Reply[tuple[Disk, ...]]:
        return self._look_at(disk_ids, disks.observe)

    def ask_agent(self, machine_id: str, request: AgentRequest) -> Reply[AgentAnswer]:
        def act(tx: Transaction, effects: Effects) -> Reply[AgentAnswer]:
            return agents.ask(tx, self._world, machine_id, request)

        return self._desk.take("agent", _owners(machine_id), "", act, said=" ".join(request.files.values()))

    def check(self) -> tuple[Diagnostic, ...]:
        """Notes only: a world is never ill, but it may be the default one or have faults scripted."""
        findings = []
        if not self._world_path.exists():
            detail = f"There is no {self._shown_path}, so this is the default world."
            findings.append(
                note("DefaultWorld", "The simulated world has no file", detail, "Write it down to change it:\n  nodusctl sim init")
            )
        if self._database.exists and (count := len(self.faults())):
            detail = f"{count} scripted fault(s) may still act."
            findings.append(note("FaultsScripted", "Faults are scripted", detail, "Forget them:\n  nodusctl sim fault clear"))
        return tuple(findings)

    def close(self) -> None:
        """Give the world's file back; the next call opens it again."""
        self._database.close()

    def _world_act(
        self, act: Callable[[Transaction, World, Q, Effects], Reply[V]], request: Q
    ) -> Callable[[Transaction, Effects], Reply[V]]:
        return lambda tx, effects: act(tx, self._world, request, effects)

    def _look_at(self, ids: Sequence[str], look: Callable[[Transaction, World, str, Effects], V]) -> Reply[tuple[V, ...]]:
        """One recorded call an id, so that faults and counts can name an object; the first refusal speaks for all."""
        at_once = self._desk.take_plain("get", [(_owners(thing_id), self._seen(thing_id, look)) for thing_id in ids])
        if at_once is not None:
            return Done(at_once)
        seen: tuple[V, ...] = ()
        for thing_id in ids:
            reply = self._desk.take("get", _owners(thing_id), "", self._seen_act(thing_id, look))
            if not isinstance(reply, Done):
                return reply
            seen = (*seen, reply.value)
        return Done(seen)

    def _seen_act(self, thing_id: str, look: Callable[[Transaction, World, str, Effects], V]) -> Callable[[Transaction, Effects], Reply[V]]:
        seen = self._seen(thing_id, look)
        return lambda tx, effects: Done(seen(tx, effects))

    def _seen(self, thing_id: str, look: Callable[[Transaction, World, str, Effects], V]) -> Callable[[Transaction, Effects], V]:
        return lambda tx, effects: look(tx, self._world, thing_id, effects)


def _owners(*ids: str) -> Callable[[Transaction], tuple[str, ...]]:
    return lambda tx: lookups.addresses_of_ids(tx, *ids) or ("",)
