"""The suite every store passes. Subclass it in a test module of yours and name the class ``Test…``:

    class TestMine(StoreConformance):
        def make_store(self, tmp_path, wall):
            return StoreUnderTest(journal=…, claims_of=…, wall=wall, seen_with=…)

The values it stores and the processes it makes up are in ``store_hooks``.
"""

from __future__ import annotations

from dataclasses import replace

from nodusctl.attempts.events import OutcomeUnknown, Remarked
from nodusctl.base.redaction import MARK, clean
from nodusctl.ports.journal import Closing
from nodusctl.state.status import ObjectStatus
from nodusctl.testing.store_commit_rules import CommitRules
from nodusctl.testing.store_hooks import NOON, MovedWall, StoreHooks, StoreUnderTest, a_capture, a_consumption, an_intent, an_opening
from nodusctl.testing.store_key_rules import KeyRules
from nodusctl.testing.store_lock_rules import LockRules
from nodusctl.testing.store_money_rules import MoneyRules
from nodusctl.testing.store_plan_rules import PlanRules
from nodusctl.testing.store_step_rules import StepRules

__all__ = ["MovedWall", "StoreConformance", "StoreHooks", "StoreUnderTest"]

CANARY = "canary-7f3c-of-the-store"


class SecretRules(StoreHooks):
    """What is sealed, and what free text loses."""

    def test_a_sealed_value_comes_back(self, store: StoreUnderTest) -> None:
        """Consuming, opening and closing all seal; a value is replaced by its name and gone once forgotten."""
        store.journal.consume(replace(a_consumption(), sealed={"service-key": "first key"}))
        assert store.journal.secret("service-key") == "first key"
        claim = store.claim()
        store.journal.open(replace(an_opening(claim), sealed={"service-key": "second key", "host-key": "köy\nof two lines"}))
        assert (store.journal.secret("service-key"), store.journal.secret("host-key")) == ("second key", "köy\nof two lines")
        store.journal.close(Closing(claim=claim, sealed={"token": "third key"}, forgotten=("service-key",)))
        assert (store.journal.secret("service-key"), store.journal.secret("token")) == (None, "third key")

    def test_free_text_loses_sealed_values(self, store: StoreUnderTest) -> None:
        """A provider's error, a remark, a memo and a status message that echo a sealed value are stored without it."""
        store.found()
        claim = store.claim()
        said = f"401: bad token {CANARY}"
        unknown = OutcomeUnknown(time=NOON, object_uid="uid-lab", step="launch", detail=said)
        remark = Remarked(time=NOON, object_uid="uid-lab", code="Told", message=said)
        opening = replace(an_opening(claim), intent=replace(an_intent(), last_detail=said), events=(unknown, remark), sealed={"t": CANARY})
        store.journal.open(opening)
        store.journal.close(
            Closing(claim=claim, entries=(replace(a_capture(), memo=said),), statuses={"uid-lab": ObjectStatus(message=said)})
        )
        stored = store.journal.load("uid-lab")
        assert stored is not None
        texts = [stored.intents[0].last_detail, stored.status.message, stored.entries[-1].memo]
        texts += [event.detail if isinstance(event, OutcomeUnknown) else event.message for event in _worded(store)]
        assert texts == [f"401: bad token {MARK}"] * 5

    def test_a_value_that_was_read_is_redacted(self, store: StoreUnderTest) -> None:
        """Whoever reads a sealed value can't print it by accident."""
        value = "read-back-4e1d"
        store.journal.consume(replace(a_consumption(), sealed={"t": value}))
        assert store.journal.secret("t") == value
        assert clean(f"it is {value}") == f"it is {MARK}"

    def test_fingerprints_tell_equal_values(self, store: StoreUnderTest) -> None:
        """Equal bytes, equal fingerprint, before the state exists and after; the value isn't in it."""
        before = store.journal.fingerprint_secret("value one")
        store.found()
        assert store.journal.fingerprint_secret("value one") == before
        assert store.journal.fingerprint_secret("value two") != before
        assert len(before) == 64

    def test_facts_name_the_state(self, store: StoreUnderTest) -> None:
        """Counters of the desired half and of what was observed are kept apart."""
        store.found()
        claim = store.claim()
        store.journal.open(replace(an_opening(claim), statuses={"uid-lab": ObjectStatus(epoch=1)}))
        facts = store.journal.facts()
        wanted = {"serial": 1, "records": 1, "attempts": 1, "events": 1, "entries": 1, "open_intents": 1, "observations": 1}
        assert {name: facts[name] for name in wanted} == wanted
        assert facts["lineage"] == store.journal.lineage()


def _worded(store: StoreUnderTest) -> list[OutcomeUnknown | Remarked]:
    return [row.event for row in store.journal.events() if isinstance(row.event, OutcomeUnknown | Remarked)]


class StoreConformance(CommitRules, PlanRules, StepRules, MoneyRules, LockRules, SecretRules, KeyRules):
    """All rules; see the module."""
