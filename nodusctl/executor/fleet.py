"""The objects of one run, found by what they are doing. Keeps order: objects come in the order they were given."""

from __future__ import annotations

from bisect import bisect_left, bisect_right, insort
from collections import Counter
from collections.abc import Iterable, Iterator
from datetime import datetime
from heapq import heappop, heappush

from nodusctl.base.ids import Address
from nodusctl.executor.runs import ObjectRun, Standing
from nodusctl.lifecycle.situation import Sightings
from nodusctl.ports.journal import Claim


class Fleet:
    """Where each object is. Asking costs what is found, not what there is: a thousand objects are asked about at each pass.

    An object's place is its number in the order given; what stands alike is kept as places that ascend. Wake-ups are a heap, and one that
    no longer holds stays in it until it comes up.
    """

    def __init__(self, objects: Iterable[tuple[str, Address]]) -> None:
        runs = [ObjectRun(uid=uid, address=address, sightings=Sightings()) for uid, address in objects]
        self._runs = {run.uid: run for run in runs}
        self._uids = tuple(self._runs)
        self._places = {uid: place for place, uid in enumerate(self._uids)}
        self._standing: dict[Standing, list[int]] = {standing: [] for standing in Standing}
        self._standing[Standing.READY] += range(len(self._uids))
        self._flights: Counter[int] = Counter()
        self._holders: dict[Claim, str] = {}
        self._let_go: list[Claim] = []
        self._wakes: list[tuple[datetime, int]] = []

    def __getitem__(self, uid: str) -> ObjectRun:
        return self._runs[uid]

    def put(self, run: ObjectRun) -> None:
        """The object's new standing."""
        before = self._runs[run.uid]
        self._runs[run.uid] = run
        if before.standing is not run.standing:
            self._move(self._places[run.uid], self._standing[before.standing], self._standing[run.standing])
        if before.in_flight is not run.in_flight:
            self._count_flights(before, run)
        wake_at = _wake_of(run)
        if wake_at is not None and wake_at != _wake_of(before):
            heappush(self._wakes, (wake_at, self._places[run.uid]))
        if before.claim is not run.claim:
            self._let_go += [before.claim] if before.claim is not None else []
            self._holders |= {run.claim: run.uid} if run.claim is not None else {}

    @staticmethod
    def _move(place: int, there: list[int], here: list[int]) -> None:
        del there[bisect_left(there, place)]
        insort(here, place)

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
        return tuple(self._at(place) for place in self._standing[standing])

    def ready(self) -> Iterator[ObjectRun]:
        """The objects that are ready, one after the other as they are asked for: where a few are taken, the rest cost nothing."""
        places, last = self._standing[Standing.READY], -1
        while (index := bisect_right(places, last)) < len(places):
            last = places[index]
            yield self._at(last)

    def count(self, standing: Standing) -> int:
        """How many stand so."""
        return len(self._standing[standing])

    def due(self, now: datetime) -> tuple[ObjectRun, ...]:
        """Those whose wait is over."""
        places: set[int] = set()
        while (wake_at := self.first_wake) is not None and wake_at <= now:
            places.add(heappop(self._wakes)[1])
        return tuple(self._at(place) for place in sorted(places))

    @property
    def first_wake(self) -> datetime | None:
        """When the next wait is over; None while nobody waits."""
        while self._wakes and self._wakes[0][0] != _wake_of(self._at(self._wakes[0][1])):
            heappop(self._wakes)
        return self._wakes[0][0] if self._wakes else None

    def _at(self, place: int) -> ObjectRun:
        return self._runs[self._uids[place]]

    def holder(self, claim: Claim) -> ObjectRun | None:
        """The object that holds the claim, or held it since ``forget_holders``."""
        uid = self._holders.get(claim)
        return self._runs[uid] if uid is not None else None

    def forget_holders(self) -> None:
        """Only who holds a claim now is its holder."""
        for claim in self._let_go:
            self._holders.pop(claim, None)
        self._let_go.clear()


def _wake_of(run: ObjectRun) -> datetime | None:
    return run.wake_at if run.standing is Standing.WAITING else None
