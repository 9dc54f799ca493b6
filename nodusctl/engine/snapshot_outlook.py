"""The Outlook: all a plan is made from beside the files and the project file, at one moment. What ``state snapshot`` writes down.

A plan made from a written Outlook is the plan that was made from the state itself, because both go through this value.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta

from nodusctl.attempts.intents import Intent
from nodusctl.base.clock import Clock
from nodusctl.base.ids import IdSource
from nodusctl.engine.burning import burning_machines
from nodusctl.engine.history import past_startups
from nodusctl.engine.market import ask_markets, configured_rates
from nodusctl.engine.outside_facts import NO_FACTS, Listed, outside_facts
from nodusctl.ledger.room import CREDITS, Tally
from nodusctl.plan.plan import Burning
from nodusctl.planner.world import Market, OutsideFacts
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


@dataclass(frozen=True, slots=True, kw_only=True)
class Outlook:
    """One moment of the state and of the outside.

    ``lineage`` is the state's, or the one a plan on no state mints. ``startups`` are past start times by provider instance and offering id.
    ``ticker_is_near`` is True where a host that is always on made a good pass lately. ``written_at`` is when it was written to a file; None
    for one that was looked at just now.
    """

    snapshot: Snapshot
    lineage: str
    is_fresh_state: bool
    state_url: str
    taken_at: datetime
    markets: tuple[Market, ...] = ()
    intents: tuple[Intent, ...] = ()
    burning: tuple[Burning, ...] = ()
    tally: Tally = field(default_factory=Tally)
    ticker_is_near: bool = False
    startups: Mapping[tuple[str, str], tuple[timedelta, ...]] = field(default_factory=dict)
    outside: OutsideFacts = NO_FACTS
    written_at: datetime | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Wanted:
    """What of an Outlook a plan can need; what it can't is not read. ``limits`` are the ledger's sums, ``startups`` past start times."""

    limits: bool = True
    startups: bool = True


def look(sources: Sources, project: ProjectFile, snapshot: Snapshot, lineage: str, wanted: Wanted) -> Outlook:
    """The half that is here, each source asked once; no provider is. ``lineage`` is a new one where there is no state."""
    journal = sources.journal
    return Outlook(
        snapshot=snapshot,
        lineage=lineage,
        is_fresh_state=not snapshot.lineage,
        state_url=str(journal.facts().get("url", project.settings.state)),
        taken_at=sources.clock.now(),
        intents=journal.open_intents(),
        burning=burning_machines(journal, snapshot),
        tally=journal.tally() if wanted.limits else Tally(),
        ticker_is_near=_ticker_is_near(sources, project),
        startups=past_startups(journal) if wanted.startups else {},
    )


def look_outside(
    sources: Sources, project: ProjectFile, snapshot: Snapshot, lineage: str, now: datetime
) -> tuple[tuple[Market, ...], OutsideFacts]:
    """The other half: what every provider offers, and what they hold that the files don't say. Each is asked once."""
    markets = ask_markets(sources.providers, configured_rates(project))
    return markets, outside_facts(sources.journal, snapshot, Listed(markets, lineage), project, now) if markets else NO_FACTS


def was_granted(journal: Journal) -> bool:
    """True where money was granted, so that holds must fit what is left of it."""
    return journal.room((CREDITS,)) != (None,)


def _ticker_is_near(sources: Sources, project: ProjectFile) -> bool:
    """True where this project says that some host is always on, and a pass reported within ten minutes."""
    if not project.settings.always_on or sources.passes is None:
        return False
    good = next((one for one in sources.passes.latest() if one.is_good), None)
    return good is not None and sources.clock.now() - good.ended_at <= TICKER_LIMIT
