"""What a plan should know of the outside: from what the providers listed while they were asked for offers, and from the record.

Nothing more is asked of anybody, and Attempts are loaded only where the list shows something of theirs or a provider was left.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

from nodusctl.attempts.attempt import Attempt
from nodusctl.base.ids import Address
from nodusctl.engine.drifting import accepted_machines
from nodusctl.engine.watching import believed
from nodusctl.lifecycle.differing import Difference, DriftKind, Sight, machine_differences, shape_changes
from nodusctl.lifecycle.edges import certain_end
from nodusctl.lifecycle.identity import differs, words
from nodusctl.planner.world import Foreign, Market, OutsideFacts, Stranded
from nodusctl.ports.journal import Journal, StoredObject
from nodusctl.provider.machines import DiskState, Machine, MachineState
from nodusctl.provider.replies import Unknown
from nodusctl.provider.tokens import ownership_of
from nodusctl.resources.project import ProjectFile
from nodusctl.state.snapshot import Snapshot
from nodusctl.state.status import Phase

NO_FACTS = OutsideFacts()
_OVER = frozenset({MachineState.TERMINATED, MachineState.GONE, MachineState.FAILED})
_LOST = frozenset({DriftKind.MACHINE_GONE, DriftKind.MACHINE_ENDED})


@dataclass(frozen=True, slots=True)
class Listed:
    """What the providers told, and the state it is compared with: a plan on no state mints its lineage, so that all tags are strange."""

    markets: Sequence[Market]
    lineage: str


def outside_facts(journal: Journal, snapshot: Snapshot, listed: Listed, project: ProjectFile, now: datetime) -> OutsideFacts:
    """The facts of one plan; what no provider told is left out."""
    markets, lineage = listed.markets, listed.lineage
    running = [one for one in snapshot if one.status.attempt_uid and one.record.address.kind == "workspace"]
    objects = journal.load_many(one.record.uid for one in running)
    machines = {machine.id: machine for market in markets if market.holdings for machine in market.holdings.machines}
    accepted = accepted_machines(journal, objects.values()) if machines else {}
    return OutsideFacts(
        foreign=tuple(_foreign(markets, project.project, lineage)),
        stranded=tuple(_stranded(snapshot, objects.values(), markets, project)),
        reshaped=dict(_reshaped(objects.values(), machines, accepted)),
        lost=dict(_lost(objects.values(), markets, machines, now)),
        ends=dict(_ends(objects.values(), now)),
    )


def _ends(objects: Iterable[StoredObject], now: datetime) -> Iterator[tuple[Address, datetime]]:
    """Those that hold exclusive devices, which others may be waiting for."""
    for stored in objects:
        attempt = next((one for one in stored.attempts if one.uid == stored.status.attempt_uid), None)
        if attempt is None or attempt.terms is None or not attempt.terms.unit_ids:
            continue
        moment = certain_end(stored.record, stored.status.session, attempt, now)
        if moment is not None:
            yield stored.record.address, moment


def _foreign(markets: Iterable[Market], project: str, lineage: str) -> Iterator[Foreign]:
    for market in markets:
        held = market.holdings
        living = [one for one in held.machines if one.state not in _OVER] if held is not None else []
        # On one's own computer every folder is a state of its own, and homes that were kept there are nobody's rival.
        is_shared = market.description is not None and not market.description.is_this_computer
        disks = [one for one in held.disks if one.state is not DiskState.GONE] if held is not None and is_shared else []
        tagged = [*((f"machine {one.id}", one.tags) for one in living), *((f"disk {one.id}", one.tags) for one in disks)]
        for thing, tags in tagged:
            owner = ownership_of(tags)
            if owner is None or not owner.state_id or owner.state_id == lineage or owner.project != project or "/" not in owner.address:
                continue
            yield Foreign(
                address=Address.parse(owner.address),
                provider=market.instance,
                thing=thing,
                state_id=owner.state_id,
                owner=owner.owner,
            )


def _stranded(snapshot: Snapshot, objects: Iterable[StoredObject], markets: Iterable[Market], project: ProjectFile) -> Iterator[Stranded]:
    """Providers that were left or became another account, with what the record still has there."""
    named = {provider.name for provider in project.providers}
    accounts = {market.instance: market.description.account for market in markets if market.description is not None}
    found: defaultdict[tuple[str, str], list[tuple[Address, str]]] = defaultdict(list)
    for provider, account, address, thing in _living(snapshot, objects):
        if provider not in named:
            found[provider, f"Provider {provider} is not in nodusctl.yaml any more"].append((address, thing))
        elif differs(account, accounts.get(provider, "")):
            changed = words(provider, account, accounts[provider])
            found[provider, changed[0].upper() + changed[1:]].append((address, thing))
    for (provider, why), things in sorted(found.items()):
        yield Stranded(provider=provider, why=why, things=tuple(things))


def _living(snapshot: Snapshot, objects: Iterable[StoredObject]) -> Iterator[tuple[str, str, Address, str]]:
    for stored in objects:
        for attempt in stored.attempts:
            if attempt.is_open and not attempt.is_released and attempt.machine is not None and attempt.terms is not None:
                yield attempt.terms.provider, attempt.terms.account, stored.record.address, f"machine {attempt.machine.id}"
    for standing in snapshot:
        disk = standing.status.volume
        if disk is not None and disk.disk_id:
            yield disk.provider, disk.account, standing.record.address, f"disk {disk.disk_id}"


def _current(stored: StoredObject) -> Attempt | None:
    found = next((one for one in stored.attempts if one.uid == stored.status.attempt_uid), None)
    return found if found is not None and found.machine is not None and found.terms is not None and not stored.intents else None


def _reshaped(
    objects: Iterable[StoredObject], machines: Mapping[str, Machine], accepted: Mapping[str, Machine]
) -> Iterator[tuple[Address, tuple[tuple[str, str, str], ...]]]:
    for stored in objects:
        attempt = _current(stored)
        machine = machines.get(attempt.machine.id) if attempt is not None and attempt.machine is not None else None
        if attempt is None or machine is None or machine.state in _OVER or stored.status.phase is not Phase.RUNNING:
            continue
        changes = shape_changes(accepted.get(attempt.uid), machine)
        if changes:
            yield stored.record.address, changes


def _lost(
    objects: Iterable[StoredObject], markets: Iterable[Market], machines: Mapping[str, Machine], now: datetime
) -> Iterator[tuple[Address, str]]:
    """Running sessions whose machine isn't listed any more, or has ended; the same words as drift's."""
    by_instance = {market.instance: market for market in markets if market.holdings is not None and market.description is not None}
    expected = {attempt.machine.id: (stored, attempt) for stored in objects if (attempt := _current(stored)) and attempt.machine}
    reports = {
        name: [
            machines.get(machine_id) or Machine(id=machine_id, state=MachineState.GONE)
            for machine_id, (_, attempt) in expected.items()
            if attempt.terms is not None and attempt.terms.provider == name
        ]
        for name in by_instance
    }
    for name, found in reports.items():
        description = by_instance[name].description
        doubts = believed(name, found)
        for machine in found:
            stored, attempt = expected[machine.id]
            if description is None or differs(attempt.terms.account if attempt.terms else "", description.account):
                continue
            is_doubted = isinstance(doubts[machine.id], Unknown)
            sight = Sight(provider=name, now=now, list_lag_bound=description.list_lag_bound, is_doubted=is_doubted)
            for one in machine_differences(stored.record.address, stored.status.phase, attempt, machine, sight):
                if isinstance(one, Difference) and one.kind in _LOST:
                    yield stored.record.address, one.message
