"""A home's revisions: what there is, a plan that brings one back or drops the oldest, and reading them again to see that they are whole."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from nodusctl.base.clock import Clock
from nodusctl.base.diagnostics import error
from nodusctl.base.exits import UserError
from nodusctl.base.ids import Address, IdSource
from nodusctl.engine.naming import refuse_other_project, unknown_home
from nodusctl.engine.snapshot_outlook import Sources
from nodusctl.engine.worlds import gather
from nodusctl.lifecycle.homes import kept_at_most
from nodusctl.plan.plan import AllowFlags, Plan
from nodusctl.planner.build import build_plan
from nodusctl.planner.world import HomeChange, Reach
from nodusctl.ports.journal import Journal
from nodusctl.ports.prices import PriceSource
from nodusctl.ports.providers import ProviderSet
from nodusctl.ports.secrets import SecretSource
from nodusctl.provider.machines import Revision
from nodusctl.provider.replies import Reply
from nodusctl.resources.project import ProjectFile
from nodusctl.state.snapshot import Snapshot, Standing
from nodusctl.state.status import SavedRevision, VolumeStanding


@dataclass(frozen=True, slots=True, kw_only=True)
class HomeFacts:
    """One home. ``attempts`` names the Attempt behind each revision by uid; ``limit`` is how many revisions are kept."""

    volume: Address
    disk: VolumeStanding
    attempts: dict[str, str]
    limit: int


@dataclass(frozen=True, slots=True, kw_only=True)
class _Circumstances:
    """A change of revisions asks its provider whether it is there, and is reviewed against no commit."""

    is_offline: bool = False


def home_facts(address: Address, *, journal: Journal) -> HomeFacts:
    """The home of a Workspace, or a Volume by its own address; UserError where there is none."""
    standing = home_of(address, journal.snapshot())
    return HomeFacts(
        volume=standing.record.address,
        disk=standing.status.volume or VolumeStanding(),
        attempts={attempt.uid: attempt.name for attempt in journal.attempts()},
        limit=kept_at_most(standing.record, standing.status),
    )


def plan_home_change(
    address: Address,
    *,
    project: ProjectFile,
    restores: int = 0,
    keeps: int = 0,
    journal: Journal,
    providers: ProviderSet,
    prices: PriceSource,
    secrets: SecretSource,
    clock: Clock,
    ids: IdSource,
    who: str,
) -> Plan:
    """The plan that restores revision ``restores``, or that keeps only the newest ``keeps`` (0: as many as the Volume's limit).

    UserError for a Workspace without a home, and for a platform that can't drop single revisions.
    """
    snapshot = journal.snapshot()
    refuse_other_project(journal, project)
    standing = home_of(address, snapshot)
    disk = standing.status.volume or VolumeStanding()
    if not restores and disk.provider and providers.get(disk.provider).pruning is None:
        detail = f"Provider {disk.provider} keeps {standing.record.address} and can't drop single revisions."
        raise UserError(error("Unsupported", "Revisions can't be pruned here.", detail, address=str(standing.record.address)))
    keeps = 0 if restores else keeps or kept_at_most(standing.record, standing.status)
    world = gather(
        Sources(journal=journal, providers=providers, prices=prices, secrets=secrets, clock=clock, ids=ids),
        project,
        snapshot,
        specs=None,
        reach=Reach(written=frozenset(snapshot.standings)),
        allow=AllowFlags(max_deletes=project.policy.max_deletes),
        who=who,
        request=_Circumstances(),
        home_change=HomeChange(volume=standing.record.address, restores=restores, keeps=keeps),
    )
    return build_plan(world, lambda kind, applied: applied)


def verified(facts: HomeFacts, *, providers: ProviderSet) -> Iterator[tuple[SavedRevision, Reply[Revision]]]:
    """Each revision with what its platform finds on reading it again; UserError where the platform can't."""
    checks = providers.get(facts.disk.provider).verification if facts.disk.provider else None
    if checks is None and facts.disk.revisions:
        detail = f"Provider {facts.disk.provider} keeps {facts.volume} and has no way to read a revision again."
        raise UserError(error("Unsupported", "Revisions can't be verified here.", detail, address=str(facts.volume)))
    for one in facts.disk.revisions:
        if checks is not None:
            yield one, checks.verify_revision(facts.disk.disk_id, one.id)


def home_of(address: Address, snapshot: Snapshot) -> Standing:
    """The Volume itself, or the one a Workspace has as its home; UserError where there is none."""
    standing = snapshot.get(address)
    if standing is None:
        raise UserError(unknown_home(address, [one.record.address for one in snapshot]))
    if address.kind == "volume":
        return standing
    name = standing.record.spec.get("volume")
    home = snapshot.get(Address("volume", name)) if isinstance(name, str) else None
    if home is None:
        detail = f"{address} is ephemeral: its files end with its session." if address.kind == "workspace" else f"{address} has no home."
        raise UserError(error("Invalid", "There is no home whose revisions could be looked at.", detail, address=str(address)))
    return home
