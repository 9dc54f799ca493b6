"""``destroy`` and ``delete``: a plan of removals by name, made from the state alone. The files are not looked at."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from nodusctl.base.clock import Clock
from nodusctl.base.exits import UserError
from nodusctl.base.ids import Address, IdSource
from nodusctl.engine.naming import refuse_other_project, unknown_object
from nodusctl.engine.snapshot_outlook import Sources
from nodusctl.engine.worlds import gather
from nodusctl.plan.plan import AllowFlags, Plan
from nodusctl.planner.build import build_plan
from nodusctl.planner.world import Reach, Removal
from nodusctl.ports.journal import Journal
from nodusctl.ports.prices import PriceSource
from nodusctl.ports.providers import ProviderSet
from nodusctl.ports.secrets import SecretSource
from nodusctl.resources.project import ProjectFile


@dataclass(frozen=True, slots=True, kw_only=True)
class _Circumstances:
    """A removal asks its providers whether they are there, and is reviewed against no commit."""

    is_offline: bool = False


def plan_removal(
    *,
    project: ProjectFile,
    addresses: Sequence[Address],
    discards_home: bool = False,
    journal: Journal,
    providers: ProviderSet,
    prices: PriceSource,
    secrets: SecretSource,
    clock: Clock,
    ids: IdSource,
    who: str,
) -> Plan:
    """The plan that removes ``addresses``, or everything where none is named. UserError for a name nobody knows.

    A Volume goes with its data only when it is named; ``destroy`` without names keeps those whose deletionPolicy is Retain.
    """
    snapshot = journal.snapshot()
    refuse_other_project(journal, project)
    missing = [unknown_object(address, sorted(snapshot.standings)) for address in addresses if snapshot.get(address) is None]
    if missing:
        raise UserError(*missing)
    world = gather(
        Sources(journal=journal, providers=providers, prices=prices, secrets=secrets, clock=clock, ids=ids),
        project,
        snapshot,
        specs=None,
        reach=Reach(written=frozenset(snapshot.standings)),
        allow=AllowFlags(max_deletes=project.policy.max_deletes),
        who=who,
        request=_Circumstances(),
        removal=Removal(addresses=tuple(addresses), discards_home=discards_home),
    )
    return build_plan(world, lambda kind, applied: applied)
