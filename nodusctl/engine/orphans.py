"""``orphans``: what carries a nodus tag and no record explains, in three groups, each thing with its price.

Ours without a record; another state's, which is shown and never touched without that state's id; and what is still being made, which is
no orphan yet. A thing the record knows by its id is never an orphan, whatever its tags say.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from enum import StrEnum

from nodusctl.attempts.attempt import Attempt
from nodusctl.base.ids import Address
from nodusctl.base.money import Money
from nodusctl.engine.drifting import outside_objects
from nodusctl.engine.offer_rates import OfferRates
from nodusctl.engine.surveying import Found, Survey, known_ids, survey
from nodusctl.ports.journal import Journal, StoredObject
from nodusctl.ports.providers import ProviderSet
from nodusctl.provider.machines import Disk, DiskState, Machine, MachineState
from nodusctl.provider.tokens import Ownership, ownership_of
from nodusctl.state.terms import Terms

YOUNG = timedelta(minutes=15)
_NOBODY = Ownership(state_id="", project="", object_uid="", address="", attempt_uid="", owner="")
_ENDED = frozenset({MachineState.TERMINATED, MachineState.GONE})


class Group(StrEnum):
    """Why nothing of the record explains it."""

    OURS = "ours"
    FOREIGN = "foreign"
    BEING_MADE = "being-made"


@dataclass(frozen=True, slots=True, kw_only=True)
class Orphan:
    """One machine (``disk`` None) or one disk. ``cost_usd`` is so far, ``day_usd`` for each further day; None where no price is known."""

    provider: str
    group: Group
    owner: Ownership
    why: str
    machine: Machine | None = None
    disk: Disk | None = None
    cost_usd: Money | None = None
    day_usd: Money | None = None

    @property
    def id(self) -> str:
        """The provider's id of it."""
        return self.machine.id if self.machine is not None else self.disk.id if self.disk is not None else ""

    @property
    def kind(self) -> str:
        """``machine`` or ``disk``."""
        return "machine" if self.machine is not None else "disk"

    @property
    def made_at(self) -> datetime | None:
        """When its provider says that it was made."""
        if self.machine is not None:
            return self.machine.created_at
        return self.disk.created_at if self.disk is not None else None


@dataclass(frozen=True, slots=True, kw_only=True)
class OrphanReport:
    """What was found at ``seen_at``, and which instances could not be asked."""

    orphans: tuple[Orphan, ...]
    failures: Mapping[str, str]
    seen_at: datetime
    lineage: str

    def of(self, group: Group) -> tuple[Orphan, ...]:
        """One group."""
        return tuple(one for one in self.orphans if one.group is group)

    def find(self, thing: str) -> Orphan | None:
        """The orphan with this id, None where there is none."""
        return next((one for one in self.orphans if one.id == thing), None)


def find_orphans(*, journal: Journal, providers: ProviderSet, rates: OfferRates, now: datetime) -> OrphanReport:
    """All three groups. Writes nothing; never raises for what a provider does."""
    snapshot = journal.snapshot()
    objects = tuple(outside_objects(journal, snapshot).values())
    seen = survey(providers, objects)
    found = tuple(_Judge(snapshot.lineage, objects, now).all(seen))
    frozen = _frozen_terms(journal, {one.owner.attempt_uid for one in found if one.machine is not None})
    priced = tuple(_priced(one, frozen, rates, now) for one in found)
    return OrphanReport(orphans=priced, failures=seen.failures, seen_at=now, lineage=snapshot.lineage)


def _frozen_terms(journal: Journal, uids: AbstractSet[str]) -> Mapping[str, Terms]:
    """The terms of Attempts this state once made, removed ones too: their price is the one that was approved."""
    if not uids - {""}:
        return {}
    with journal.books() as books:
        read = (books.attempt(uid) for uid in uids if uid)
        return {one.uid: one.terms for one in read if isinstance(one, Attempt) and one.terms is not None}


def _priced(one: Orphan, frozen: Mapping[str, Terms], rates: OfferRates, now: datetime) -> Orphan:
    if one.machine is not None:
        price = rates.of_machine(one.provider, one.machine, frozen.get(one.owner.attempt_uid), now)
    else:
        assert one.disk is not None
        price = rates.of_disk(one.provider, one.disk, now)
    return replace(one, cost_usd=price.cost_usd, day_usd=price.day_usd)


class _Judge:
    """Puts what isn't explained into its group."""

    def __init__(self, lineage: str, objects: Collection[StoredObject], now: datetime) -> None:
        self._lineage, self._now, self._known = lineage, now, known_ids(objects)
        self._making = {intent.attempt_uid for one in objects for intent in one.intents if intent.attempt_uid}
        self._making |= {uid for one in objects for intent in one.intents for uid in (intent.object_uid, intent.target_uid)}

    def all(self, seen: Survey) -> Iterator[Orphan]:
        """Every orphan, by instance, machines first."""
        for name, found in seen.found.items():
            yield from self._of(name, found)

    def _of(self, name: str, found: Found) -> Iterator[Orphan]:
        for machine in found.holdings.machines:
            if machine.id not in self._known.machines.get(name, frozenset()) and machine.state not in _ENDED and machine.tags:
                owner = ownership_of(machine.tags) or _NOBODY
                group, why = self._group(owner, machine.created_at)
                yield Orphan(provider=name, group=group, owner=owner, why=why, machine=machine)
        for disk in found.holdings.disks:
            if disk.id not in self._known.disks.get(name, frozenset()) and disk.state is not DiskState.GONE and disk.tags:
                owner = ownership_of(disk.tags) or _NOBODY
                group, why = self._group(owner, disk.created_at)
                yield Orphan(provider=name, group=group, owner=owner, why=why, disk=disk)

    def _group(self, owner: Ownership, made_at: datetime | None) -> tuple[Group, str]:
        if not owner.state_id or owner.state_id != self._lineage:
            return Group.FOREIGN, "another state's" if owner.state_id else "no tag says whose it is"
        if owner.attempt_uid in self._making or owner.object_uid in self._making:
            return Group.BEING_MADE, "a step of its object isn't settled yet"
        if made_at is not None and made_at + YOUNG > self._now:
            return Group.BEING_MADE, "it is younger than 15 minutes"
        return Group.OURS, "no record has it"


def address_of(one: Orphan) -> Address | None:
    """What its tags say it belongs to; None where they don't say it."""
    try:
        return Address.parse(one.owner.address)
    except ValueError:
        return None
