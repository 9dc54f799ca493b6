"""An Attempt's money trail: when it billed, on which terms and until when it may, read from its events one at a time.

This is on purpose a second reading of the events, not the fold of ``attempts``: what checks receipts must not share the code that made
them. It keeps a dozen values an Attempt, so that a hundred thousand can be walked.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime

from nodusctl.attempts.events import (
    AttemptClosed,
    AttemptQueued,
    BecameReady,
    CapacityEnded,
    EdgeArmed,
    Event,
    LaunchAccepted,
    LaunchRefused,
    MachineSeen,
    StopAsked,
    TermsFrozen,
)
from nodusctl.base.ids import Address
from nodusctl.ledger.billed import Billing
from nodusctl.ports.books import Books, Damaged
from nodusctl.state.terms import Terms

MONEY_EVENTS: frozenset[type] = frozenset(
    {
        AttemptQueued,
        TermsFrozen,
        LaunchAccepted,
        LaunchRefused,
        MachineSeen,
        EdgeArmed,
        BecameReady,
        StopAsked,
        CapacityEnded,
        AttemptClosed,
    }
)
"""Events that say something about what an Attempt costs."""


@dataclass(slots=True)
class Trail:
    """Filled event by event. ``terms`` are those of the launch under way or accepted; ``launch_at`` is when it was asked for.

    ``first_edge`` is the edge the launch itself carried, ``edge`` the one read back last.
    """

    uid: str
    owner: Address
    owner_uid: str
    name: str
    replaces: str
    terms: Terms | None = None
    launch_at: datetime | None = None
    first_edge: datetime | None = None
    edge: datetime | None = None
    has_machine: bool = False
    accepted_at: datetime | None = None
    billed_from: datetime | None = None
    began: datetime | None = None
    ready: datetime | None = None
    stop_asked: datetime | None = None
    machine_ended: datetime | None = None
    ended: datetime | None = None
    is_closed: bool = False

    @classmethod
    def begun(cls, event: AttemptQueued) -> Trail:
        """An Attempt that wants capacity."""
        return cls(event.attempt_uid, event.owner, event.object_uid, event.name, event.replaces)

    def note(self, event: Event) -> None:
        """Read one more event; those that aren't about money say nothing."""
        match event:
            case TermsFrozen():
                self.terms, self.launch_at, self.first_edge, self.edge = event.terms, event.time, event.edge_at, event.edge_at
            case LaunchRefused():
                self.terms = self.launch_at = self.first_edge = self.edge = None
            case LaunchAccepted() | MachineSeen():
                self._note_machine(event)
            case EdgeArmed():
                self.edge = event.until
            case BecameReady():
                self.ready = event.ready_at
            case StopAsked():
                self.stop_asked = event.time
            case CapacityEnded():
                self.ended = event.ended_at
            case AttemptClosed():
                self.is_closed = True

    @property
    def billing(self) -> Billing:
        """What these facts say of when it bills."""
        return Billing(terms=self.terms, began=self.began, edge=self.edge, machine_ended=self.machine_ended, ended=self.ended)

    def _note_machine(self, event: LaunchAccepted | MachineSeen) -> None:
        machine = event.machine
        self.machine_ended = machine.ended_at
        if isinstance(event, LaunchAccepted):
            self.has_machine, self.billed_from = True, event.billed_from
            self.accepted_at = event.time if self.billed_from else machine.created_at or event.time
            self.began = machine.billing_started_at or machine.created_at or event.time
        elif machine.billing_started_at is not None:
            self.began = machine.billing_started_at
        if self.began is not None and self.billed_from is not None and self.began < self.billed_from:
            self.began = self.billed_from


def walk_trails(books: Books) -> Iterator[Trail | Damaged]:
    """Each Attempt's trail once its last event has passed, then those still open; an event that can't be read when it is met."""
    under_way: dict[str, Trail] = {}
    for event in books.events(MONEY_EVENTS):
        if isinstance(event, Damaged):
            yield event
        elif isinstance(event, AttemptQueued):
            under_way[event.attempt_uid] = Trail.begun(event)
        elif (trail := under_way.get(event.attempt_uid)) is not None:
            trail.note(event)
            if trail.is_closed:
                yield under_way.pop(trail.uid)
    yield from under_way.values()
