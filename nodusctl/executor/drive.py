"""The loop: carries a set of objects on until nothing is due, nothing can be done, or the person or the clock says enough.

One thread decides and writes; provider calls run in threads of their own, at most ``parallelism`` at once. An object that waits holds
nothing: no claim, no lock, no thread. That is why fifty machines boot at the same time with ten calls in flight.
"""

from __future__ import annotations

import queue
import threading
from collections.abc import Iterable, Mapping
from dataclasses import replace
from datetime import datetime, timedelta
from typing import Any

from nodusctl.base.ids import Address
from nodusctl.executor.calling import Call
from nodusctl.executor.outside import Outside
from nodusctl.executor.remembering import RememberingJournal
from nodusctl.executor.runs import InFlight, Interrupts, Limits, ObjectOutcome, ObjectRun, Standing
from nodusctl.executor.turns import advance, finish_call
from nodusctl.lifecycle.situation import Sightings
from nodusctl.ports.journal import StaleClaim
from nodusctl.provider.replies import Reply, Unknown

_HEARTBEAT_SECONDS = 10.0
_CALL_POLL_SECONDS = 0.5


def drive(
    outside: Outside, objects: Iterable[tuple[str, Address]], addresses: Mapping[Address, str], limits: Limits, interrupts: Interrupts
) -> tuple[ObjectOutcome, ...]:
    """Carry the objects on; outcomes in the order given."""
    journal = RememberingJournal(outside.journal, outside.wall)
    outside = replace(outside, journal=journal, forget=journal.forget, age=journal.age)
    driver = _Driver(outside, tuple(objects), addresses, limits, interrupts)
    try:
        return driver.run()
    finally:
        driver.drop_claims()


class _Driver:
    """The loop's own memory; lives for one ``drive``."""

    def __init__(
        self,
        outside: Outside,
        objects: tuple[tuple[str, Address], ...],
        addresses: Mapping[Address, str],
        limits: Limits,
        interrupts: Interrupts,
    ) -> None:
        self._outside, self._addresses = outside, addresses
        self._limits, self._interrupts = limits, interrupts
        self._runs = {uid: ObjectRun(uid=uid, address=address, sightings=Sightings()) for uid, address in objects}
        self._replies: queue.SimpleQueue[tuple[str, int, Reply[Any]]] = queue.SimpleQueue()
        self._numbers = 0
        self._ends_at = outside.clock.now() + limits.timeout
        self._wall_ends_at = outside.wall.monotonic() + limits.timeout.total_seconds()

    def run(self) -> tuple[ObjectOutcome, ...]:
        while not self._interrupts.is_hard:
            self._interrupts.signal.clear()
            self._take_replies()
            self._wake()
            self._advance_ready()
            self._keep_claims()
            self._outside.progress.pulse()
            if self._is_over():
                break
            self._rest()
        return tuple(self._outcome(run) for run in self._runs.values())

    def drop_claims(self) -> None:
        """Give back what is held, also where the run ends by an exception."""
        for uid, run in self._runs.items():
            if run.claim is not None:
                self._outside.claims.drop(run.claim)
                self._runs[uid] = replace(run, claim=None)

    def _advance_ready(self) -> None:
        if self._interrupts.is_soft:
            return
        for uid in [uid for uid, run in self._runs.items() if run.standing is Standing.READY]:
            while self._runs[uid].standing is Standing.READY and self._calls_in_flight() < self._limits.parallelism:
                self._advance(uid)

    def _advance(self, uid: str) -> None:
        turn = advance(self._outside, self._runs[uid], self._addresses)
        self._runs[uid] = turn.run
        if turn.call is not None:
            self._start(uid, turn)
        elif turn.run.standing is Standing.OVER:
            self._unpark()

    def _start(self, uid: str, turn: Any) -> None:
        self._numbers += 1
        now = self._outside.wall.monotonic()
        flight = InFlight(step=turn.step, intent=turn.intent, number=self._numbers, started_at=now, heartbeat_at=now)
        self._runs[uid] = replace(turn.run, standing=Standing.CALLING, in_flight=flight)
        thread = threading.Thread(target=self._call, args=(uid, self._numbers, turn.call), daemon=True, name=f"call-{uid[:8]}")
        thread.start()

    def _call(self, uid: str, number: int, call: Call) -> None:
        try:
            reply = call()
        except Exception as problem:  # a reach that raised is an answer nobody got
            reply = Unknown(detail=f"{type(problem).__name__}: {problem}")
        self._replies.put((uid, number, reply))
        self._interrupts.signal.set()

    def _take_replies(self) -> None:
        while not self._replies.empty():
            uid, number, reply = self._replies.get()
            self._finish(uid, number, reply)

    def _finish(self, uid: str, number: int, reply: Reply[Any]) -> None:
        run = self._runs[uid]
        if run.in_flight is None or run.in_flight.number != number:
            return
        self._runs[uid] = finish_call(self._outside, run, reply, self._addresses)

    def _wake(self) -> None:
        now, wall_now = self._outside.clock.now(), self._outside.wall.monotonic()
        for uid, run in self._runs.items():
            is_due = run.standing is Standing.WAITING and run.wake_at is not None and run.wake_at <= now
            is_due = is_due or (run.standing is Standing.CLAIMED_ELSEWHERE and run.wall_wake_at <= wall_now)
            if is_due:
                self._awaken(uid, run)

    def _awaken(self, uid: str, run: ObjectRun) -> None:
        self._outside.age(run.reads or (uid,))
        self._runs[uid] = replace(run, standing=Standing.READY)

    def _unpark(self) -> None:
        for uid, run in self._runs.items():
            if run.standing is Standing.PARKED:
                self._awaken(uid, run)

    def _keep_claims(self) -> None:
        """Heartbeats of long calls; a call past its limit is given up as unknown, its late reply ignored."""
        now = self._outside.wall.monotonic()
        for uid, run in self._runs.items():
            flight = run.in_flight
            if flight is None:
                continue
            if now - flight.started_at > self._outside.call_limit.total_seconds():
                self._finish(uid, flight.number, Unknown(detail=f"no answer within {self._outside.call_limit}"))
            elif run.claim is not None and now - flight.heartbeat_at > _HEARTBEAT_SECONDS:
                self._runs[uid] = replace(run, in_flight=replace(flight, heartbeat_at=now))
                try:
                    self._outside.claims.heartbeat(run.claim)
                except StaleClaim:
                    continue

    def _is_over(self) -> bool:
        if self._calls_in_flight():
            return False
        if self._interrupts.is_soft:
            return True
        standings = {run.standing for run in self._runs.values()}
        if not standings & {Standing.READY, Standing.WAITING, Standing.CLAIMED_ELSEWHERE}:
            return True
        return self._is_out_of_time()

    def _is_out_of_time(self) -> bool:
        return self._outside.clock.now() >= self._ends_at or self._outside.wall.monotonic() >= self._wall_ends_at

    def _rest(self) -> None:
        """Until a reply, an interrupt, or the earliest wake-up; a simulated world moves only when nobody works."""
        if any(run.standing is Standing.READY for run in self._runs.values()) and self._calls_in_flight() < self._limits.parallelism:
            return
        signal = self._interrupts.signal
        if any(run.standing is Standing.CLAIMED_ELSEWHERE for run in self._runs.values()):
            signal.wait(timeout=0.1)
            return
        wakes = [run.wake_at for run in self._runs.values() if run.standing is Standing.WAITING and run.wake_at is not None]
        if wakes and not self._interrupts.is_soft:
            self._outside.clock.wait(self._first_wake(wakes), signal, self._calls_in_flight)
        else:
            signal.wait(timeout=_CALL_POLL_SECONDS)

    def _first_wake(self, wakes: list[datetime]) -> datetime:
        return min(*wakes, self._ends_at + timedelta(milliseconds=1))

    def _calls_in_flight(self) -> int:
        return sum(1 for run in self._runs.values() if run.in_flight is not None)

    def _outcome(self, run: ObjectRun) -> ObjectOutcome:
        self._outside.forget((run.uid,))
        stored = self._outside.journal.load(run.uid) if not run.is_removed else None
        is_ok = run.standing is Standing.OVER and not run.code
        code, message = run.code, run.because
        if not is_ok and not code:
            code, message = "Unfinished", f"still {run.phase or 'Pending'}; the next apply goes on"
        return ObjectOutcome(
            address=run.address,
            phase=str(stored.status.phase) if stored is not None else "Removed",
            is_ok=is_ok,
            code=code,
            message="" if is_ok else message,
            has_open_intent=bool(stored is not None and stored.intents),
            is_removed=stored is None,
        )
