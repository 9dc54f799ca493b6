"""The objects of one run, found by what they are doing. Keeps order: objects come in the order they were given."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from datetime import datetime

from nodusctl.base.ids import Address
from nodusctl.executor.runs import ObjectRun, Standing
from nodusctl.lifecycle.situation import Sightings
from nodusctl.ports.journal import Claim


class Fleet:
    """Where each object is. Asking costs what is found, not what there is: a thousand objects are asked about at each pass."""

    def __init__(self, objects: Iterable[tuple[str, Address]]) -> None:
        runs = [ObjectRun(uid=uid, address=address, sightings=Sightings()) for uid, address in objects]
        self._runs = {run.uid: run for run in runs}
        self._places = {uid: place for place, uid in enumerate(self._runs)}
        self._standing: dict[Standing, set[str]] = {standing: set() for standing in Standing}
        self._standing[Standing.READY] |= set(self._runs)
        self._flights: Counter[int] = Counter()
        self._holders: dict[Claim, str] = {}
        self._let_go: list[Claim] = []
        self._first_wake: datetime | None = None

    def __getitem__(self, uid: str) -> ObjectRun:
        return self._runs[uid]

    def put(self, run: ObjectRun) -> None:
        """The object's new standing."""
        before = self._runs[run.uid]
        self._runs[run.uid] = run
        if before.standing is not run.standing:
            self._standing[before.standing].discard(run.uid)
            self._standing[run.standing].add(run.uid)
        if before.in_flight is not run.in_flight:
            self._count_flights(before, run)
        if run.standing is Standing.WAITING and run.wake_at is not None:
            self._first_wake = min(self._first_wake or run.wake_at, run.wake_at)
        if before.claim is not run.claim:
            self._let_go += [before.claim] if before.claim is not None else []
            self._holders |= {run.claim: run.uid} if run.claim is not None else {}

    def _count_flights(self, before: ObjectRun, run: ObjectRun) -> None:
        if run.in_flight is not None:
            self._flights[run.in_flight.number] += 1
        if before.in_flight is not None:
            self._flights[before.in_flight.number] -= 1
            if not self._flights[before.in_flight.number]:
                del self._flights[before.in_flight.number]

    @property
    def calls_in_flight(self) -> int:
        """How many calls are out; one that several objects wait for is one."""
        return len(self._flights)

    def all(self) -> tuple[ObjectRun, ...]:
        """Every object."""
        return tuple(self._runs.values())

    def standing(self, standing: Standing) -> tuple[ObjectRun, ...]:
        """The objects that stand so."""
        return tuple(self._runs[uid] for uid in sorted(self._standing[standing], key=self._places.__getitem__))

    def count(self, standing: Standing) -> int:
        """How many stand so."""
        return len(self._standing[standing])

    def due(self, now: datetime) -> tuple[ObjectRun, ...]:
        """Those whose wait is over."""
        if self._first_wake is None or self._first_wake > now:
            return ()
        waiting = self.standing(Standing.WAITING)
        self._first_wake = min((run.wake_at for run in waiting if run.wake_at is not None and run.wake_at > now), default=None)
        return tuple(run for run in waiting if run.wake_at is not None and run.wake_at <= now)

    @property
    def first_wake(self) -> datetime | None:
        """When the next wait is over; None while nobody waits."""
        return self._first_wake

    def holder(self, claim: Claim) -> ObjectRun | None:
        """The object that holds the claim, or held it since ``forget_holders``."""
        uid = self._holders.get(claim)
        return self._runs[uid] if uid is not None else None

    def forget_holders(self) -> None:
        """Only who holds a claim now is its holder."""
        for claim in self._let_go:
            self._holders.pop(claim, None)
        self._let_go.clear()
