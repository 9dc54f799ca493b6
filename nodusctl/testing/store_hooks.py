"""What a store's author fills in to run the conformance suite, and the values the suite stores.

Time is a wall the suite moves by hand, and other processes are Holders it makes up: one that is gone, one on another host.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from nodusctl.attempts.events import AttemptQueued
from nodusctl.attempts.intents import Intent, StepKind
from nodusctl.base.ids import Address
from nodusctl.base.money import Money
from nodusctl.ledger.entries import AVAILABLE, Entry, EntryKind, Posting, charged, held
from nodusctl.ports.claims import Claims, Holder
from nodusctl.ports.journal import Claim, Consumption, Journal, Opening
from nodusctl.ports.keys import StateKeys
from nodusctl.ports.pulled import PulledState, Replacement
from nodusctl.state.records import PutRecord, Record
from nodusctl.store.holders import this_holder
from nodusctl.store.sealing import KeyMaterial

NOON = datetime(2026, 10, 26, 12, 0, 0, 123456, tzinfo=UTC)
LIMIT = timedelta(minutes=2)
LAB = Address("workspace", "lab")
LINEAGE = "6d1f7a3e-0000-4000-8000-000000000001"
STATE_KEY = "a key for tests, long enough"


class MovedWall:
    """A wall clock that stands still until somebody sleeps on it. Safe between threads."""

    def __init__(self) -> None:
        self._passed, self._lock = 0.0, threading.Lock()

    def now(self) -> datetime:
        return NOON + timedelta(seconds=self._passed)

    def monotonic(self) -> float:
        return self._passed

    def sleep(self, seconds: float) -> None:
        with self._lock:
            self._passed += seconds


@dataclass(frozen=True, slots=True, kw_only=True)
class SeenState:
    """A state as one person's process sees it, with the keys that person has."""

    journal: Journal
    keys: StateKeys


@dataclass(frozen=True, slots=True, kw_only=True)
class StoreUnderTest:
    """One store as several processes see it, all over the same state.

    ``claims_of`` gives one process's view; ``seen_with`` that of somebody who has other keys.
    """

    journal: Journal
    claims_of: Callable[[Holder], Claims]
    wall: MovedWall
    seen_with: Callable[[KeyMaterial], SeenState]

    @property
    def claims(self) -> Claims:
        """This process's view."""
        return self.claims_of(this_holder("nodusctl apply"))

    def claim(self, uid: str = "uid-lab") -> Claim:
        """A claim that nobody disputes."""
        claim = self.claims.claim(uid, "launch", LIMIT)
        assert claim is not None
        return claim

    def found(self, *names: str) -> None:
        """Make the state, with a Workspace for each name."""
        self.journal.consume(a_consumption(*names))


class StoreHooks:
    """What can be overridden."""

    def make_store(self, tmp_path: Path, wall: MovedWall) -> StoreUnderTest:
        """A store that doesn't exist yet, sealed with ``STATE_KEY``."""
        raise NotImplementedError

    @pytest.fixture
    def store(self, tmp_path: Path) -> StoreUnderTest:
        """A fresh store."""
        return self.make_store(tmp_path, MovedWall())


def a_replacement(state: PulledState, number: int = 1) -> Replacement:
    """Puts ``state`` in the place of whatever is there, at its own serial."""
    return Replacement(
        state=state,
        check=lambda present: None,
        serial=lambda present: state.identity.serial,
        command="nodusctl state push",
        by="ada@lab1",
        at=NOON,
        operation_id=f"push-{number}",
        code="StatePushed",
        message="ada@lab1 pushed a state.",
        why="before-push",
    )


def a_record(name: str = "lab", **changes: Any) -> Record:
    """A Workspace called ``name`` with the uid ``uid-<name>``."""
    record = Record(
        uid=f"uid-{name}",
        address=Address("workspace", name),
        generation=1,
        created_at=NOON,
        spec={"image": "nodus/workspace-cpu", "resources": {"cpu": "4", "memory": "16Gi"}, "volumes": []},
        applied={"image": "nodus/workspace-cpu"},
        source="lab.yaml",
    )
    return replace(record, **changes)


def a_consumption(*names: str, number: int = 1, serial: int = 0, lineage: str = LINEAGE) -> Consumption:
    """The ``number``-th plan, which puts a Workspace for each name (``lab`` where none is given)."""
    return Consumption(
        operation_id=f"operation-{number}",
        command="nodusctl apply",
        by="ada@lab1",
        at=NOON + timedelta(minutes=number),
        lineage=lineage,
        serial=serial,
        plan_hash=f"hash-{number}",
        plan_id=f"plan-{number}",
        action_addresses=tuple(f"workspace/{name}" for name in names or ("lab",)),
        records=tuple(PutRecord(a_record(name)) for name in names or ("lab",)),
    )


def an_intent(number: int = 1, uid: str = "uid-lab", target_uid: str = "") -> Intent:
    """The ``number``-th launch of an object."""
    return Intent(
        id=f"intent-{number}",
        object_uid=uid,
        address=LAB,
        target_uid=target_uid or uid,
        attempt_uid=f"attempt-{number}",
        step=StepKind.LAUNCH,
        provider="sim",
        token=f"nodus-{number}",
        try_number=1,
        request_digest="d1",
        request={"offer": "cpu-4c-16g-us", "edge_seconds": 3600},
        opened_at=NOON,
    )


def an_opening(claim: Claim, number: int = 1) -> Opening:
    """A launch with its Attempt and a hold of $4.40."""
    return Opening(
        claim=claim,
        intent=an_intent(number, claim.object_uid),
        events=(a_queueing(number, claim.object_uid),),
        entries=(a_hold(number, claim.object_uid),),
    )


def a_queueing(number: int = 1, uid: str = "uid-lab") -> AttemptQueued:
    """The event that starts the ``number``-th Attempt."""
    return AttemptQueued(
        time=NOON, object_uid=uid, attempt_uid=f"attempt-{number}", owner=LAB, name=f"lab-{number}", slot="session", epoch=number
    )


def a_hold(number: int = 1, uid: str = "uid-lab", micro: int = 4_400_000) -> Entry:
    """Money set aside for an Attempt."""
    attempt = f"attempt-{number}"
    return _entry(f"hold-{number}", EntryKind.HOLD, uid, attempt, (AVAILABLE, -micro), (held(attempt), micro))


def a_capture(number: int = 1, uid: str = "uid-lab", micro: int = 1_000_001) -> Entry:
    """Money an Attempt has cost."""
    attempt = f"attempt-{number}"
    return _entry(f"capture-{number}", EntryKind.CAPTURE, uid, attempt, (held(attempt), -micro), (charged(attempt), micro))


def _entry(name: str, kind: EntryKind, uid: str, attempt: str, *sides: tuple[str, int]) -> Entry:
    postings = tuple(Posting(account=account, amount=Money(micro)) for account, micro in sides)
    return Entry(id=name, kind=kind, time=NOON, object_uid=uid, attempt_uid=attempt, postings=postings)


def gone_holder() -> Holder:
    """A process of this host that no longer runs."""
    # Linux gives out pids up to 2**22; this one never names a process.
    return replace(this_holder("nodusctl apply"), user="eve", pid=2**22 + 1, start_ticks=1)


def foreign_holder() -> Holder:
    """A process of another host, which nobody here can judge."""
    return Holder(user="bob", host="elsewhere.example", pid=1, start_ticks=1, boot_id="another boot", command="nodusctl apply")
