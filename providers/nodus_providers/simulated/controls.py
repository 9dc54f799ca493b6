"""The hand on the world from outside, for ``nodusctl sim`` and for tests: time, faults, calls, kills. None of it is a provider's call."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import replace
from datetime import datetime
from pathlib import Path

from nodus_providers.simulated import gate, machines, revisions
from nodus_providers.simulated.clock import Hanging, SimulatedClock
from nodus_providers.simulated.database import Transaction, WorldDatabase
from nodus_providers.simulated.effects import parse_effect, require_operation
from nodus_providers.simulated.instants import to_micro
from nodus_providers.simulated.rows import MachineRow
from nodus_providers.simulated.timeline import ENDED, used
from nodus_providers.simulated.worldfile import load_world, world_text
from nodusctl.base.clock import Clock
from nodusctl.base.diagnostics import error
from nodusctl.base.exits import ExitCode, UserError
from nodusctl.base.redaction import clean
from nodusctl.base.timestamps import format_time
from nodusctl.provider.contract import CallRecord, FaultRule
from nodusctl.provider.machines import Machine, MachineState

ACTIVITY_KINDS = ("ssh", "tool", "process")


class WorldControls:
    """Implements ``CanSimulate``. ``world`` is read once and again after ``initialise``."""

    def __init__(self, database: WorldDatabase, world_path: Path, shown_path: str) -> None:
        self._database, self._world_path, self._shown_path = database, world_path, shown_path
        self._hanging = Hanging()
        self._world = load_world(world_path, shown_path)
        self._clock = SimulatedClock(database, lambda: self._world, self._hanging)

    def simulated_clock(self) -> Clock:
        """The world's clock."""
        return self._clock

    def initialise(self, now: datetime | None) -> str:
        """Write the default world file unless there is one, and put the clock to ``now`` where one is given."""
        if not self._world_path.exists():
            self._world_path.parent.mkdir(parents=True, exist_ok=True)
            self._world_path.write_text(world_text(self._world), encoding="utf-8")
        self._world = load_world(self._world_path, self._shown_path)
        if now is not None:
            self.set_time(now)
        return str(self._world_path)

    def set_time(self, moment: datetime) -> None:
        """Move the world to ``moment``; UserError (exit 64) where that lies in its past, unless nothing has happened in it yet."""
        with self._database.transaction() as tx:
            if _is_untouched(tx):
                tx.set_now(to_micro(moment))
                return
        now = self._clock.now()
        if moment < now:
            detail = f"It is {format_time(now)} in the world, and time only goes on there."
            fix = f"Give a later time, or begin a new world:\n  rm {self._database.path}*"
            raise UserError(error("Invalid", "The simulated world can't go back in time", detail, fix), exit_code=ExitCode.USAGE)
        self._clock.move_to(moment)

    def add_fault(self, operation: str, match: str, nth: int | None, times: int | None, effect: str) -> FaultRule:
        """Script a fault; UserError (exit 64) where operation, effect, nth or times is not understood."""
        require_operation(operation)
        parse_effect(effect)
        for name, count in (("nth", nth), ("times", times)):
            if count is not None and count < 1:
                raise UserError(
                    error("Invalid", "A count of a fault is too small", f"{name} counts from 1.", field=name), exit_code=ExitCode.USAGE
                )
        with self._database.transaction() as tx:
            return gate.add_rule(tx, operation, match, nth=nth, times=times, effect=clean(" ".join(effect.split())))

    def faults(self) -> tuple[FaultRule, ...]:
        """Faults that may still act, in the order given."""
        with self._database.transaction() as tx:
            return gate.rules(tx)

    def clear_faults(self) -> int:
        """Forget all faults; how many could still act."""
        with self._database.transaction() as tx:
            count = gate.clear_rules(tx)
        self._database.settle_file()
        return count

    def calls(self, operation: str = "", match: str = "") -> tuple[CallRecord, ...]:
        """Calls received, in order; UserError (exit 64) for an operation nobody knows."""
        if operation:
            require_operation(operation)
        with self._database.transaction() as tx:
            return gate.recorded(tx, operation, match)

    def simulated_machines(self, match: str, include_ended: bool) -> tuple[Machine, ...]:
        """Machines as they are, by address, glob or id."""
        with self._database.transaction() as tx:
            found = machines.all_machines(tx, self._world, include_ended)
            return tuple(machine for machine in found if gate.matches(match, (machine.id, machines.address_in(machine.tags))))

    def kill(self, machine_id: str) -> None:
        """The host of a machine dies now; UserError where no such machine lives."""
        with self._database.transaction() as tx:
            is_killed = machines.kill(tx, self._world, machine_id)
        if not is_killed:
            raise _no_machine(machine_id)

    def resize(self, machine_id: str, offer_id: str) -> None:
        """Somebody gives a machine the hardware of another offer, behind everybody's back; UserError for an unknown machine or offer."""
        if self._world.line(offer_id) is None:
            fix = "Offers: " + ", ".join(line.id for line in self._world.offers) + "."
            raise UserError(error("NotFound", "The simulated world has no such offer", f"{offer_id} is none.", fix))
        self._rewrite(machine_id, lambda row: replace(row, offer_id=offer_id))

    def retag(self, machine_id: str, tags: Mapping[str, str]) -> None:
        """Somebody gives a machine these tags in place of its own. For tests."""
        self._rewrite(machine_id, lambda row: replace(row, tags=json.dumps(dict(tags))))

    def _rewrite(self, machine_id: str, change: Callable[[MachineRow], MachineRow]) -> None:
        with self._database.transaction() as tx:
            machine = tx.row(MachineRow, "id = ?", machine_id)
            if machine is not None and machine.state not in ENDED:
                tx.put(change(machine))
                return
        raise _no_machine(machine_id)

    def record_activity(self, machine_id: str, kind: str, detail: str) -> None:
        """Somebody used the machine now, which must be running; kind is ssh, tool or process."""
        if kind not in ACTIVITY_KINDS:
            fix = "Kinds: " + ", ".join(ACTIVITY_KINDS) + "."
            raise UserError(
                error("NotSupported", "Unknown kind of activity", f"{kind!r} is none.", fix, field="kind"), exit_code=ExitCode.USAGE
            )
        with self._database.transaction() as tx:
            machine = tx.row(MachineRow, "id = ?", machine_id)
            if machine is not None and machine.state == MachineState.RUNNING:
                tx.execute("INSERT INTO activity VALUES (?, ?, ?, ?)", machine_id, tx.now, kind, detail)
                used(tx, machine, tx.now)
                return
        raise _no_machine(machine_id)

    def disk_content(self, disk_id: str) -> tuple[str, ...]:
        """The sessions (``machine id/boot number``) whose writes a disk's live content holds, oldest first. For tests."""
        with self._database.transaction() as tx:
            return revisions.content_of(tx, disk_id)


def _is_untouched(tx: Transaction) -> bool:
    """True for a world that never had a machine or a disk: it has no past that could be contradicted."""
    return not tx.execute("SELECT 1 FROM machine UNION ALL SELECT 1 FROM disk LIMIT 1")


def _no_machine(machine_id: str) -> UserError:
    fix = "See which machines live:\n  nodusctl sim machines"
    return UserError(error("NotFound", "No such simulated machine lives", f"{machine_id} is none.", fix))
