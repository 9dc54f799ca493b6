"""The World: everything a plan is made from, read by the engine at one moment and frozen.

The planner asks nothing else. Two plans of equal Worlds are equal, which is what makes a plan hash worth printing.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta

from nodusctl.attempts.intents import Intent
from nodusctl.base.diagnostics import Diagnostic
from nodusctl.base.ids import Address
from nodusctl.base.money import Money
from nodusctl.ledger.entries import Entry
from nodusctl.plan.plan import AllowFlags, Basis
from nodusctl.planner.ignoring import Ignored
from nodusctl.pricing.book import EMPTY_BOOK, PriceBook
from nodusctl.provider.contract import Description
from nodusctl.provider.offers import Offer
from nodusctl.resources.resource import Resource
from nodusctl.state.snapshot import Snapshot


@dataclass(frozen=True, slots=True, kw_only=True)
class Market:
    """What one provider instance answered. ``why_not`` says why it gave nothing; empty where it answered.

    ``configured_rate`` is the project's own price for hardware of its own.
    """

    instance: str
    description: Description | None = None
    offers: tuple[Offer, ...] = ()
    configured_rate: Money | None = None
    why_not: str = ""

    @property
    def is_ready(self) -> bool:
        """True where the provider answered."""
        return not self.why_not


@dataclass(frozen=True, slots=True, kw_only=True)
class Reach:
    """How much of the project this plan looks at.

    ``paths`` and ``targets`` are empty for the whole project. ``written`` holds the address of every document of the project,
    selected or not. ``is_read_whole`` is False where some glob could not be read: then nothing counts as removed.
    """

    paths: tuple[str, ...] = ()
    targets: tuple[Address, ...] = ()
    written: frozenset[Address] = frozenset()
    is_read_whole: bool = True

    @property
    def is_whole_project(self) -> bool:
        """True where neither a PATH nor a target narrows the plan."""
        return not self.paths and not self.targets


@dataclass(frozen=True, slots=True, kw_only=True)
class Removal:
    """A removal by the owner's word: ``destroy`` and ``delete``. No names means everything the state has."""

    addresses: tuple[Address, ...] = ()
    discards_home: bool = False

    @property
    def is_of_everything(self) -> bool:
        """True for ``destroy`` without names."""
        return not self.addresses


@dataclass(frozen=True, slots=True, kw_only=True)
class HomeChange:
    """A change of one Volume's revisions by the owner's word: bring ``restores`` back or keep the newest ``keeps``; the other is 0."""

    volume: Address
    restores: int = 0
    keeps: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Policy:
    """The project's limits a plan is held against; None where one isn't set."""

    max_price_age: timedelta | None = None
    max_monthly_usd: Money | None = None
    max_increase_usd: Money | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class World:
    """One moment.

    ``secret_hmacs`` holds the keyed HMACs of each Secret whose values could be read; one that is missing is read at apply.
    ``startups`` are past start times by offering id. ``removal`` or ``home_change`` set means the files are not compared at all.
    """

    basis: Basis
    allow: AllowFlags
    snapshot: Snapshot
    now: datetime
    plan_id: str
    created_by: str
    resources: tuple[Resource, ...] = ()
    reach: Reach = Reach()
    removal: Removal | None = None
    home_change: HomeChange | None = None
    markets: tuple[Market, ...] = ()
    is_offline: bool = False
    book: PriceBook = EMPTY_BOOK
    policy: Policy = Policy()
    ignored: tuple[Ignored, ...] = ()
    lease_term: timedelta = timedelta(hours=8)
    window_lead: timedelta = timedelta(minutes=15)
    intents: tuple[Intent, ...] = ()
    entries: tuple[Entry, ...] = ()
    startups: Mapping[str, tuple[timedelta, ...]] = field(default_factory=dict)
    secret_hmacs: Mapping[Address, Mapping[str, str]] = field(default_factory=dict)
    diagnostics: tuple[Diagnostic, ...] = ()

    def market(self, instance: str) -> Market | None:
        """The answer of one provider instance, None where it isn't in the project or wasn't asked."""
        return next((market for market in self.markets if market.instance == instance), None)
