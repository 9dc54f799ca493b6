"""What a simulated world has seen and holds, as tables and as JSON."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from nodusctl.base.timestamps import format_time
from nodusctl.provider.contract import CallRecord, FaultRule
from nodusctl.provider.machines import Machine
from nodusctl.render.redacted import redacted
from nodusctl.render.spans import moment_text
from nodusctl.render.style import Style
from nodusctl.render.tables import table


def calls_text(calls: Sequence[CallRecord], style: Style) -> str:
    """One call a line, oldest first."""
    rows = [[str(one.sequence), format_time(one.time), one.operation, one.address, one.outcome, one.token] for one in calls]
    return table(("#", "TIME", "OPERATION", "ADDRESS", "OUTCOME", "TOKEN"), rows, style, right={"#"}) if rows else "No calls yet."


def call_document(call: CallRecord) -> dict[str, Any]:
    """One call."""
    return {
        "sequence": call.sequence,
        "time": format_time(call.time),
        "operation": call.operation,
        "address": call.address,
        "token": call.token,
        "outcome": call.outcome,
    }


def faults_text(faults: Sequence[FaultRule], style: Style) -> str:
    """One fault a line."""
    rows = [[str(one.id), one.operation, one.match or "any", _count(one.nth), _count(one.times_left), one.effect] for one in faults]
    return table(("ID", "OPERATION", "MATCH", "NTH", "TIMES LEFT", "EFFECT"), rows, style) if rows else "No faults."


def fault_document(rule: FaultRule) -> dict[str, Any]:
    """One fault."""
    return {
        "id": rule.id,
        "operation": rule.operation,
        "match": rule.match,
        "nth": rule.nth,
        "timesLeft": rule.times_left,
        "effect": rule.effect,
    }


def machines_text(machines: Sequence[Machine], style: Style) -> str:
    """One machine a line."""
    rows = [
        [one.id, _address(one), one.state.value, one.offer_id, one.zone, moment_text(one.billing_started_at), moment_text(one.ended_at)]
        for one in machines
    ]
    return table(("MACHINE", "OBJECT", "STATE", "OFFER", "ZONE", "BILLING SINCE", "ENDED"), rows, style) if rows else "No machines."


def machines_json(machines: Sequence[Machine]) -> str:
    """A JSON array."""
    return json.dumps(redacted([machine_document(one) for one in machines]), indent=2)


def machine_document(machine: Machine) -> dict[str, Any]:
    """One machine."""
    return {
        "id": machine.id,
        "address": _address(machine),
        "state": machine.state.value,
        "token": machine.token,
        "name": machine.name,
        "offer": machine.offer_id,
        "zone": machine.zone,
        "interruptible": machine.is_interruptible,
        "createdTime": moment_text(machine.created_at),
        "billingStartTime": moment_text(machine.billing_started_at),
        "endedTime": moment_text(machine.ended_at),
        "armedUntil": moment_text(machine.armed_until),
        "disks": list(machine.disk_ids),
        "tags": dict(machine.tags),
    }


def _address(machine: Machine) -> str:
    return machine.tags.get("nodus-address", "")


def _count(number: int | None) -> str:
    return "every" if number is None else str(number)
