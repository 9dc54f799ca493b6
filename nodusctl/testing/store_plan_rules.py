"""How a plan is started once and only once, what moves the serial, and what stays of what was removed."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from nodusctl.attempts.attempt import fold
from nodusctl.attempts.events import Remarked
from nodusctl.base.ids import Address
from nodusctl.ports.journal import Closing, Stale
from nodusctl.state.records import PutRecord, RemoveRecord
from nodusctl.state.status import ObjectStatus, Phase
from nodusctl.state.terms import Approval
from nodusctl.testing.store_hooks import (
    LAB,
    LINEAGE,
    NOON,
    StoreHooks,
    StoreUnderTest,
    a_consumption,
    a_hold,
    a_record,
    an_opening,
)


class PlanRules(StoreHooks):
    """Consuming."""

    def test_a_state_is_empty_before_its_first_plan(self, store: StoreUnderTest) -> None:
        """Every question about a state that doesn't exist has an empty answer."""
        journal = store.journal
        assert not journal.exists()
        assert (journal.lineage(), journal.snapshot().serial, len(journal.snapshot().standings)) == ("", 0, 0)
        assert (journal.load("uid-lab"), journal.events(), journal.entries(), journal.attempts()) == (None, (), (), ())
        assert (journal.open_intents(), journal.operations(), journal.address_of("uid-lab")) == ((), (), None)
        assert journal.consumed_by("hash-1", "plan-1") is None
        assert journal.secret("service-key") is None

    def test_the_first_plan_makes_the_state(self, store: StoreUnderTest) -> None:
        """A plan on no state creates it with the lineage the plan minted, its records and their statuses."""
        status = ObjectStatus(phase=Phase.PENDING, observed_generation=1, handled_requests={"start": "1"})
        serial = store.journal.consume(replace(a_consumption(), statuses={"uid-lab": status}))
        assert (serial, store.journal.exists(), store.journal.lineage()) == (1, True, LINEAGE)
        standing = store.journal.snapshot().standings[LAB]
        assert (standing.record, standing.status) == (a_record(), status)
        assert (standing.charged_usd.micro, standing.held_usd.micro, standing.has_open_intent) == (0, 0, False)

    def test_a_removed_secret_takes_its_sealed_values_along(self, store: StoreUnderTest) -> None:
        """No version and no key of it is left, whoever removes it; a Secret whose uid begins alike keeps its own."""
        values = {f"secret/uid-{name}/{version}/KEY": f"{name}-{version}" for name in ("lab", "other", "lab-2") for version in (1, 2)}
        store.journal.consume(replace(a_consumption("lab", "other", "lab-2"), sealed=values))
        store.journal.consume(replace(a_consumption(number=2, serial=1), records=(RemoveRecord("uid-lab"),)))
        store.journal.close(Closing(claim=store.claim("uid-other"), records=(RemoveRecord("uid-other"),)))
        left = {name for name in values if store.journal.secret(name) is not None}
        assert left == {"secret/uid-lab-2/1/KEY", "secret/uid-lab-2/2/KEY"}

    def test_a_plan_is_consumed_once(self, store: StoreUnderTest) -> None:
        """The second start of one plan is refused with the operation that used it, before lineage and serial are looked at."""
        store.found()
        with pytest.raises(Stale) as refusal:
            store.journal.consume(replace(a_consumption(), lineage="another", serial=7))
        assert refusal.value.kind == "consumed"
        assert refusal.value.by == store.journal.consumed_by("hash-1", "plan-1")
        assert refusal.value.by is not None
        assert (refusal.value.by.by, refusal.value.by.command, refusal.value.by.operation_id) == (
            "ada@lab1",
            "nodusctl apply",
            "operation-1",
        )

    def test_a_plan_that_changed_no_record_is_consumed_too(self, store: StoreUnderTest) -> None:
        """Single use doesn't depend on the serial: a plan that only restarts something can't be started twice either."""
        store.found()
        plan = replace(a_consumption(number=2, serial=1), records=())
        assert store.journal.consume(plan) == 1
        with pytest.raises(Stale) as refusal:
            store.journal.consume(plan)
        assert refusal.value.kind == "consumed"
        assert [note.operation_id for note in store.journal.operations()] == ["operation-1"]

    def test_the_rest_of_a_started_plan_is_no_second_start(self, store: StoreUnderTest) -> None:
        """A resumption is told by the newest operation with all its Actions; a plan nobody resumes stays used up."""
        store.found()
        rest = replace(a_consumption("other", serial=1), operation_id="operation-2", action_addresses=("workspace/lab", "workspace/other"))
        assert store.journal.consume(replace(rest, is_resumption=True)) == 2
        newest = store.journal.consumed_by("hash-1", "plan-1")
        assert newest is not None
        assert (newest.operation_id, newest.addresses) == ("operation-2", ("workspace/lab", "workspace/other"))
        with pytest.raises(Stale) as refusal:
            store.journal.consume(replace(rest, serial=2))
        assert refusal.value.kind == "consumed"

    def test_a_plan_of_another_state_is_refused(self, store: StoreUnderTest) -> None:
        """Another lineage is refused before the serial is compared."""
        store.found()
        with pytest.raises(Stale) as refusal:
            store.journal.consume(a_consumption(number=2, serial=9, lineage="another"))
        assert refusal.value.kind == "lineage"

    def test_a_plan_of_a_lost_state_makes_no_new_one(self, store: StoreUnderTest) -> None:
        """A plan made at serial 3 of a state that isn't here is refused and leaves nothing."""
        with pytest.raises(Stale) as refusal:
            store.journal.consume(a_consumption(serial=3))
        assert (refusal.value.kind, store.journal.exists()) == ("lineage", False)

    def test_a_plan_is_refused_once_the_serial_moved(self, store: StoreUnderTest) -> None:
        """The refusal names the operation that moved it; nothing of the refused plan is written."""
        store.found()
        store.journal.consume(a_consumption("other", number=2, serial=1))
        with pytest.raises(Stale) as refusal:
            store.journal.consume(a_consumption("third", number=3, serial=1))
        assert refusal.value.kind == "serial"
        assert refusal.value.by is not None
        assert refusal.value.by.operation_id == "operation-2"
        assert store.journal.consumed_by("hash-3", "plan-3") is None
        assert {str(address) for address in store.journal.snapshot().standings} == {"workspace/lab", "workspace/other"}

    def test_operations_come_newest_first(self, store: StoreUnderTest) -> None:
        """``operations`` lists what moved the serial with the serial it made, up to the limit."""
        store.found()
        store.journal.consume(a_consumption("b", number=2, serial=1))
        store.journal.consume(a_consumption("c", number=3, serial=2))
        assert [(note.operation_id, note.serial) for note in store.journal.operations()] == [
            ("operation-3", 3),
            ("operation-2", 2),
            ("operation-1", 1),
        ]
        assert len(store.journal.operations(limit=2)) == 2

    def test_an_approval_alone_moves_no_serial(self, store: StoreUnderTest) -> None:
        """New terms for the same spec are no change of what is desired."""
        store.found()
        approval = Approval(terms=(), plan_hash="hash-2", approved_at=NOON, approved_by="ada")
        plan = replace(a_consumption(number=2, serial=1), records=(PutRecord(a_record(approval=approval)),))
        assert store.journal.consume(plan) == 1
        stored = store.journal.load("uid-lab")
        assert stored is not None
        assert stored.record.approval == approval

    @pytest.mark.parametrize("change", [{"labels": {"team": "ml"}}, {"generation": 2}, {"is_retained": True}, {"spec": {"image": "other"}}])
    def test_a_desired_change_moves_the_serial(self, store: StoreUnderTest, change: dict[str, Any]) -> None:
        """Spec and metadata are what the serial counts."""
        store.found()
        plan = replace(a_consumption(number=2, serial=1), records=(PutRecord(a_record(**change)),))
        assert store.journal.consume(plan) == 2

    def test_steps_move_no_serial(self, store: StoreUnderTest) -> None:
        """Statuses, events and money never make a reviewed plan stale."""
        store.found()
        claim = store.claim()
        store.journal.open(an_opening(claim))
        store.journal.close(Closing(claim=claim, statuses={"uid-lab": ObjectStatus(phase=Phase.RUNNING)}))
        assert store.journal.snapshot().serial == 1

    def test_a_move_keeps_the_uid(self, store: StoreUnderTest) -> None:
        """The same uid under another address is one object with a new name; two objects may swap names."""
        store.found("lab", "other")
        swapped = (PutRecord(a_record("lab", address=Address("workspace", "other"))), PutRecord(a_record("other", address=LAB)))
        store.journal.consume(replace(a_consumption(number=2, serial=1), records=swapped))
        assert store.journal.snapshot().standings[LAB].record.uid == "uid-other"
        assert store.journal.address_of("uid-lab") == Address("workspace", "other")

    def test_two_records_never_share_an_address(self, store: StoreUnderTest) -> None:
        """Such a plan is a bug: it raises and nothing of it is kept."""
        store.found()
        plan = replace(a_consumption(number=2, serial=1), records=(PutRecord(a_record("imposter", address=LAB)),))
        with pytest.raises(Exception, match=r"(?i)unique|address"):
            store.journal.consume(plan)
        assert store.journal.snapshot().serial == 1
        assert store.journal.consumed_by("hash-2", "plan-2") is None

    def test_a_removal_keeps_the_past(self, store: StoreUnderTest) -> None:
        """A removed record takes its status along; its Attempts, events, entries and last address stay, and the serial moves."""
        store.found()
        claim = store.claim()
        store.journal.open(an_opening(claim))
        store.journal.close(Closing(claim=claim, statuses={"uid-lab": ObjectStatus()}, records=(RemoveRecord("uid-lab"),)))
        journal = store.journal
        assert (journal.load("uid-lab"), journal.snapshot().serial, dict(journal.snapshot().standings)) == (None, 2, {})
        assert [attempt.name for attempt in journal.attempts("uid-lab")] == ["lab-1"]
        assert [row.event.object_uid for row in journal.events("uid-lab")] == ["uid-lab"]
        assert journal.entries("uid-lab") == (a_hold(),)
        assert journal.address_of("uid-lab") == LAB
        assert journal.operations()[0].by == claim.holder

    def test_events_come_in_order(self, store: StoreUnderTest) -> None:
        """The journal is one sequence over all objects, and Attempts are its fold."""
        store.found("lab", "other")
        remark = Remarked(time=NOON, object_uid="uid-other", code="PlanConsumed", message="plan hash-2")
        store.journal.consume(replace(a_consumption(number=2, serial=1), records=(), events=(remark,)))
        store.journal.open(an_opening(store.claim()))
        rows = store.journal.events()
        assert [row.sequence for row in rows] == sorted(row.sequence for row in rows)
        assert [type(row.event).__name__ for row in rows] == ["Remarked", "AttemptQueued"]
        assert [row.event for row in store.journal.events("uid-other")] == [remark]
        assert store.journal.attempts() == fold(row.event for row in rows)
