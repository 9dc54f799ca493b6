"""Writing down what a person does to the state by hand: one transaction under the plan lock, told in the journal and the operations."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import timedelta

from nodusctl.attempts.events import Event, Remarked
from nodusctl.base.ids import Address
from nodusctl.engine.locking import under_plan_lock
from nodusctl.executor.outside import Outside
from nodusctl.ports.journal import Consumption
from nodusctl.state.records import RecordChange
from nodusctl.state.snapshot import Snapshot
from nodusctl.state.status import ObjectStatus


class Journaller:
    """Writes as one command of one person."""

    def __init__(self, outside: Outside, command: str, lock_timeout: timedelta) -> None:
        self._outside, self._command, self._lock_timeout = outside, command, lock_timeout

    def remark(self, code: str, message: str, object_uid: str = "") -> None:
        """One sentence in the journal; nothing where there is no state to write it in."""
        journal = self._outside.journal
        if not journal.exists():
            return

        def act() -> None:
            event = Remarked(time=self._outside.clock.now(), object_uid=object_uid, code=code, message=message)
            self.write(journal.snapshot(), events=(event,))

        under_plan_lock(self._outside.claims, self._command, self._lock_timeout, act)

    def write(
        self,
        snapshot: Snapshot,
        *,
        records: Sequence[RecordChange] = (),
        events: Sequence[Event] = (),
        statuses: Mapping[str, ObjectStatus] | None = None,
        addresses: Sequence[Address] = (),
    ) -> None:
        """Commit it all; the caller holds the plan lock. Stale where the state isn't ``snapshot`` any more."""
        outside = self._outside
        uid = outside.ids.new_uid()
        outside.journal.consume(
            Consumption(
                operation_id=uid,
                command=self._command,
                by=outside.owner,
                at=outside.clock.now(),
                lineage=snapshot.lineage,
                serial=snapshot.serial,
                plan_hash="",
                plan_id=uid,
                action_addresses=tuple(map(str, addresses)),
                records=tuple(records),
                statuses=statuses or {},
                events=tuple(events),
                project=outside.project,
            )
        )
