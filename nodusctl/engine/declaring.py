"""``recover K/N --machine-is-dead ID``: the owner's word, where nothing can prove that a machine is dead.

It is journalled and stands in an annotation, and names the machine: said of another one, or said again later, it means nothing. What
follows is what follows any proof of death; the machine's release is still asked for and waited for, as far as the platform answers.
"""

from __future__ import annotations

from dataclasses import replace

from nodusctl.attempts.attempt import Attempt
from nodusctl.attempts.events import Remarked
from nodusctl.base.diagnostics import Diagnostic, error
from nodusctl.base.exits import UserError
from nodusctl.base.ids import Address
from nodusctl.engine.applying import ApplyResult, ApplySettings, resume
from nodusctl.engine.journalling import Journaller
from nodusctl.engine.locking import under_plan_lock
from nodusctl.engine.verbs import workspace
from nodusctl.executor.outside import Outside
from nodusctl.executor.runs import Interrupts
from nodusctl.state.records import PutRecord
from nodusctl.state.requests import DEATH_REQUEST, death_request


def declare_dead(
    address: Address, machine_id: str, *, outside: Outside, command: str, settings: ApplySettings, interrupts: Interrupts
) -> ApplyResult:
    """Write it down, then carry the object on. UserError where it has no machine, or another one than was named."""
    _refuse_other(address, machine_id, outside)

    def act() -> None:
        _refuse_other(address, machine_id, outside)
        snapshot, now = outside.journal.snapshot(), outside.clock.now()
        record = snapshot.standings[address].record
        said = Remarked(
            time=now,
            object_uid=record.uid,
            attempt_uid=snapshot.standings[address].status.attempt_uid,
            code="DeclaredDead",
            message=f"{outside.owner} says that machine {machine_id} is dead",
        )
        after = replace(record, annotations={**record.annotations, DEATH_REQUEST: death_request(machine_id, now)})
        Journaller(outside, command, settings.lock_timeout).write(
            snapshot, records=(PutRecord(after),), events=(said,), addresses=(address,)
        )

    under_plan_lock(outside.claims, command, settings.lock_timeout, act)
    return resume(outside, (address,), settings, interrupts)


def _refuse_other(address: Address, machine_id: str, outside: Outside) -> None:
    current = current_attempt(address, outside)
    machine = current.machine if current is not None else None
    if current is None or machine is None or current.is_released:
        raise UserError(_no_machine(address))
    if machine.id != machine_id:
        raise UserError(_other_machine(address, machine_id, machine.id))


def current_attempt(address: Address, outside: Outside) -> Attempt | None:
    """The Attempt that fills the Workspace's slot now; UserError for what is no Workspace of the state."""
    standing = workspace(outside, address)
    stored = outside.journal.load(standing.record.uid)
    attempts = stored.attempts if stored is not None else ()
    return next((one for one in attempts if one.uid == standing.status.attempt_uid), None)


def _no_machine(address: Address) -> Diagnostic:
    detail = f"{address} has no machine that could be dead."
    return error("Conflict", "There is no machine to recover from.", detail, f"See where it stands:\n  nodusctl describe {address}")


def _other_machine(address: Address, said: str, current: str) -> Diagnostic:
    detail = f"It says {said}; the machine of {address} is {current}."
    fix = f"If that one is dead:\n  nodusctl recover {address} --machine-is-dead {current}"
    return error("Conflict", "That is not its machine.", detail, fix, address=str(address))
