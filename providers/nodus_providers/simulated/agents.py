"""What a simulated machine's agent answers. It answers only while the machine runs, and keeps edge and idle timeout as a real one would.

A push replaces what was pushed before it; only the digest is kept, never a secret.
"""

from __future__ import annotations

from dataclasses import replace
from typing import assert_never

from nodus_providers.simulated.database import Transaction
from nodus_providers.simulated.gate import is_unreachable
from nodus_providers.simulated.instants import SECOND, from_micro, moment_or_none
from nodus_providers.simulated.rows import MachineRow
from nodus_providers.simulated.timeline import Due, idle_at, remind, with_idle_timeout
from nodus_providers.simulated.world import World
from nodusctl.base.canonical import digest
from nodusctl.provider.agent import Activity, AgentAnswer, AgentCommand, AgentRequest, ToolAnswer
from nodusctl.provider.machines import MachineState
from nodusctl.provider.replies import Done, Refused, Reply, Scope, Unknown

VERSION = "simulated/1"


def ask(tx: Transaction, world: World, machine_id: str, request: AgentRequest) -> Reply[AgentAnswer]:
    """Answer one question; Unknown where nobody listens."""
    machine = tx.row(MachineRow, "id = ? AND account = ?", machine_id, world.account)
    if machine is None or machine.state != MachineState.RUNNING:
        return Unknown("nothing answers at this address")
    if machine.is_unreachable or is_unreachable(tx, (machine.address,), "agent", "get"):
        return Unknown("no route to host")
    changed = _changed(tx, machine, request)
    if isinstance(changed, Refused):
        return changed
    tx.put(changed)
    return Done(_answer(tx, world, changed, request.command))


def _changed(tx: Transaction, machine: MachineRow, request: AgentRequest) -> MachineRow | Refused:
    match request.command:
        case AgentCommand.READY | AgentCommand.FACTS:
            return machine
        case AgentCommand.RENEW:
            return _renewed(tx, machine, request)
        case AgentCommand.SECRETS:
            has_secrets = machine.has_secrets or any(path.startswith("/run/secrets") for path in request.files)
            return replace(machine, pushed_digest=digest(dict(request.files)), has_secrets=int(has_secrets))
        case AgentCommand.QUIESCE:
            return replace(machine, is_quiet=1)
        case unexpected:
            assert_never(unexpected)


def _renewed(tx: Transaction, machine: MachineRow, request: AgentRequest) -> MachineRow | Refused:
    edge_seconds, idle_seconds = request.edge_seconds, request.idle_timeout_seconds
    if (edge_seconds is None and idle_seconds is None) or (edge_seconds is not None and edge_seconds <= 0):
        return Refused("Invalid", Scope.REQUEST, "a renewal needs the seconds that remain")
    if idle_seconds is not None and idle_seconds < 0:
        return Refused("Invalid", Scope.REQUEST, "an idle timeout is a number of seconds, 0 for never")
    if edge_seconds is not None and machine.edge_at is not None:
        machine = replace(machine, edge_at=tx.now + edge_seconds * SECOND)
        remind(tx, machine.edge_at or tx.now, Due.EDGE, machine.id)
    return machine if idle_seconds is None else with_idle_timeout(tx, machine, idle_seconds or None)


def _answer(tx: Transaction, world: World, machine: MachineRow, command: AgentCommand) -> AgentAnswer:
    is_asked_for_facts, idle = command is AgentCommand.FACTS, None if machine.is_quiet else idle_at(machine)
    return AgentAnswer(
        version=VERSION,
        boot_id=f"{machine.id}/{machine.boot_number}",
        remaining_seconds=None if machine.edge_at is None else (machine.edge_at - tx.now) // SECOND,
        has_secrets=bool(machine.has_secrets),
        tools=tuple(ToolAnswer(name=name, has_answered=True) for name in world.manners.tools),
        ready_at=moment_or_none(machine.running_at),
        activities=_activities(tx, machine.id) if is_asked_for_facts else (),
        pushed_digest=machine.pushed_digest,
        is_quiet=bool(machine.is_quiet),
        last_activity_at=moment_or_none(machine.used_at),
        idle_timeout_seconds=machine.idle_seconds,
        idle_remaining_seconds=None if idle is None else max(0, (idle - tx.now) // SECOND),
    )


def _activities(tx: Transaction, machine_id: str) -> tuple[Activity, ...]:
    rows = tx.execute("SELECT kind, detail, time FROM activity WHERE machine_id = ? ORDER BY time DESC, rowid DESC LIMIT 3", machine_id)
    return tuple(Activity(kind=kind, detail=detail, time=from_micro(time)) for kind, detail, time in rows)
