"""``commit`` and ``version``: steps of several objects in one transaction, and noticing that somebody else wrote."""

from __future__ import annotations

from dataclasses import replace

import pytest

from nodusctl.attempts.attempt import fold
from nodusctl.attempts.events import StopAsked
from nodusctl.attempts.intents import IntentState
from nodusctl.ports.journal import Closing, Opening
from nodusctl.store.holders import this_holder
from nodusctl.testing.store_hooks import LIMIT, NOON, StoreHooks, StoreUnderTest, a_hold, an_intent, an_opening

CLOSED = IntentState.CLOSED


class CommitRules(StoreHooks):
    """Several changes at once."""

    def test_changes_of_one_commit_build_on_each_other(self, store: StoreUnderTest) -> None:
        """An intent may be opened and closed, its Attempt carried on twice and its claim given back in one commit, in this order."""
        store.found()
        claim = store.claim()
        asked = StopAsked(time=NOON, object_uid="uid-lab", attempt_uid="attempt-1", reason="Owner")
        closing = Closing(claim=claim, intent=replace(an_intent(), state=CLOSED), events=(asked,))
        assert store.journal.commit((an_opening(claim), closing, claim)) == frozenset()
        stored = store.journal.load("uid-lab")
        assert stored is not None
        assert (stored.intents, stored.entries) == ((), (a_hold(),))
        assert [attempt.stop_reason for attempt in stored.attempts] == ["Owner"]
        assert store.journal.attempts() == fold(row.event for row in store.journal.events())
        assert store.claims.claimed() == ()

    def test_a_lost_claim_costs_its_own_steps_only(self, store: StoreUnderTest) -> None:
        """Whose claim was taken over is told and left out with all it wanted; the others of the same commit go in."""
        store.found("lab", "other")
        lost, kept = store.claim("uid-lab"), store.claim("uid-other")
        store.claims.preempt("uid-lab", "stop", LIMIT)
        more = Closing(claim=lost, sealed={"service-key": "never stored"})
        assert store.journal.commit((an_opening(lost), an_opening(kept, number=2), more, lost)) == {lost}
        assert [intent.id for intent in store.journal.open_intents()] == ["intent-2"]
        assert [entry.id for entry in store.journal.entries()] == ["hold-2"]
        assert store.journal.secret("service-key") is None
        assert [uid for uid, *_ in store.claims.claimed()] == ["uid-lab", "uid-other"], "the one who took over still holds it"

    def test_closing_a_closed_intent_loses_the_claim_and_writes_nothing(self, store: StoreUnderTest) -> None:
        """Also what the same change would have sealed or forgotten."""
        store.found()
        claim = store.claim()
        store.journal.open(replace(an_opening(claim), sealed={"service-key": "kept"}))
        closing = Closing(claim=claim, intent=replace(an_intent(), state=CLOSED))
        store.journal.close(closing)
        assert store.journal.commit((replace(closing, forgotten=("service-key",)),)) == {claim}
        assert store.journal.secret("service-key") == "kept"

    def test_a_commit_that_fails_leaves_nothing_behind(self, store: StoreUnderTest) -> None:
        """A bug in one change undoes the changes before it."""
        store.found("lab", "other")
        first, second = store.claim("uid-lab"), store.claim("uid-other")
        twice = replace(an_opening(second, number=2), entries=(a_hold(1, "uid-other"),))
        with pytest.raises(Exception, match=r"."):
            store.journal.commit((an_opening(first), twice))
        assert (store.journal.open_intents(), store.journal.entries(), store.journal.attempts()) == ((), (), ())

    def test_the_version_tells_that_somebody_else_wrote(self, store: StoreUnderTest) -> None:
        """Asking twice in a row gives the same number; after a commit through another view of the state it is another one."""
        store.found()
        claim = store.claim()
        store.journal.open(Opening(claim=claim, intent=an_intent()))
        before = store.journal.version()
        assert store.journal.version() == before
        assert store.claims_of(replace(this_holder("nodusctl stop"), pid=1)).claim("uid-somebody", "stop", LIMIT) is not None
        assert store.journal.version() != before
