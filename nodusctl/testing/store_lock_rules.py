"""Claims and the plan lock: one holder, fences that rise, the dead broken and told, other hosts left alone."""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta

import pytest

from nodusctl.attempts.events import Remarked
from nodusctl.ports.claims import Liveness, Locked
from nodusctl.ports.journal import Claim, StaleClaim
from nodusctl.store.holders import this_holder
from nodusctl.testing.store_hooks import LIMIT, StoreHooks, StoreUnderTest, foreign_holder, gone_holder

NO_TIME = timedelta(0)


class LockRules(StoreHooks):
    """Who may do what."""

    def test_one_holder_at_a_time(self, store: StoreUnderTest) -> None:
        """A claim held by a living process is refused to all others, and free again once dropped."""
        store.found()
        first = store.claim()
        assert store.claims.claim("uid-lab", "stop", LIMIT) is None
        assert store.claims.claim("uid-other", "stop", LIMIT) is not None
        store.claims.drop(first)
        assert store.claim().fence == first.fence + 1

    def test_a_hammered_claim_has_one_winner(self, store: StoreUnderTest) -> None:
        """Sixteen threads at one object: exactly one gets it, each round, and fences never repeat."""
        store.found()
        claims = store.claims
        fences: list[int] = []
        with ThreadPoolExecutor(16) as pool:
            for _ in range(5):
                barrier = threading.Barrier(16)

                def contend(_: int, barrier: threading.Barrier = barrier) -> Claim | None:
                    barrier.wait()
                    return claims.claim("uid-lab", "launch", LIMIT)

                winners = [claim for claim in pool.map(contend, range(16)) if claim is not None]
                assert len(winners) == 1
                fences.append(winners[0].fence)
                claims.drop(winners[0])
        assert fences == sorted(set(fences))

    def test_a_dead_holders_claim_is_broken_and_told(self, store: StoreUnderTest) -> None:
        """Whoever needs the object takes it from a process that is gone, and the journal says so."""
        store.found()
        dead = store.claims_of(gone_holder()).claim("uid-lab", "launch", LIMIT)
        assert dead is not None
        assert store.claims.claimed()[0][3] is Liveness.DEAD
        assert store.claim().fence == dead.fence + 1
        assert _remarks(store, "uid-lab") == ["ClaimBroken"]

    def test_another_hosts_claim_stands_until_it_expires(self, store: StoreUnderTest) -> None:
        """Its process can't be judged from here, so only its limit plus 30 s ends it, and then the journal says so."""
        store.found()
        assert store.claims_of(foreign_holder()).claim("uid-lab", "launch", LIMIT) is not None
        store.wall.sleep(LIMIT.total_seconds() + 29)
        assert store.claims.claim("uid-lab", "stop", LIMIT) is None
        assert (store.claims.claimed()[0][3], _remarks(store, "uid-lab")) == (Liveness.UNKNOWN, [])
        store.wall.sleep(1)
        assert store.claims.claim("uid-lab", "stop", LIMIT) is not None
        assert _remarks(store, "uid-lab") == ["ClaimBroken"]

    def test_a_stop_preempts(self, store: StoreUnderTest) -> None:
        """Preempting always succeeds and makes the former holder's claim stale."""
        store.found()
        starting = store.claim()
        stopping = store.claims.preempt("uid-lab", "stop", LIMIT)
        assert stopping.fence == starting.fence + 1
        with pytest.raises(StaleClaim):
            store.claims.heartbeat(starting)
        store.claims.heartbeat(stopping)
        store.claims.drop(starting)
        assert [(uid, step) for uid, step, _, _ in store.claims.claimed()] == [("uid-lab", "stop")]
        assert _remarks(store, "uid-lab") == ["ClaimPreempted"]

    def test_whoever_is_in_the_way_can_be_named(self, store: StoreUnderTest) -> None:
        """At which step, since when nothing was heard of it, and when its claim runs out; nobody once it is given back."""
        store.found()
        assert store.claims.work_on("uid-lab") is None
        theirs = store.claims_of(foreign_holder())
        claim = theirs.claim("uid-lab", "launch", LIMIT)
        assert claim is not None
        store.wall.sleep(20)
        theirs.heartbeat(claim)
        store.wall.sleep(12)
        work = store.claims.work_on("uid-lab")
        assert work is not None
        assert (work.step, work.holder, work.liveness) == ("launch", foreign_holder(), Liveness.UNKNOWN)
        assert (work.silent_for, work.ends_in) == (timedelta(seconds=12), LIMIT + timedelta(seconds=30 - 32))
        assert work.shown == "bob@elsewhere.example pid 1 (nodusctl apply) at launch"
        theirs.drop(claim)
        assert store.claims.work_on("uid-lab") is None

    def test_a_free_object_is_preempted_silently(self, store: StoreUnderTest) -> None:
        """Nothing is remarked where nobody was disturbed."""
        store.found()
        store.claims.drop(store.claims.preempt("uid-lab", "stop", LIMIT))
        assert (store.claims.claimed(), store.journal.events()) == ((), ())

    def test_the_plan_lock_is_taken_once(self, store: StoreUnderTest) -> None:
        """A second taker waits for its time limit, then learns all about the holder; a dropped lock is free."""
        lock_id = store.claims.take_plan_lock("nodusctl apply", NO_TIME)
        before = store.wall.monotonic()
        with pytest.raises(Locked) as refusal:
            store.claims.take_plan_lock("nodusctl tick", timedelta(seconds=3))
        assert store.wall.monotonic() - before >= 3
        lock, holder = refusal.value.lock, this_holder("nodusctl apply")
        assert (lock.id, lock.holder, lock.liveness) == (lock_id, holder, Liveness.ALIVE)
        assert lock.heartbeat_at >= lock.started_at
        store.claims.drop_plan_lock("another id")
        assert store.claims.plan_lock() is not None
        store.claims.drop_plan_lock(lock_id)
        assert store.claims.plan_lock() is None
        assert store.claims.take_plan_lock("nodusctl tick", NO_TIME) != lock_id

    def test_a_dead_holders_lock_is_broken_and_told(self, store: StoreUnderTest) -> None:
        """Looking never breaks it; whoever needs it does, and the journal says so."""
        store.found()
        dead = store.claims_of(gone_holder()).take_plan_lock("nodusctl apply", NO_TIME)
        seen = store.claims.plan_lock()
        assert seen is not None
        assert (seen.id, seen.liveness) == (dead, Liveness.DEAD)
        assert store.claims.take_plan_lock("nodusctl apply", NO_TIME) != dead
        assert _remarks(store, "") == ["LockBroken"]

    def test_another_hosts_lock_is_never_broken(self, store: StoreUnderTest) -> None:
        """However old it is, only a person removes it."""
        store.found()
        lock_id = store.claims_of(foreign_holder()).take_plan_lock("nodusctl apply", NO_TIME)
        store.wall.sleep(7 * 24 * 3600)
        with pytest.raises(Locked) as refusal:
            store.claims.take_plan_lock("nodusctl apply", NO_TIME)
        assert (refusal.value.lock.id, refusal.value.lock.liveness) == (lock_id, Liveness.UNKNOWN)
        assert store.journal.events() == ()

    def test_unlock_wants_the_right_id(self, store: StoreUnderTest) -> None:
        """Another id changes nothing; the right one removes the lock, and the journal says so."""
        assert store.claims.unlock("wrong") is False
        store.found()
        lock_id = store.claims_of(foreign_holder()).take_plan_lock("nodusctl apply", NO_TIME)
        assert store.claims.unlock("wrong") is False
        assert store.claims.plan_lock() is not None
        assert store.claims.unlock(lock_id) is True
        assert store.claims.plan_lock() is None
        assert _remarks(store, "") == ["LockRemoved"]


def _remarks(store: StoreUnderTest, uid: str) -> list[str]:
    events = [row.event for row in store.journal.events() if row.event.object_uid == uid]
    return [event.code for event in events if isinstance(event, Remarked)]
