"""``state show`` and lock messages."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import timedelta
from typing import Any

from nodusctl.base.durations import format_duration
from nodusctl.engine.inspect_state import StateFacts
from nodusctl.ports.claims import Holder, LockFacts
from nodusctl.ports.journal import OperationNote
from nodusctl.render.spans import moment_text
from nodusctl.render.style import Style
from nodusctl.render.tables import pairs, table

_SECOND = timedelta(seconds=1)


def state_text(facts: StateFacts, style: Style) -> str:
    """Identity, contents, locks, work in hand, latest operations."""
    rows = [(_title(name), str(value)) for name, value in facts.facts.items() if name not in {"lineage", "serial"}]
    if not facts.exists:
        return pairs([*rows, ("State", "not there yet; the first apply creates it")])
    counts = ", ".join(f"{count} {kind}" for kind, count in sorted(facts.counts.items())) or "nothing"
    head = pairs(
        [
            *rows,
            ("Lineage", facts.lineage),
            ("Serial", str(facts.serial)),
            ("Holds", counts),
            ("Money", f"{facts.charged_usd.shown} charged, {facts.held_usd.shown} held now"),
            ("Lock", _lock_line(facts.lock)),
        ]
    )
    parts = [head]
    if facts.open_intents:
        steps = [
            [str(one.address), one.step.value, one.provider, moment_text(one.opened_at), one.last_detail] for one in facts.open_intents
        ]
        parts.append("Steps not settled yet\n" + table(("OBJECT", "STEP", "PROVIDER", "SINCE", "DETAIL"), steps, style, indent=2))
    if facts.work:
        work = [[one.address, one.step, holder_text(one.holder), one.liveness.value, _ago(one.silent_for)] for one in facts.work]
        parts.append("Work in hand\n" + table(("OBJECT", "STEP", "HOLDER", "HOLDER IS", "LAST HEARD OF"), work, style, indent=2))
    if facts.operations:
        parts.append("Operations that moved the serial\n" + history_text(facts.operations, style, indent=2))
    return "\n\n".join(parts)


def state_document(facts: StateFacts) -> dict[str, Any]:
    """The same as JSON."""
    return {
        "exists": facts.exists,
        "lineage": facts.lineage,
        "serial": facts.serial,
        "store": {name: str(value) if not isinstance(value, (int, bool)) else value for name, value in facts.facts.items()},
        "holds": dict(facts.counts),
        "lock": _lock_document(facts.lock),
        "openIntents": [
            {
                "id": one.id,
                "address": str(one.address),
                "step": one.step.value,
                "provider": one.provider,
                "openedTime": moment_text(one.opened_at),
            }
            for one in facts.open_intents
        ],
        "claims": [
            {
                "address": one.address,
                "step": one.step,
                "holder": holder_text(one.holder),
                "liveness": one.liveness.value,
                "silentSeconds": int(one.silent_for.total_seconds()),
            }
            for one in facts.work
        ],
        "chargedUSD": str(facts.charged_usd),
        "heldUSD": str(facts.held_usd),
        **history_document(facts.operations),
    }


def history_text(operations: Sequence[OperationNote], style: Style, *, indent: int = 0) -> str:
    """Operations, newest first, as a table."""
    if not operations:
        return "No operation yet: nothing has moved the serial."
    moved = [[moment_text(one.at), str(one.serial), one.by, one.command, one.plan_hash[:12]] for one in operations]
    return table(("TIME", "SERIAL", "BY", "COMMAND", "PLAN"), moved, style, indent=indent)


def history_document(operations: Sequence[OperationNote]) -> dict[str, Any]:
    """The same as JSON, with whole hashes."""
    return {
        "operations": [
            {"time": moment_text(one.at), "serial": one.serial, "by": one.by, "command": one.command, "planHash": one.plan_hash}
            for one in operations
        ]
    }


def _title(name: str) -> str:
    """``open_intents`` as ``Open intents``."""
    words = name.replace("_", " ")
    return "URL" if words == "url" else words[:1].upper() + words[1:]


def holder_text(holder: Holder) -> str:
    """``user@host pid 4711``."""
    return f"{holder.user}@{holder.host} pid {holder.pid}"


def _ago(span: timedelta) -> str:
    return f"{format_duration(max(span, timedelta(0)) // _SECOND * _SECOND)} ago"


def _lock_line(lock: LockFacts | None) -> str:
    return f"{lock.id} held by {holder_text(lock.holder)} ({lock.liveness.value}) for: {lock.holder.command}" if lock else "free"


def _lock_document(lock: LockFacts | None) -> dict[str, Any] | None:
    if lock is None:
        return None
    return {
        "id": lock.id,
        "holder": f"{lock.holder.user}@{lock.holder.host}",
        "pid": lock.holder.pid,
        "command": lock.holder.command,
        "startedTime": moment_text(lock.started_at),
        "heartbeatTime": moment_text(lock.heartbeat_at),
        "liveness": lock.liveness.value,
    }
