"""All that is known about one object at one moment: what is stored, what was seen in this pass, and the rules in force.

The surprise: what a pass has seen (``Sightings``) is not stored. A new process looks again rather than trust what another one saw.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta

from nodusctl.attempts.attempt import Attempt
from nodusctl.attempts.intents import Intent
from nodusctl.base.canonical import digest
from nodusctl.base.money import Money
from nodusctl.ledger.entries import Entry
from nodusctl.provider.agent import AgentAnswer
from nodusctl.provider.machines import Machine
from nodusctl.state.records import Record
from nodusctl.state.status import ObjectStatus, VolumeStanding


@dataclass(frozen=True, slots=True, kw_only=True)
class Platform:
    """What matters here of the provider a machine is, or would be, on. ``holds_volumes`` is False where it has no disks of its own."""

    instance: str
    holds_volumes: bool
    create_is_idempotent: bool
    list_lag_bound: timedelta
    attaches_at_launch: bool
    disk_outlives_machine: bool
    self_stop_ends_billing: bool
    size_granularity_bytes: int = 1
    tools: frozenset[str] = frozenset({"SSH"})
    prunes_revisions: bool = False
    account: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Rules:
    """Project settings and bounds that steer every object."""

    lease_term: timedelta = timedelta(hours=8)
    save_bound: timedelta = timedelta(minutes=15)
    save_tries: int = 3
    lookups_per_pass: int = 3
    calls_per_pass: int = 6
    quiesce_grace: timedelta = timedelta(seconds=30)
    window_lead: timedelta = timedelta(minutes=15)
    recoveries_per_session: int = 3
    recovery_limit: timedelta = timedelta(minutes=30)


@dataclass(frozen=True, slots=True, kw_only=True)
class Sightings:
    """What this pass has seen of the object's machine, and how often things went wrong. Never stored.

    ``attempt_uid`` is the Attempt all of it is about: the next Attempt's machine is another one, so it begins with nothing seen.
    ``rates`` are today's by offer key, None before they were asked for (and a rate is None where nobody could say).
    ``failures`` counts, per step name, replies in a row that brought nothing; ``gone_looks`` counts looks that found the machine absent.
    ``not_before`` is, per step name, until when its platform asked for patience (rule R13).
    """

    attempt_uid: str = ""
    machine: Machine | None = None
    looked_at: datetime | None = None
    answer: AgentAnswer | None = None
    asked_at: datetime | None = None
    asked_in_vain: str = ""
    gone_looks: int = 0
    rates: Mapping[str, Money | None] | None = None
    has_facts: bool = False
    failures: Mapping[str, int] = field(default_factory=dict)
    failed_at: Mapping[str, datetime] = field(default_factory=dict)
    failure_codes: Mapping[str, str] = field(default_factory=dict)
    not_before: Mapping[str, datetime] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class HomeVolume:
    """The Volume an object mounts at /home/nodus, or the Volume that is itself the object."""

    record: Record
    status: ObjectStatus

    @property
    def standing(self) -> VolumeStanding:
        """Its outside half; empty until its first machine was placed."""
        return self.status.volume or VolumeStanding()


@dataclass(frozen=True, slots=True, kw_only=True)
class SecretFacts:
    """A Secret a Workspace mounts or refers to: its latest version, and the key names of every stored version."""

    uid: str
    version: int
    keys: Mapping[int, tuple[str, ...]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Situation:
    """One object at one moment. ``attempt`` is the one now filling the slot; ``earlier`` all before it, oldest first.

    ``budget_left_usd`` is the least any Block Budget in scope has room for, ``funds_left_usd`` what is left of all that was granted; None
    where nothing limits it (no Budget, post-paid). ``last_pass_at`` is when the last good pass saw this provider's machines.
    """

    now: datetime
    project: str
    state_id: str
    record: Record
    status: ObjectStatus
    attempt: Attempt | None = None
    earlier: tuple[Attempt, ...] = ()
    intents: tuple[Intent, ...] = ()
    entries: tuple[Entry, ...] = ()
    home: HomeVolume | None = None
    home_is_missing: bool = False
    platforms: Mapping[str, Platform] = field(default_factory=dict)
    sightings: Sightings = Sightings()
    secrets: Mapping[str, SecretFacts] = field(default_factory=dict)
    login_keys: tuple[str, ...] = ()
    rules: Rules = Rules()
    budget_left_usd: Money | None = None
    funds_left_usd: Money | None = None
    last_pass_at: datetime | None = None

    @property
    def uid(self) -> str:
        """The object's uid."""
        return self.record.uid

    @property
    def login_keys_digest(self) -> str:
        """Stands for the set of person keys that may log in."""
        return digest(list(self.login_keys))

    @property
    def cap_usd(self) -> Money | None:
        """``spec.maxCostUSD``, or None."""
        text = self.record.spec.get("maxCostUSD")
        return Money.parse(text) if isinstance(text, str) else None

    @property
    def is_ephemeral(self) -> bool:
        """True for a Workspace without a home Volume."""
        return bool(self.record.spec.get("ephemeral"))

    @property
    def platform(self) -> Platform | None:
        """The platform of the current Attempt's terms."""
        if self.attempt is None or self.attempt.terms is None:
            return None
        return self.platforms.get(self.attempt.terms.provider)

    def failed_times(self, step: str) -> int:
        """How often ``step`` brought nothing in this pass, in a row."""
        return self.sightings.failures.get(step, 0)
