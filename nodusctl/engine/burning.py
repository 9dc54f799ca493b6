"""Machines that bill although nothing wants them any more: released is only what the provider says is gone (rule R4).

A launch whose answer was lost counts too, until a look-up settles it: there may be a machine, and if there is one it bills.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from nodusctl.attempts.attempt import Attempt
from nodusctl.attempts.intents import StepKind
from nodusctl.plan.plan import Burning
from nodusctl.ports.journal import Journal, StoredObject
from nodusctl.state.snapshot import Snapshot
from nodusctl.state.status import Phase

_ENDING = frozenset({Phase.STOPPING, Phase.TERMINATING, Phase.FAILED})


def burning_machines(journal: Journal, snapshot: Snapshot) -> tuple[Burning, ...]:
    """Machines of sessions that are over and whose end is not confirmed, and those that nobody knows of yet, by address."""
    workspaces = [one for one in snapshot if one.record.address.kind == "workspace"]
    doubtful = [one.record.uid for one in workspaces if one.status.phase in _ENDING or one.has_open_intent]
    stored: Mapping[str, StoredObject] = journal.load_many(doubtful) if doubtful else {}
    found = [burning for one in stored.values() for burning in (*_of(one), *_perhaps(one))]
    return tuple(sorted(found, key=lambda one: (str(one.address), one.machine_id)))


def _of(stored: StoredObject) -> Iterable[Burning]:
    if stored.status.phase not in _ENDING:
        return
    for attempt in stored.attempts:
        if attempt.is_open and not attempt.is_released and attempt.terms is not None and _bills(attempt):
            assert attempt.machine is not None
            yield Burning(
                address=stored.record.address,
                machine_id=attempt.machine.id,
                rate_usd_per_hour=attempt.terms.rate_usd_per_hour,
                since=attempt.timings.stop_asked_at,
                why=_why(attempt),
            )


def _perhaps(stored: StoredObject) -> Iterable[Burning]:
    """Launches that were asked for and of which nobody knows the outcome; one under way has told nothing yet."""
    for intent in stored.intents:
        attempt = next((one for one in stored.attempts if one.uid == intent.attempt_uid), None)
        if intent.step is not StepKind.LAUNCH or attempt is None or attempt.terms is None or not (intent.last_detail or intent.absences):
            continue
        yield Burning(
            address=stored.record.address,
            machine_id="",
            rate_usd_per_hour=attempt.terms.rate_usd_per_hour,
            since=intent.opened_at,
            why="nobody knows yet whether its launch happened",
        )


def _bills(attempt: Attempt) -> bool:
    """False once the provider has told when its billing ended."""
    return attempt.machine is not None and attempt.machine.ended_at is None


def _why(attempt: Attempt) -> str:
    return "its release was asked for and is not confirmed yet" if attempt.release_asked else "it is being stopped"
