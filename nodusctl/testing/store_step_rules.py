"""``open`` and ``close``: all or none, only under the newest claim, each intent closed once; and the money they move."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta

import pytest

from nodusctl.attempts.attempt import fold
from nodusctl.attempts.events import CapacityEnded, OutcomeUnknown, StopAsked
from nodusctl.attempts.intents import IntentState
from nodusctl.ports.journal import Closing, Opening, StaleClaim
from nodusctl.state.status import ObjectStatus, Phase
from nodusctl.testing.store_hooks import LAB, LIMIT, NOON, StoreHooks, StoreUnderTest, a_capture, a_hold, an_intent, an_opening

CLOSED = IntentState.CLOSED


class StepRules(StoreHooks):
    """Steps and money."""

    def test_an_opening_is_there_at_once(self, store: StoreUnderTest) -> None:
        """Intent, Attempt, hold and status stand together once ``open`` returns."""
        store.found()
        claim = store.claim()
        store.journal.open(replace(an_opening(claim), statuses={"uid-lab": ObjectStatus(phase=Phase.STARTING)}))
        stored = store.journal.load("uid-lab")
        assert stored is not None
        assert (stored.intents, stored.entries, stored.status.phase) == ((an_intent(),), (a_hold(),), Phase.STARTING)
        assert [attempt.uid for attempt in stored.attempts] == ["attempt-1"]
        assert store.journal.open_intents() == (an_intent(),)

    def test_an_open_intent_marks_both_objects(self, store: StoreUnderTest) -> None:
        """The Snapshot marks the object that opened an intent and the one it changes; only the first loads it."""
        store.found("lab", "home")
        claim = store.claim()
        intent = an_intent(target_uid="uid-home")
        store.journal.open(Opening(claim=claim, intent=intent))
        assert [standing.has_open_intent for standing in store.journal.snapshot()] == [True, True]
        loaded = store.journal.load_many(["uid-lab", "uid-home", "uid-nobody"])
        assert {uid: len(stored.intents) for uid, stored in loaded.items()} == {"uid-lab": 1, "uid-home": 0}
        store.journal.close(Closing(claim=claim, intent=replace(intent, state=CLOSED)))
        assert [standing.has_open_intent for standing in store.journal.snapshot()] == [False, False]

    def test_a_closing_folds_its_events_into_the_attempt(self, store: StoreUnderTest) -> None:
        """What is stored of an Attempt equals the fold of the whole journal, whatever order batches came in."""
        store.found()
        claim = store.claim()
        store.journal.open(an_opening(claim))
        asked = StopAsked(time=NOON + timedelta(hours=1), object_uid="uid-lab", attempt_uid="attempt-1", reason="Owner")
        ended = CapacityEnded(
            time=NOON + timedelta(hours=2), object_uid="uid-lab", attempt_uid="attempt-1", ended_at=NOON + timedelta(hours=1, minutes=30)
        )
        store.journal.close(Closing(claim=claim, intent=replace(an_intent(), state=CLOSED, outcome="done"), events=(asked,)))
        store.journal.close(Closing(claim=claim, events=(ended,), entries=(a_capture(),)))
        assert store.journal.attempts() == fold(row.event for row in store.journal.events())
        assert store.journal.attempts("uid-lab")[0].is_released
        assert store.journal.open_intents() == ()

    def test_an_unsettled_intent_stays_open(self, store: StoreUnderTest) -> None:
        """Closing with an intent that is still open keeps what was learnt about it."""
        store.found()
        claim = store.claim()
        store.journal.open(an_opening(claim))
        unknown = OutcomeUnknown(time=NOON, object_uid="uid-lab", attempt_uid="attempt-1", step="launch", detail="no answer")
        absent = replace(an_intent(), absences=(NOON,), last_detail="no answer")
        store.journal.close(Closing(claim=claim, intent=absent, events=(unknown,)))
        assert store.journal.open_intents() == (absent,)

    def test_an_intent_is_closed_once(self, store: StoreUnderTest) -> None:
        """A second close is StaleClaim and writes nothing, and so is closing one that never was."""
        store.found()
        claim = store.claim()
        store.journal.open(an_opening(claim))
        closing = Closing(claim=claim, intent=replace(an_intent(), state=CLOSED), entries=(a_capture(),))
        store.journal.close(closing)
        with pytest.raises(StaleClaim):
            store.journal.close(replace(closing, entries=(a_capture(number=2),)))
        with pytest.raises(StaleClaim):
            store.journal.close(Closing(claim=claim, intent=an_intent(number=9)))
        assert store.journal.entries() == (a_hold(), a_capture())

    def test_a_lost_claim_commits_nothing(self, store: StoreUnderTest) -> None:
        """Once a stop has taken the object over, the former holder can neither open nor close."""
        store.found()
        starting = store.claim()
        store.journal.open(an_opening(starting))
        stopping = store.claims.preempt("uid-lab", "stop", LIMIT)
        with pytest.raises(StaleClaim):
            store.journal.close(Closing(claim=starting, intent=replace(an_intent(), state=CLOSED), entries=(a_capture(),)))
        with pytest.raises(StaleClaim):
            store.journal.open(an_opening(starting, number=2))
        assert (store.journal.open_intents(), store.journal.entries()) == ((an_intent(),), (a_hold(),))
        store.journal.close(Closing(claim=stopping, intent=replace(an_intent(), state=IntentState.CANCELLED)))
        assert store.journal.open_intents() == ()

    def test_a_claim_given_back_commits_nothing(self, store: StoreUnderTest) -> None:
        """A step that went on after dropping its claim is refused even though nobody else took it."""
        store.found()
        claim = store.claim()
        store.claims.drop(claim)
        with pytest.raises(StaleClaim):
            store.journal.open(an_opening(claim))
        with pytest.raises(StaleClaim):
            store.claims.heartbeat(claim)

    def test_a_failing_commit_leaves_nothing(self, store: StoreUnderTest) -> None:
        """An entry posted twice is a bug: the whole opening is undone, its intent and Attempt too."""
        store.found()
        claim = store.claim()
        store.journal.open(an_opening(claim))
        with pytest.raises(Exception, match=r"(?i)unique|twice"):
            store.journal.open(replace(an_opening(claim, number=2), entries=(a_hold(),)))
        assert (store.journal.open_intents(), len(store.journal.attempts()), store.journal.entries()) == ((an_intent(),), 1, (a_hold(),))

    def test_balances_are_sums_of_postings(self, store: StoreUnderTest) -> None:
        """Held and charged per object come from the ledger, exact to the micro-dollar, over all its Attempts."""
        store.found("lab", "other")
        claim = store.claim()
        store.journal.open(an_opening(claim))
        store.journal.close(Closing(claim=claim, entries=(a_capture(), a_hold(2), a_capture(2, micro=1))))
        standing = store.journal.snapshot().standings[LAB]
        assert (standing.charged_usd.micro, standing.held_usd.micro) == (1_000_002, 2 * 4_400_000 - 1_000_002)
        other = store.journal.snapshot().by_uid("uid-other")
        assert other is not None
        assert (other.charged_usd.micro, other.held_usd.micro) == (0, 0)
        assert sum(posting.amount.micro for entry in store.journal.entries() for posting in entry.postings) == 0
