"""Starting a plan: one transaction that finds the state as the plan saw it, marks the plan as used, and writes what it wants.

On no state the same transaction makes the tables, the lineage the plan minted, and the rest: a state with a lineage has a consumed plan.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from nodusctl.ports.journal import Consumption, OperationNote
from nodusctl.store import desired, journaling, money, operations, sealed_rows
from nodusctl.store.basis import Ground, refuse_stale, sealed_prefixes

if TYPE_CHECKING:
    from sqlalchemy import Connection

    from nodusctl.store.sealing import Vault


def consume(connection: Connection, vault: Vault, consumption: Consumption) -> int:
    """The serial after it; raises Stale and then has written nothing."""
    refuse_stale(consumption, ground(connection, consumption))
    if desired.head(connection) is None:
        desired.found_state(connection, consumption.lineage, consumption.project, consumption.at)
    sealed_rows.write(connection, vault, consumption.sealed)
    desired.write_statuses(connection, consumption.statuses)
    has_moved = desired.write_records(connection, consumption.records)
    sealed_rows.drop_below(connection, sealed_prefixes(consumption.records))
    journaling.append(connection, consumption.events)
    money.append(connection, consumption.entries)
    serial = desired.raise_serial(connection) if has_moved else consumption.serial
    operation = OperationNote(
        operation_id=consumption.operation_id,
        command=consumption.command,
        by=consumption.by,
        at=consumption.at,
        serial=serial,
        plan_hash=consumption.plan_hash,
        plan_id=consumption.plan_id,
        addresses=consumption.action_addresses,
    )
    operations.note(connection, operation, has_moved_serial=has_moved)
    return serial


def ground(connection: Connection | None, consumption: Consumption) -> Ground:
    """What ``consumption`` meets here."""
    head = desired.head(connection) if connection is not None else None
    if connection is None or head is None:
        return Ground(lineage="", serial=0, consumed_by=None, newest=None)
    return Ground(
        lineage=head["lineage"],
        serial=head["serial"],
        consumed_by=operations.consumed_by(connection, consumption.plan_hash, consumption.plan_id),
        newest=next(iter(operations.that_moved_serial(connection, 1)), None),
    )
