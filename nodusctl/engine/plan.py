"""``plan``: read the specs, gather one World, hand it to the planner. Reads everything, writes nothing."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from datetime import datetime
from pathlib import Path

from nodusctl.base.clock import Clock
from nodusctl.base.ids import Address, IdSource
from nodusctl.engine.former_defaults import former_defaults
from nodusctl.engine.naming import refuse_other_project
from nodusctl.engine.snapshot_outlook import Outlook, Sources
from nodusctl.engine.specs import Specs, readable_specs
from nodusctl.engine.worlds import Asked, unasked_world, with_markets, world_of
from nodusctl.plan.plan import AllowFlags, Plan
from nodusctl.planner.as_reviewed import as_reviewed
from nodusctl.planner.base_moved import BaseFacts
from nodusctl.planner.build import build_plan
from nodusctl.planner.world import Reach, World
from nodusctl.ports.journal import Journal
from nodusctl.ports.passes import Passes
from nodusctl.ports.prices import PriceSource
from nodusctl.ports.providers import ProviderSet
from nodusctl.ports.secrets import SecretSource
from nodusctl.resources.project import ProjectFile
from nodusctl.state.snapshot import Snapshot

BaseOf = Callable[[Specs], BaseFacts]
"""What the base branch has done that these specs lack. UserError where nobody can say."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PlanRequest:
    """What a person asked of ``plan``.

    ``allow_deletes`` None takes ``policy.maxDeletes``. ``is_ci``: a removal by absence needs a word, ``allow_deletes`` or a base to compare
    with.
    """

    paths: tuple[Path, ...] = ()
    targets: tuple[Address, ...] = ()
    restarts: tuple[Address, ...] = ()
    is_offline: bool = False
    allow_deletes: int | None = None
    prunes: bool = False
    skips_blocked: bool = False
    accepts_no_edge: bool = False
    accepts_base_moved: bool = False
    is_ci: bool = False


def make_plan(
    *,
    root: Path,
    project: ProjectFile,
    request: PlanRequest,
    journal: Journal,
    providers: ProviderSet,
    prices: PriceSource,
    secrets: SecretSource,
    clock: Clock,
    ids: IdSource,
    who: str,
    passes: Passes | None = None,
    base_of: BaseOf | None = None,
) -> Plan:
    """The plan for the files in ``root`` against the state behind ``journal``. ``base_of`` tells what a base branch has done meanwhile.

    UserError with every fault of the files, for a project without objects, for a state of another project, and for targets nobody
    knows. What can't be had from outside is a blocking reason of the plan, never an exception.
    """
    sources = Sources(journal=journal, providers=providers, prices=prices, secrets=secrets, clock=clock, ids=ids, passes=passes)
    return begin_plan(sources, root=root, project=project, request=request, who=who, base_of=base_of).finished()


@dataclass(frozen=True, slots=True, kw_only=True)
class BegunPlan:
    """A plan in the making: files, state and base branch are read, and no provider is asked yet."""

    world: World
    sources: Sources
    asked: Asked

    def as_reviewed(self, reviewed: Plan) -> Plan:
        """What it comes to so far, compared with a reviewed plan (``planner.as_reviewed``). No provider is asked."""
        return as_reviewed(self.world, reviewed, former_defaults)

    def finished(self) -> Plan:
        """The plan, with what every provider answers."""
        return build_plan(with_markets(self.world, self.sources, self.asked), former_defaults)


def begin_plan(
    sources: Sources, *, root: Path, project: ProjectFile, request: PlanRequest, who: str, base_of: BaseOf | None = None
) -> BegunPlan:
    """``make_plan`` up to where providers are asked; its UserErrors all come from here."""
    snapshot = sources.journal.snapshot()
    refuse_other_project(sources.journal, project)
    specs = _specs(root, project, request, snapshot, sources.clock.now())
    asked = _asked(specs, project, request, who)
    world = _against(unasked_world(sources, snapshot, asked), specs, request, base_of)
    return BegunPlan(world=world, sources=sources, asked=asked)


def make_plan_from(
    outlook: Outlook,
    *,
    root: Path,
    project: ProjectFile,
    request: PlanRequest,
    prices: PriceSource,
    ids: IdSource,
    who: str,
    base_of: BaseOf | None = None,
) -> Plan:
    """The same plan from a snapshot of the state: no state, no provider and no source of a secret is asked. UserError as above."""
    specs = _specs(root, project, request, outlook.snapshot, outlook.taken_at)
    world = world_of(outlook, _asked(specs, project, request, who), prices.book(), ids.new_uid())
    return build_plan(_against(world, specs, request, base_of), former_defaults)


def _against(world: World, specs: Specs, request: PlanRequest, base_of: BaseOf | None) -> World:
    """The World beside its base branch, where there is one."""
    if base_of is None:
        return replace(world, removals_need_a_word=request.is_ci and request.allow_deletes is None)
    base = base_of(specs)
    return replace(world, base=base, basis=replace(world.basis, base_ref=base.ref, base_commit=base.commit))


def _specs(root: Path, project: ProjectFile, request: PlanRequest, snapshot: Snapshot, now: datetime) -> Specs:
    return readable_specs(root, project, snapshot, now, paths=request.paths, named=(*request.targets, *request.restarts))


def _asked(specs: Specs, project: ProjectFile, request: PlanRequest, who: str) -> Asked:
    reach = Reach(paths=specs.paths, targets=request.targets, written=specs.written, is_read_whole=specs.is_read_whole)
    return Asked(project=project, specs=specs, reach=reach, allow=allow_flags(request, project), who=who, request=request)


def allow_flags(request: PlanRequest, project: ProjectFile) -> AllowFlags:
    """What the person allowed, over what the project allows."""
    return AllowFlags(
        max_deletes=project.policy.max_deletes if request.allow_deletes is None else request.allow_deletes,
        prunes=request.prunes,
        skips_blocked=request.skips_blocked,
        restarts=request.restarts,
        accepts_no_edge=request.accepts_no_edge,
        accepts_base_moved=request.accepts_base_moved,
    )
