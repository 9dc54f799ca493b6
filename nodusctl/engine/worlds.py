"""Gathering a World: each source asked once, and only for what this plan can need."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta
from typing import Protocol

import nodusctl
from nodusctl.base.clock import Clock
from nodusctl.base.diagnostics import Diagnostic
from nodusctl.base.ids import IdSource
from nodusctl.engine.burning import burning_machines
from nodusctl.engine.history import past_startups
from nodusctl.engine.market import ask_markets, configured_rates
from nodusctl.engine.outside_facts import NO_FACTS, Listed, outside_facts
from nodusctl.engine.secret_values import planned_fingerprints
from nodusctl.engine.specs import Specs
from nodusctl.ledger.room import CREDITS, Tally
from nodusctl.plan.plan import AllowFlags, Basis
from nodusctl.planner.ignoring import parse_ignored
from nodusctl.planner.world import HomeChange, Market, Policy, Reach, Removal, World
from nodusctl.ports.journal import Journal
from nodusctl.ports.passes import Passes
from nodusctl.ports.prices import PriceSource
from nodusctl.ports.providers import ProviderSet
from nodusctl.ports.secrets import SecretSource
from nodusctl.resources.project import ProjectFile
from nodusctl.state.snapshot import Snapshot

TICKER_LIMIT = timedelta(minutes=10)
"""A ticker that was heard of within this time ends a machine that goes on billing soon enough (rule R10)."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Sources:
    """The ports a World is read from. Without ``passes`` no ticker counts as running."""

    journal: Journal
    providers: ProviderSet
    prices: PriceSource
    secrets: SecretSource
    clock: Clock
    ids: IdSource
    passes: Passes | None = None


class Circumstances(Protocol):
    """The part of a request that shapes the World itself."""

    @property
    def is_offline(self) -> bool:
        """True where no provider may be asked."""
        ...

    @property
    def base_commit(self) -> str:
        """The commit the plan is reviewed against; empty where none was given."""
        ...


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
    """One World at one moment. ``specs`` None is a removal or a change of a home's revisions, which compare no file.

    The order of new uids is fixed (lineage, then plan), so that counted ones repeat.
    """
    journal = sources.journal
    resources = specs.resources if specs is not None else ()
    is_fresh = not journal.exists()
    lineage = sources.ids.new_uid() if is_fresh else snapshot.lineage
    plan_id = sources.ids.new_uid()
    markets = () if request.is_offline else ask_markets(sources.providers, configured_rates(project))
    hmacs, warnings = ({}, ()) if request.is_offline else planned_fingerprints(resources, snapshot, journal, sources.secrets)
    book = sources.prices.book()
    return World(
        basis=Basis(
            project=project.project,
            lineage=lineage,
            serial=snapshot.serial,
            state_url=str(journal.facts().get("url", project.settings.state)),
            is_fresh_state=is_fresh,
            base_commit=request.base_commit,
            book_version=book.version,
            nodusctl_version=nodusctl.__version__,
            providers=_versions(markets),
        ),
        allow=allow,
        snapshot=snapshot,
        now=sources.clock.now(),
        plan_id=plan_id,
        created_by=who,
        resources=resources,
        reach=reach,
        removal=removal,
        home_change=home_change,
        markets=markets,
        is_offline=request.is_offline,
        book=book,
        policy=_policy(project),
        ignored=tuple(parse_ignored(rule.path, rule.reason) for rule in project.settings.ignore or ()),
        lease_term=project.settings.lease_term,
        window_lead=project.settings.window_lead,
        intents=journal.open_intents(),
        burning=burning_machines(journal, snapshot),
        tally=journal.tally() if _has_limits(journal, snapshot, specs) else Tally(),
        ticker_is_near=_ticker_is_near(sources, project),
        startups=past_startups(journal) if _may_start(snapshot, specs) else {},
        secret_hmacs=hmacs,
        outside=outside_facts(journal, snapshot, Listed(markets, lineage), project, sources.clock.now()) if markets else NO_FACTS,
        diagnostics=_remarks(specs, warnings),
    )


def _remarks(specs: Specs | None, warnings: tuple[Diagnostic, ...]) -> tuple[Diagnostic, ...]:
    return (*(specs.diagnostics if specs is not None else ()), *warnings)


def _policy(project: ProjectFile) -> Policy:
    policy = project.policy
    return Policy(max_price_age=policy.max_price_age, max_monthly_usd=policy.max_monthly_usd, max_increase_usd=policy.max_increase_usd)


def _versions(markets: tuple[Market, ...]) -> dict[str, str]:
    """The version of each instance that could be described."""
    return {market.instance: market.description.version for market in markets if market.description is not None}


def _has_limits(journal: Journal, snapshot: Snapshot, specs: Specs | None) -> bool:
    """True where a Budget or a granted balance may bind: then the ledger is summed."""
    written = specs.resources if specs is not None else ()
    has_budget = any(one.address.kind == "budget" for one in written) or any(one.record.address.kind == "budget" for one in snapshot)
    return has_budget or journal.room((CREDITS,)) != (None,)


def _ticker_is_near(sources: Sources, project: ProjectFile) -> bool:
    """True where this project says that some host is always on, and a pass reported within ten minutes."""
    if not project.settings.always_on or sources.passes is None:
        return False
    good = next((one for one in sources.passes.latest() if one.is_good), None)
    return good is not None and sources.clock.now() - good.ended_at <= TICKER_LIMIT


def _may_start(snapshot: Snapshot, specs: Specs | None) -> bool:
    """False where the files say what they said at the last apply: then no estimate is printed and no history is needed."""
    for one in specs.resources if specs is not None else ():
        standing = snapshot.get(one.address)
        if standing is None or standing.record.applied != dict(one.written):
            return True
    return False
