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
from nodusctl.ledger.room import Tally
from nodusctl.plan.plan import AllowFlags, Basis, Burning
from nodusctl.planner.base_moved import BaseFacts
from nodusctl.planner.ignoring import Ignored
from nodusctl.pricing.book import EMPTY_BOOK, PriceBook
from nodusctl.provider.contract import Description
from nodusctl.provider.machines import Holdings
from nodusctl.provider.offers import Offer
from nodusctl.resources.resource import Resource
from nodusctl.state.snapshot import Snapshot


@dataclass(frozen=True, slots=True, kw_only=True)
class Market:
    """What one provider instance answered. ``why_not`` says why it gave nothing; empty where it answered.

    ``configured_rate`` is the project's own price for hardware of its own. ``holdings`` is all it has with a nodus tag, None where it
    didn't say. ``lacks`` is what it misses to start a machine, by its own check: it may offer one all the same.
    ``digest`` is that of the plugin's files; empty for one that ships with the program.
    """

    instance: str
    description: Description | None = None
    offers: tuple[Offer, ...] = ()
    configured_rate: Money | None = None
    why_not: str = ""
    holdings: Holdings | None = None
    lacks: tuple[Diagnostic, ...] = ()
    digest: str = ""

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
    allowed_regions: tuple[str, ...] | None = None
    allowed_gpu_types: tuple[str, ...] | None = None
    interruptible_required: bool = False
    windows_required: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Foreign:
    """A machine or disk that bears this project and an object's name, and the mark of another state (rule R15)."""

    address: Address
    provider: str
    thing: str
    state_id: str
    owner: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Stranded:
    """Objects that live at a provider the project left (``why`` says how), with what they have there (rule R8)."""

    provider: str
    why: str
    things: tuple[tuple[Address, str], ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class OutsideFacts:
    """What providers hold that the files don't say. ``reshaped`` are running machines with other hardware than they were made with.

    Each change is its name, as made, as it is now. ``lost`` are machines that are gone or ended, with what was seen. ``ends`` is when
    objects that hold exclusive devices end, of those whose end is known.
    """

    foreign: tuple[Foreign, ...] = ()
    stranded: tuple[Stranded, ...] = ()
    reshaped: Mapping[Address, tuple[tuple[str, str, str], ...]] = field(default_factory=dict)
    lost: Mapping[Address, str] = field(default_factory=dict)
    ends: Mapping[Address, datetime] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class World:
    """One moment.

    ``secret_hmacs`` holds the keyed HMACs of each Secret whose values could be read; one that is missing is read at apply.
    ``startups`` are past start times by provider instance and offering id. ``tally`` are the ledger's sums. ``ticker_is_near`` is True
    where a host that is always on made a good pass within the last ten minutes. ``removal`` or ``home_change`` set means the files are not
    compared at all. ``base`` is None where the plan isn't made against a branch; ``removals_need_a_word`` where a removal by absence is not
    enough by itself (in CI).
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
    burning: tuple[Burning, ...] = ()
    ticker_is_near: bool = False
    tally: Tally = field(default_factory=Tally)
    startups: Mapping[tuple[str, str], tuple[timedelta, ...]] = field(default_factory=dict)
    secret_hmacs: Mapping[Address, Mapping[str, str]] = field(default_factory=dict)
    outside: OutsideFacts = field(default_factory=OutsideFacts)
    diagnostics: tuple[Diagnostic, ...] = ()
    base: BaseFacts | None = None
    removals_need_a_word: bool = False

    def market(self, instance: str) -> Market | None:
        """The answer of one provider instance, None where it isn't in the project or wasn't asked."""
        return next((market for market in self.markets if market.instance == instance), None)
