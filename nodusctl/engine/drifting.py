"""``drift``: what providers report against what the record's phases and edges imply. It reads, and writes nothing; no lock is taken.

Files are never looked at, so that a nightly check tells "somebody changed the machine" from "somebody merged YAML that isn't applied yet".
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime

from nodusctl.attempts.attempt import Attempt
from nodusctl.attempts.events import LaunchAccepted
from nodusctl.base.exits import ExitCode
from nodusctl.engine.pass_times import PassTimes
from nodusctl.engine.surveying import Found, Survey, survey
from nodusctl.engine.watching import believed
from nodusctl.lifecycle.differing import Difference, Due, Sight, disk_differences, machine_differences, stray_difference
from nodusctl.ports.journal import Journal, StoredObject
from nodusctl.ports.passes import Passes
from nodusctl.ports.providers import ProviderSet
from nodusctl.provider.machines import Machine, MachineState
from nodusctl.provider.replies import Unknown
from nodusctl.provider.tokens import ownership_of
from nodusctl.state.snapshot import Snapshot
from nodusctl.state.status import Phase

LIVING = frozenset({MachineState.PENDING, MachineState.RUNNING})
_ATTACHED_IN = frozenset({Phase.STARTING, Phase.RUNNING})


@dataclass(frozen=True, slots=True, kw_only=True)
class DriftReport:
    """``compared`` counts machines and disks of the record that were compared; ``failures`` are instances that could not be asked."""

    differences: tuple[Difference, ...]
    due: tuple[Due, ...]
    failures: Mapping[str, str]
    compared: int

    @property
    def exit_code(self) -> ExitCode:
        """3 for drift, whatever else went wrong: what was found is certain. Else 1 where an instance could not be asked, else 0."""
        if self.differences:
            return ExitCode.DRIFT
        return ExitCode.ERROR if self.failures else ExitCode.DONE


def find_drift(*, journal: Journal, passes: Passes, providers: ProviderSet, now: datetime) -> DriftReport:
    """Compare everything of the record that should be outside. Never raises for what a provider does."""
    snapshot = journal.snapshot()
    objects = outside_objects(journal, snapshot)
    seen = survey(providers, objects.values())
    comparison = _Comparison(
        snapshot=snapshot,
        objects=objects,
        seen=seen,
        accepted=accepted_machines(journal, objects.values()),
        last_seen=PassTimes(passes),
        now=now,
    )
    found = tuple(comparison.all())
    return DriftReport(
        differences=tuple(one for one in found if isinstance(one, Difference)),
        due=tuple(one for one in found if isinstance(one, Due)),
        failures=seen.failures,
        compared=sum(len(one.machines) + len(one.disks) for one in seen.found.values()),
    )


def outside_objects(journal: Journal, snapshot: Snapshot) -> Mapping[str, StoredObject]:
    """Everything about the objects that have, or may have, something outside."""
    return journal.load_many(
        standing.record.uid
        for standing in snapshot
        if standing.status.attempt_uid or standing.has_open_intent or (standing.status.volume and standing.status.volume.disk_id)
    )


def accepted_machines(journal: Journal, objects: Iterable[StoredObject]) -> Mapping[str, Machine]:
    """Machines of open Attempts as they were made, by Attempt uid: later reports are kept too, and would hide what changed."""
    wanted = {attempt.uid for one in objects for attempt in one.attempts if attempt.is_open and attempt.machine is not None}
    if not wanted:
        return {}
    with journal.books() as books:
        events = books.events({LaunchAccepted})
        return {e.attempt_uid: e.machine for e in events if isinstance(e, LaunchAccepted) and e.attempt_uid in wanted}


@dataclass(frozen=True, slots=True, kw_only=True)
class _Comparison:
    """One walk over the record, then over what else carries its mark."""

    snapshot: Snapshot
    objects: Mapping[str, StoredObject]
    seen: Survey
    accepted: Mapping[str, Machine]
    last_seen: PassTimes
    now: datetime

    def all(self) -> Iterator[Difference | Due]:
        """Everything, object by object."""
        for stored in self.objects.values():
            yield from self._of_object(stored)
        for found in self.seen.found.values():
            yield from self._strays(found)

    def _of_object(self, stored: StoredObject) -> Iterator[Difference | Due]:
        for intent in stored.intents:
            message = f"its step {intent.step.value} isn't settled; the next pass asks what became of it"
            yield Due(address=stored.record.address, thing="", message=message)
        if stored.intents:
            return
        for attempt in stored.attempts:
            if attempt.is_open and not attempt.is_released and attempt.machine is not None:
                yield from self._of_machine(stored, attempt)
        yield from self._of_disk(stored)

    def _of_machine(self, stored: StoredObject, attempt: Attempt) -> Iterator[Difference | Due]:
        assert attempt.terms is not None and attempt.machine is not None
        found = self.seen.found.get(attempt.terms.provider)
        machine = found.machines.get(attempt.machine.id) if found is not None else None
        if found is None or machine is None:
            return
        if attempt.uid != stored.status.attempt_uid:
            yield Due(address=stored.record.address, thing=machine.id, message="an earlier machine of it is being given back")
            return
        yield from machine_differences(stored.record.address, stored.status.phase, attempt, machine, self._sight(found, attempt, machine))

    def _sight(self, found: Found, attempt: Attempt, machine: Machine) -> Sight:
        doubts = believed(found.instance, tuple(found.machines.values()))
        known = [self.last_seen(found.instance), attempt.timings.ready_at, attempt.timings.acquired_at]
        return Sight(
            provider=found.instance,
            now=self.now,
            list_lag_bound=found.list_lag_bound,
            last_seen_at=max((moment for moment in known if moment is not None), default=None),
            accepted=self.accepted.get(attempt.uid),
            is_doubted=isinstance(doubts.get(machine.id), Unknown),
        )

    def _of_disk(self, stored: StoredObject) -> Iterator[Difference]:
        standing = stored.status.volume
        found = self.seen.found.get(standing.provider) if standing is not None else None
        disk = found.disks.get(standing.disk_id) if found is not None and standing is not None else None
        if standing is None or found is None or disk is None:
            return
        sight = Sight(provider=found.instance, now=self.now, list_lag_bound=found.list_lag_bound)
        wanted_at = self._wanted_at(standing.holder.attempt_uid, found) if standing.holder is not None else ""
        yield from disk_differences(stored.record.address, standing, disk, disk.attached_to if wanted_at is None else wanted_at, sight)

    def _wanted_at(self, attempt_uid: str, found: Found) -> str | None:
        """The machine its holder's session should have the disk at; None while it is on its way there or back, or its machine is none."""
        for stored in self.objects.values():
            attempt = next((one for one in stored.attempts if one.uid == attempt_uid), None)
            if attempt is None:
                continue
            machine = found.machines.get(attempt.machine.id) if attempt.machine is not None else None
            is_at_work = not stored.intents and stored.status.phase in _ATTACHED_IN and bool(attempt.attached_disks)
            return machine.id if is_at_work and machine is not None and machine.state in LIVING else None
        return None

    def _strays(self, found: Found) -> Iterator[Difference | Due]:
        by_uid = {standing.record.uid: standing for standing in self.snapshot}
        for machine in found.holdings.machines:
            owner = ownership_of(machine.tags)
            standing = by_uid.get(owner.object_uid) if owner is not None and owner.state_id == self.snapshot.lineage else None
            if standing is None or machine.state not in LIVING or machine.id in found.machines:
                continue
            address = standing.record.address
            if standing.has_open_intent:
                yield Due(address=address, thing=machine.id, message="its machine is being made")
                continue
            sight = Sight(provider=found.instance, now=self.now, list_lag_bound=found.list_lag_bound)
            yield stray_difference(address, machine, self._current_machine(standing.record.uid), sight)

    def _current_machine(self, uid: str) -> str:
        stored = self.objects.get(uid)
        attempt = next((one for one in stored.attempts if one.uid == stored.status.attempt_uid), None) if stored is not None else None
        return attempt.machine.id if attempt is not None and attempt.machine is not None else ""
