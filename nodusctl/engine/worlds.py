"""Gathering a World: each source asked once, and only for what this plan can need."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Protocol, TypedDict

import nodusctl
from nodusctl.engine.secret_values import planned_fingerprints
from nodusctl.engine.snapshot_outlook import Outlook, Sources, Wanted, look, look_outside, was_granted
from nodusctl.engine.specs import Specs
from nodusctl.plan.plan import AllowFlags, Basis
from nodusctl.planner.ignoring import parse_ignored
from nodusctl.planner.world import HomeChange, Market, Policy, Reach, Removal, World
from nodusctl.ports.journal import Journal
from nodusctl.pricing.book import PriceBook
from nodusctl.resources.project import ProjectFile
from nodusctl.state.snapshot import Snapshot


class Circumstances(Protocol):
    """The part of a request that shapes the World itself."""

    @property
    def is_offline(self) -> bool:
        """True where no provider may be asked."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """Everything a World is made of beside an Outlook. ``specs`` None is a plan that compares no file."""

    project: ProjectFile
    specs: Specs | None
    reach: Reach
    allow: AllowFlags
    who: str
    request: Circumstances
    removal: Removal | None = None
    home_change: HomeChange | None = None


def gather(
    sources: Sources,
    project: ProjectFile,
    snapshot: Snapshot,
    *,
    specs: Specs | None,
    reach: Reach,
    allow: AllowFlags,
    who: str,
    request: Circumstances,
    removal: Removal | None = None,
    home_change: HomeChange | None = None,
) -> World:
    """One World at one moment. ``specs`` None is a removal or a change of a home's revisions, which compare no file."""
    asked = Asked(
        project=project, specs=specs, reach=reach, allow=allow, who=who, request=request, removal=removal, home_change=home_change
    )
    return with_markets(unasked_world(sources, snapshot, asked), sources, asked)


def unasked_world(sources: Sources, snapshot: Snapshot, asked: Asked) -> World:
    """The World as far as it can be known before any provider is asked.

    The order of new uids is fixed (lineage, then plan), so that counted ones repeat.
    """
    journal, specs = sources.journal, asked.specs
    lineage = snapshot.lineage if journal.exists() else sources.ids.new_uid()
    plan_id = sources.ids.new_uid()
    wanted = Wanted(limits=_has_limits(journal, snapshot, specs), startups=_may_start(snapshot, specs))
    outlook = look(sources, asked.project, snapshot, lineage, wanted)
    resources = specs.resources if specs is not None else ()
    hmacs, warnings = ({}, ()) if asked.request.is_offline else planned_fingerprints(resources, snapshot, journal, sources.secrets)
    world = world_of(outlook, asked, sources.prices.book(), plan_id)
    return replace(world, secret_hmacs=hmacs, diagnostics=(*world.diagnostics, *warnings))


def with_markets(world: World, sources: Sources, asked: Asked) -> World:
    """The World with what its providers answer; as it is where none may be asked."""
    if asked.request.is_offline:
        return world
    markets, outside = look_outside(sources, asked.project, world.snapshot, world.basis.lineage, world.now)
    return replace(world, basis=replace(world.basis, **_plugins(markets)), markets=markets, outside=outside)


def world_of(outlook: Outlook, asked: Asked, book: PriceBook, plan_id: str) -> World:
    """The World that follows from an Outlook. No value of a Secret is in it."""
    project, specs, request = asked.project, asked.specs, asked.request
    return World(
        basis=Basis(
            project=project.project,
            lineage=outlook.lineage,
            serial=outlook.snapshot.serial,
            state_url=outlook.state_url,
            is_fresh_state=outlook.is_fresh_state,
            book_version=book.version,
            nodusctl_version=nodusctl.__version__,
            snapshot_at=outlook.written_at,
            **_plugins(outlook.markets),
        ),
        allow=asked.allow,
        snapshot=outlook.snapshot,
        now=outlook.taken_at,
        plan_id=plan_id,
        created_by=asked.who,
        resources=specs.resources if specs is not None else (),
        reach=asked.reach,
        removal=asked.removal,
        home_change=asked.home_change,
        markets=outlook.markets,
        is_offline=request.is_offline,
        book=book,
        policy=_policy(project),
        ignored=tuple(parse_ignored(rule.path, rule.reason) for rule in project.settings.ignore or ()),
        lease_term=project.settings.lease_term,
        window_lead=project.settings.window_lead,
        intents=outlook.intents,
        burning=outlook.burning,
        tally=outlook.tally,
        ticker_is_near=outlook.ticker_is_near,
        startups=outlook.startups,
        outside=outlook.outside,
        diagnostics=specs.diagnostics if specs is not None else (),
    )


def _policy(project: ProjectFile) -> Policy:
    policy = project.policy
    return Policy(
        max_price_age=policy.max_price_age,
        max_monthly_usd=policy.max_monthly_usd,
        max_increase_usd=policy.max_increase_usd,
        allowed_regions=policy.allowed_regions,
        allowed_gpu_types=policy.allowed_gpu_types,
        interruptible_required=policy.interruptible_required,
        windows_required=policy.windows_required,
    )


class _Plugins(TypedDict):
    """The part of a Basis that the plugins tell."""

    providers: Mapping[str, str]
    plugin_digests: Mapping[str, str]


def _plugins(markets: tuple[Market, ...]) -> _Plugins:
    """The version of each instance that could be described, and the digest of each plugin that has one."""
    return {
        "providers": {market.instance: market.description.version for market in markets if market.description is not None},
        "plugin_digests": {market.instance: market.digest for market in markets if market.digest},
    }


def _has_limits(journal: Journal, snapshot: Snapshot, specs: Specs | None) -> bool:
    """True where a Budget or a granted balance may bind: then the ledger is summed."""
    written = specs.resources if specs is not None else ()
    has_budget = any(one.address.kind == "budget" for one in written) or any(one.record.address.kind == "budget" for one in snapshot)
    return has_budget or was_granted(journal)


def _may_start(snapshot: Snapshot, specs: Specs | None) -> bool:
    """False where the files say what they said at the last apply: then no estimate is printed and no history is needed."""
    for one in specs.resources if specs is not None else ():
        standing = snapshot.get(one.address)
        if standing is None or standing.record.applied != dict(one.written):
            return True
    return False
