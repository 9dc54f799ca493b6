"""``describe`` as text and as JSON."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any

from nodusctl.base.timestamps import format_time
from nodusctl.engine.inspect_history import Happening
from nodusctl.engine.inspect_one import Description
from nodusctl.render.receipts import receipt_document, receipts_text
from nodusctl.render.spans import moment_text
from nodusctl.render.style import Style
from nodusctl.render.tables import pairs, table
from nodusctl.render.times import times_text

_LATEST_EVENTS = 25


def description_text(description: Description, style: Style, *, now: datetime) -> str:
    """Sections: identity, spec, status, conditions, attempts, open steps, events. Conditions and events are always there."""
    document = description.document
    metadata, status = document.get("metadata", {}), dict(document.get("status", {}))
    conditions = status.pop("conditions", [])
    head = [
        ("Name", str(metadata.get("name", ""))),
        ("Kind", str(document.get("kind", ""))),
        ("Project", str(metadata.get("namespace", ""))),
        ("UID", str(metadata.get("uid", ""))),
        ("Generation", str(metadata.get("generation", ""))),
        ("Created", str(metadata.get("creationTimestamp", ""))),
        ("Labels", _flat(metadata.get("labels", {}))),
        ("Annotations", _flat(metadata.get("annotations", {}))),
        ("Source", description.source),
    ]
    parts = [pairs(head), section("Spec", _tree(document.get("spec", {})), style), section("Status", _tree(status), style)]
    if description.times is not None:
        parts.append(section("Time", times_text(description.times), style))
    parts.append(section("Conditions", _conditions(conditions, style), style))
    with_machine = [receipt for receipt in description.receipts if receipt.attempt.machine is not None]
    if with_machine:
        parts.append(section("Attempts", receipts_text(with_machine, style, now=now), style))
    steps = [
        (intent.step.value, f"open since {moment_text(intent.opened_at)} at {intent.provider}; {intent.last_detail or 'no answer yet'}")
        for intent in description.open_intents
    ]
    parts.append(section("Steps not settled yet", pairs(steps, indent=2), style))
    parts.append(section("Events", events_text(description.history, style), style))
    return "\n\n".join(part for part in parts if part)


def description_document(description: Description) -> dict[str, Any]:
    """The object, its receipts and its events."""
    return {
        "object": dict(description.document),
        "attempts": [receipt_document(receipt) for receipt in description.receipts],
        "events": [event_document(one) for one in description.history],
    }


def section(title: str, body: str, style: Style) -> str:
    """A bold title over its body; nothing where the body is empty."""
    return f"{style.paint(title, 'bold')}\n{body}" if body else ""


def _flat(mapping: Mapping[str, str]) -> str:
    return "\n".join(f"{key}={value}" for key, value in sorted(mapping.items()))


def _tree(value: Any, indent: int = 2) -> str:
    """Nested JSON as indented lines; lists of plain values on one line."""
    lines: list[str] = []
    for key, inner in value.items():
        lead = " " * indent
        if isinstance(inner, Mapping) and inner:
            lines += [f"{lead}{key}:", _tree(inner, indent + 2)]
        elif isinstance(inner, (list, tuple)) and any(isinstance(one, Mapping) for one in inner):
            lines.append(f"{lead}{key}:")
            lines += [f"{lead}- {_inline(one)}" for one in inner]
        else:
            lines.append(f"{lead}{key}: {_inline(inner)}")
    return "\n".join(lines)


def _inline(value: Any) -> str:
    if isinstance(value, Mapping):
        return ", ".join(f"{key}: {_inline(inner)}" for key, inner in value.items())
    if isinstance(value, (list, tuple)):
        return ", ".join(_inline(one) for one in value) or "none"
    if isinstance(value, bool):
        return "true" if value else "false"
    return str(value)


def _conditions(conditions: Sequence[Mapping[str, Any]], style: Style) -> str:
    if not conditions:
        return "  none"
    rows = [[str(one.get(name, "")) for name in ("type", "status", "reason", "lastTransitionTime", "message")] for one in conditions]
    return table(("TYPE", "STATUS", "REASON", "SINCE", "MESSAGE"), rows, style, indent=2)


def events_text(history: Sequence[Happening], style: Style) -> str:
    """The latest events, oldest first; says where there are none."""
    if not history:
        return "  none yet"
    left_out = len(history) - _LATEST_EVENTS
    rows = [[format_time(one.time.replace(microsecond=0)), one.what, one.message] for one in history[-_LATEST_EVENTS:]]
    shown = table(("TIME", "EVENT", "MESSAGE"), rows, style, indent=2)
    return f"  ({left_out} earlier ones are left out)\n{shown}" if left_out > 0 else shown


def event_document(happening: Happening) -> dict[str, Any]:
    """One event as JSON."""
    return {"time": format_time(happening.time), "event": happening.what, "message": happening.message}
