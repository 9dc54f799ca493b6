"""Machines that bill although nothing wants them any more: released is only what the provider says is gone (rule R4)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from nodusctl.attempts.attempt import Attempt
from nodusctl.plan.plan import Burning
from nodusctl.ports.journal import Journal, StoredObject
from nodusctl.state.snapshot import Snapshot
from nodusctl.state.status import Phase

_ENDING = frozenset({Phase.STOPPING, Phase.TERMINATING, Phase.FAILED})


def burning_machines(journal: Journal, snapshot: Snapshot) -> tuple[Burning, ...]:
    """Machines of sessions that are over and whose end is not confirmed, by address."""
    ending = [one.record.uid for one in snapshot if one.record.address.kind == "workspace" and one.status.phase in _ENDING]
    stored: Mapping[str, StoredObject] = journal.load_many(ending) if ending else {}
    found = [burning for one in stored.values() for burning in _of(one)]
    return tuple(sorted(found, key=lambda one: (str(one.address), one.machine_id)))


def _of(stored: StoredObject) -> Iterable[Burning]:
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


def _bills(attempt: Attempt) -> bool:
    """False once the provider has told when its billing ended."""
    return attempt.machine is not None and attempt.machine.ended_at is None


def _why(attempt: Attempt) -> str:
    return "its release was asked for and is not confirmed yet" if attempt.release_asked else "it is being stopped"
