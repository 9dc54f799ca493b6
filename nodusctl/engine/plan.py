"""``plan``: read the specs, gather one World, hand it to the planner. Reads everything, writes nothing."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from nodusctl.base.clock import Clock
from nodusctl.base.exits import UserError
from nodusctl.base.ids import Address, IdSource
from nodusctl.engine.naming import refuse_other_project, unknown_object
from nodusctl.engine.specs import Specs, no_documents, read_specs
from nodusctl.engine.worlds import Sources, gather
from nodusctl.plan.plan import AllowFlags, Plan
from nodusctl.planner.build import build_plan
from nodusctl.planner.world import Reach
from nodusctl.ports.journal import Journal
from nodusctl.ports.passes import Passes
from nodusctl.ports.prices import PriceSource
from nodusctl.ports.providers import ProviderSet
from nodusctl.ports.secrets import SecretSource
from nodusctl.resources.project import ProjectFile
from nodusctl.state.snapshot import Snapshot


@dataclass(frozen=True, slots=True, kw_only=True)
class PlanRequest:
    """What a person asked of ``plan``. ``allow_deletes`` None takes ``policy.maxDeletes``; ``base_commit`` is recorded as given."""

    paths: tuple[Path, ...] = ()
    targets: tuple[Address, ...] = ()
    restarts: tuple[Address, ...] = ()
    is_offline: bool = False
    allow_deletes: int | None = None
    prunes: bool = False
    skips_blocked: bool = False
    accepts_no_edge: bool = False
    base_commit: str = ""


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
) -> Plan:
    """The plan for the files in ``root`` against the state behind ``journal``.

    UserError with every fault of the files, for a project without objects, for a state of another project, and for targets nobody
    knows. What can't be had from outside is a blocking reason of the plan, never an exception.
    """
    snapshot = journal.snapshot()
    refuse_other_project(journal, project)
    specs = read_specs(root=root, project=project, paths=request.paths, snapshot=snapshot, clock_now=clock.now())
    empty = no_documents(specs, root)
    if specs.has_errors or empty is not None:
        raise UserError(*specs.diagnostics, *((empty,) if empty is not None else ()))
    _refuse_unknown((*request.targets, *request.restarts), specs, snapshot)
    sources = Sources(journal=journal, providers=providers, prices=prices, secrets=secrets, clock=clock, ids=ids, passes=passes)
    reach = Reach(paths=specs.paths, targets=request.targets, written=specs.written, is_read_whole=specs.is_read_whole)
    world = gather(sources, project, snapshot, specs=specs, reach=reach, allow=allow_flags(request, project), who=who, request=request)
    return build_plan(world, former_defaults)


def allow_flags(request: PlanRequest, project: ProjectFile) -> AllowFlags:
    """What the person allowed, over what the project allows."""
    return AllowFlags(
        max_deletes=project.policy.max_deletes if request.allow_deletes is None else request.allow_deletes,
        prunes=request.prunes,
        skips_blocked=request.skips_blocked,
        restarts=request.restarts,
        accepts_no_edge=request.accepts_no_edge,
    )


def former_defaults(kind: str, applied: Mapping[str, Any]) -> Mapping[str, Any]:
    """A spec that was applied before, with defaults as they follow from it today; as it is where today's rules refuse it."""
    from nodusctl.resources.decode import canonical_spec, read_spec
    from nodusctl.resources.defaults import with_defaults
    from nodusctl.resources.kinds import KINDS

    model, _ = read_spec(KINDS[kind], dict(applied))
    return applied if model is None else canonical_spec(with_defaults(kind, model))


def _refuse_unknown(named: Sequence[Address], specs: Specs, snapshot: Snapshot) -> None:
    known = {*specs.written, *snapshot.standings}
    missing = [unknown_object(address, sorted(known)) for address in named if address not in known]
    if missing:
        raise UserError(*missing)
