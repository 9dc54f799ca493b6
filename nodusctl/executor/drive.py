"""The loop: carries a set of objects on until nothing is due, nothing can be done, or the person or the clock says enough.

One thread decides and writes; provider calls run in threads of their own, at most ``parallelism`` at once. An object that waits holds
nothing: no claim, no lock, no thread. That is why fifty machines boot at the same time with ten calls in flight.

A pass of the loop takes the replies that are there, carries on what is ready, commits all it decided in one transaction, and only then
starts the calls it decided on.
"""

from __future__ import annotations

import itertools
import queue
from collections.abc import Iterable, Mapping, Sequence
from datetime import timedelta
from functools import partial

from nodusctl.base.copies import replace
from nodusctl.base.ids import Address
from nodusctl.base.money import Money
from nodusctl.executor.calling import Call
from nodusctl.executor.commits import Commits, PassClaims
from nodusctl.executor.fleet import Fleet
from nodusctl.executor.looking import TOGETHER_SECONDS, Answer, Known, LookCall, Together, asked_together
from nodusctl.executor.outside import Outside
from nodusctl.executor.passing import PassClock, PassProgress, PassRoom
from nodusctl.executor.remembering import RememberingJournal
from nodusctl.executor.runs import InFlight, Interrupts, Limits, ObjectOutcome, ObjectRun, Standing
from nodusctl.executor.turns import Turn, advance, finish_call
from nodusctl.executor.workers import Workers
from nodusctl.ports.journal import Claim, StaleClaim, StoredObject
from nodusctl.provider.replies import Unknown
from nodusctl.state.records import Record
from nodusctl.state.status import Phase

_HEARTBEAT_SECONDS = 10.0
_CALL_POLL_SECONDS = 0.5
_PASS_SECONDS = 0.05
"""After this long a pass commits what it has and lets its calls go out; the rest of the objects come in the next one."""


def drive(
    outside: Outside, objects: Iterable[tuple[str, Address]], addresses: Mapping[Address, str], limits: Limits, interrupts: Interrupts
) -> tuple[ObjectOutcome, ...]:
    """Carry the objects on; outcomes in the order given."""
    driver = _Driver(outside, tuple(objects), addresses, limits, interrupts)
    try:
        return driver.run()
    finally:
        driver.close()


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
        self._commits = Commits(outside.journal)
        self._journal = RememberingJournal(outside.journal, self._commits)
        self._clock, self._progress = PassClock(outside.clock), PassProgress(outside.progress)
        self._room = PassRoom(outside.guards_of, self._journal.room)
        self._outside = replace(
            outside,
            room_for=self._room_for,
            journal=self._journal,
            claims=PassClaims(outside.claims, self._commits),
            clock=self._clock,
            progress=self._progress,
            renew=self._journal.renew,
            built={},
        )
        self._journal.read_ahead(uid for uid, _ in objects)
        self._addresses, self._limits, self._interrupts = addresses, limits, interrupts
        self._fleet, self._workers = Fleet(objects), Workers()
        self._replies: queue.SimpleQueue[tuple[Answer, ...]] = queue.SimpleQueue()
        self._starting: list[tuple[str, int, Call]] = []
        self._looks = Together()
        self._numbers = itertools.count(1)
        self._ends_at = self._clock.now() + limits.timeout
        self._wall_ends_at = outside.wall.monotonic() + limits.timeout.total_seconds()

    def run(self) -> tuple[ObjectOutcome, ...]:
        while not self._interrupts.is_hard:
            self._interrupts.signal.clear()
            self._take_replies()
            self._wake()
            self._advance_ready()
            self._leave_waiting()
            self._keep_claims()
            self._commit()
            self._outside.progress.pulse()
            if self._is_over():
                break
            self._rest()
        self._journal.renew()
        return tuple(self._outcome(run) for run in self._fleet.all())

    def close(self) -> None:
        """Give back what is held, also where the run ends by an exception."""
        for run in self._fleet.all():
            if run.claim is not None:
                self._outside.claims.drop(run.claim)
                self._fleet.put(replace(run, claim=None))
        self._commits.flush()
        self._progress.tell()
        self._workers.close()

    def _take_replies(self) -> None:
        replies: list[Answer] = []
        while not self._replies.empty():
            replies += self._replies.get()
        self._clock.move()
        self._journal.renew()
        for answer in replies:
            self._finish(answer)

    def _room_for(self, record: Record) -> tuple[Money | None, Money | None]:
        self._room.renew(self._journal.moves, self._journal.postings)
        return self._room.left(record)

    def _finish(self, answer: Answer) -> None:
        run = self._fleet[answer.uid]
        if run.in_flight is None or run.in_flight.number != answer.number:
            return
        if answer.reply is None:
            self._fleet.put(replace(run, standing=Standing.READY, in_flight=None, looks_alone=True))
        else:
            self._fleet.put(finish_call(self._outside, run, answer.reply, self._addresses))

    def _wake(self) -> None:
        for run in self._fleet.due(self._clock.now()):
            self._fleet.put(replace(run, standing=Standing.READY))
        wall_now = self._outside.wall.monotonic()
        for run in self._fleet.standing(Standing.CLAIMED_ELSEWHERE):
            if run.wall_wake_at <= wall_now:
                self._fleet.put(replace(run, standing=Standing.READY))

    def _advance_ready(self) -> None:
        if self._interrupts.is_soft:
            return
        ends_at = self._outside.wall.monotonic() + _PASS_SECONDS
        for run in self._fleet.ready():
            while self._fleet[run.uid].standing is Standing.READY and self._has_room():
                self._advance(run.uid)
            if not self._has_room() or self._outside.wall.monotonic() >= ends_at:
                break

    def _has_room(self) -> bool:
        return self._calls_in_flight() < self._limits.parallelism

    def _leave_waiting(self) -> None:
        """A drive that waits for nothing leaves an object where it would have to; what is stored of it is where the next one goes on.

        Where it would wait to try something again that brought nothing, this drive has failed at it.
        """
        if self._limits.waits:
            return
        for run in self._fleet.standing(Standing.WAITING):
            self._fleet.put(replace(run, standing=Standing.OVER, code=run.trouble, is_waiting=True))
        for run in self._fleet.standing(Standing.CLAIMED_ELSEWHERE):
            waits_for = run.waits_for or "waits for somebody else who works on it"
            self._fleet.put(replace(run, standing=Standing.OVER, code="", is_waiting=True, waits_for=waits_for))

    def _advance(self, uid: str) -> None:
        turn = advance(self._outside, self._fleet[uid], self._addresses)
        self._fleet.put(turn.run)
        if turn.call is not None:
            self._plan_call(turn, turn.call)
        elif turn.run.standing is Standing.OVER:
            self._unpark()

    def _plan_call(self, turn: Turn, call: Call) -> None:
        uid, now = turn.run.uid, self._outside.wall.monotonic()
        look = call if isinstance(call, LookCall) and not turn.run.looks_alone else None
        number = (self._looks.number_for(look) if look is not None else None) or next(self._numbers)
        if look is not None:
            self._looks.add(number, uid, look)
        elif not isinstance(call, Known):
            self._starting.append((uid, number, call))
        flight = InFlight(step=turn.step, intent=turn.intent, number=number, started_at=now, heartbeat_at=now, is_together=look is not None)
        self._fleet.put(replace(turn.run, standing=Standing.CALLING, in_flight=flight))
        if isinstance(call, Known):
            self._finish(Answer(uid, number, call.reply))

    def _unpark(self) -> None:
        for run in self._fleet.standing(Standing.PARKED):
            self._fleet.put(replace(run, standing=Standing.READY))

    def _commit(self) -> None:
        """Everything this pass decided, and then its calls. An object whose claim turned out lost makes none."""
        self._commits.flush()
        for claim in self._commits.take_lost():
            self._lose(claim)
        self._fleet.forget_holders()
        starting, self._starting = self._starting, []
        for uid, number, call in starting:
            flight = self._fleet[uid].in_flight
            if flight is not None and flight.number == number:
                self._workers.run(partial(self._call, uid, number, call))
        for number, looks in self._looks.take():
            self._workers.run(partial(self._look, number, looks))
        self._progress.tell()

    def _lose(self, claim: Claim) -> None:
        self._journal.forget()
        run = self._fleet.holder(claim)
        if run is not None:
            # Taken over by somebody else, or given back because a hold no longer fits: either way it is decided again.
            self._progress.unsay(run.address)
            self._fleet.put(replace(run, standing=Standing.READY, claim=None, in_flight=None, is_removed=False, code=""))

    def _call(self, uid: str, number: int, call: Call) -> None:
        try:
            reply = call()
        except Exception as problem:  # a reach that raised is an answer nobody got
            reply = Unknown(detail=f"{type(problem).__name__}: {problem}")
        self._replies.put((Answer(uid, number, reply),))
        self._interrupts.signal.set()

    def _look(self, number: int, looks: Sequence[tuple[str, LookCall]]) -> None:
        self._replies.put(asked_together(number, looks))
        self._interrupts.signal.set()

    def _keep_claims(self) -> None:
        """Heartbeats of long calls; a call past its limit is given up as unknown, its late reply ignored."""
        now = self._outside.wall.monotonic()
        for run in self._fleet.standing(Standing.CALLING):
            flight = run.in_flight
            if flight is None:
                continue
            if flight.is_together and now - flight.started_at > TOGETHER_SECONDS:
                self._finish(Answer(run.uid, flight.number, None))
            elif now - flight.started_at > self._outside.call_limit.total_seconds():
                self._finish(Answer(run.uid, flight.number, Unknown(detail=f"no answer within {self._outside.call_limit}")))
            elif run.claim is not None and now - flight.heartbeat_at > _HEARTBEAT_SECONDS:
                self._fleet.put(replace(run, in_flight=replace(flight, heartbeat_at=now)))
                try:
                    self._outside.claims.heartbeat(run.claim)
                except StaleClaim:
                    continue

    def _is_over(self) -> bool:
        if self._calls_in_flight():
            return False
        if self._interrupts.is_soft:
            return True
        if not any(map(self._fleet.count, (Standing.READY, Standing.WAITING, Standing.CLAIMED_ELSEWHERE))):
            return True
        return self._is_out_of_time()

    def _is_out_of_time(self) -> bool:
        self._clock.move()
        return self._clock.now() >= self._ends_at or self._outside.wall.monotonic() >= self._wall_ends_at

    def _rest(self) -> None:
        """Until a reply, an interrupt, or the earliest wake-up; a simulated world moves only when nobody works."""
        if self._fleet.count(Standing.READY) and self._has_room():
            return
        signal, wake_at = self._interrupts.signal, self._fleet.first_wake
        if self._fleet.count(Standing.CLAIMED_ELSEWHERE):
            signal.wait(timeout=0.1)
        elif wake_at is not None and not self._interrupts.is_soft:
            self._outside.clock.wait(min(wake_at, self._ends_at + timedelta(milliseconds=1)), signal, self._calls_in_flight)
        else:
            signal.wait(timeout=_CALL_POLL_SECONDS)

    def _calls_in_flight(self) -> int:
        return self._fleet.calls_in_flight

    def _outcome(self, run: ObjectRun) -> ObjectOutcome:
        stored = self._journal.load(run.uid) if not run.is_removed else None
        is_ok = run.standing is Standing.OVER and not run.code
        code, message = run.code, run.because
        if not is_ok and not code:
            why = f"; it {run.waits_for}" if run.waits_for else ""
            code, message = "Unfinished", f"still {run.phase or 'Pending'}{why}; the next apply goes on"
        return ObjectOutcome(
            address=run.address,
            phase=str(stored.status.phase) if stored is not None else "Removed",
            is_ok=is_ok,
            code=code,
            message="" if is_ok else message,
            has_open_intent=bool(stored is not None and stored.intents),
            is_removed=stored is None,
            waits_for=_waited_for(run, stored) if is_ok else "",
        )


def _waited_for(run: ObjectRun, stored: StoredObject | None) -> str:
    """What an object was left waiting for; a machine that doesn't answer is waited for too, though nothing is due."""
    if run.is_waiting:
        return run.waits_for or run.because
    if stored is None or stored.status.phase is not Phase.RUNNING:
        return ""
    silent = next((one for one in stored.status.conditions if one.type == "NodeUnreachable" and one.status == "True"), None)
    return f"its machine doesn't answer: {silent.message}" if silent is not None else ""
