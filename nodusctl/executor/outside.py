"""Everything the executor may touch, as ports. Chosen in ``cli.wiring``; real fakes in tests."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import datetime, timedelta

from nodusctl.base.clock import Clock, Wall
from nodusctl.base.ids import IdSource
from nodusctl.base.money import Money
from nodusctl.executor.built import Built
from nodusctl.ledger.room import HoldGuard
from nodusctl.lifecycle.situation import Rules
from nodusctl.ports.boot import BootRenderer
from nodusctl.ports.claims import Claims
from nodusctl.ports.journal import Journal
from nodusctl.ports.progress import Progress
from nodusctl.ports.providers import ProviderSet
from nodusctl.ports.reach import KeySource, Reach
from nodusctl.provider.machines import Machine
from nodusctl.provider.replies import Reply
from nodusctl.state.records import Record
from nodusctl.state.terms import Terms


def _knows_no_rate(terms: Terms, now: datetime) -> Money | None:
    """Where nobody asks for prices the approved ones stand."""
    return None


def _has_no_limit(record: Record) -> tuple[Money | None, Money | None]:
    """Where no Budget binds and nothing was granted."""
    return None, None


def _is_unguarded(record: Record) -> tuple[HoldGuard, ...]:
    """Where no limit binds."""
    return ()


def _never_passed(instance: str) -> datetime | None:
    """Where no pass was ever made."""
    return None


def _saw_nothing(machine_id: str) -> Reply[Machine] | None:
    """Where each machine is looked at by itself."""
    return None


def _assume_so() -> bool:
    """A journal that reads afresh each time has nothing to forget, and can't tell what moved."""
    return True


@dataclass(frozen=True, slots=True, kw_only=True)
class Outside:
    """The ports of one run.

    ``person_keys`` gives the public keys that may log in to a Workspace; ``owner`` is who runs the command; ``rate_of`` asks what terms
    cost now; ``room_for`` gives the least any Block Budget in scope has room for, and what is left of all that was granted, ``guards_of``
    the limits that a hold must fit when it is posted; ``first_look`` what this pass already learnt of a machine, once;
    ``last_pass_of`` when a good pass last saw the machines of a provider instance. ``renew`` makes the journal read afresh where somebody
    else may have written, and says whether that is so; ``built`` is this run's memory of Situations.
    """

    journal: Journal
    claims: Claims
    providers: ProviderSet
    reach: Reach
    keys: KeySource
    boots: BootRenderer
    clock: Clock
    wall: Wall
    ids: IdSource
    progress: Progress
    project: str
    owner: str
    person_keys: Callable[[Record], tuple[str, ...]]
    rules: Rules = field(default_factory=Rules)
    rate_of: Callable[[Terms, datetime], Money | None] = _knows_no_rate
    room_for: Callable[[Record], tuple[Money | None, Money | None]] = _has_no_limit
    guards_of: Callable[[Record], tuple[HoldGuard, ...]] = _is_unguarded
    first_look: Callable[[str], Reply[Machine] | None] = _saw_nothing
    last_pass_of: Callable[[str], datetime | None] = _never_passed
    renew: Callable[[], bool] = _assume_so
    built: dict[str, Built] = field(default_factory=dict)
    call_limit: timedelta = timedelta(minutes=10)
