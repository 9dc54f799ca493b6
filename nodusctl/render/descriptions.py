"""``describe`` and ``explain attempt/NAME`` as text and as JSON."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any

from nodusctl.attempts.attempt import RefusedTry
from nodusctl.base.timestamps import format_time
from nodusctl.engine.inspect_history import Happening
from nodusctl.engine.inspect_one import AttemptFacts, Description
from nodusctl.render.receipts import receipt_document, receipt_text, receipts_text
from nodusctl.render.spans import moment_text
from nodusctl.render.style import Style
from nodusctl.render.tables import pairs, table
from nodusctl.state.terms import Terms

_LATEST_EVENTS = 25


def description_text(description: Description, style: Style, *, now: datetime) -> str:
    """Sections: identity, spec, status, conditions, attempts, open steps, events."""
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
        ("Source", description.stored.record.source),
        ("Ends itself", _edge(description)),
    ]
    parts = [pairs(head), _section("Spec", _tree(document.get("spec", {})), style), _section("Status", _tree(status), style)]
    parts.append(_section("Conditions", _conditions(conditions, style), style))
    with_machine = [receipt for receipt in description.receipts if receipt.attempt.machine is not None]
    if with_machine:
        parts.append(_section("Attempts", receipts_text(with_machine, style, now=now), style))
    steps = [
        (intent.step.value, f"open since {moment_text(intent.opened_at)} at {intent.provider}; {intent.last_detail or 'no answer yet'}")
        for intent in description.open_intents
    ]
    parts.append(_section("Steps not settled yet", pairs(steps, indent=2), style))
    parts.append(_section("Events", _events(description.history, style), style))
    return "\n\n".join(part for part in parts if part)


def description_document(description: Description) -> dict[str, Any]:
    """The object, its receipts and its events."""
    return {
        "object": dict(description.document),
        "attempts": [receipt_document(receipt) for receipt in description.receipts],
        "events": [_event_document(one) for one in description.history],
    }


def attempt_text(facts: AttemptFacts, style: Style, *, now: datetime) -> str:
    """Why that machine: the approved offers in order, what was refused, what was taken, and how it went on."""
    attempt = facts.receipt.attempt
    chosen = attempt.terms.offer_key if attempt.terms else ""
    refused = {one.offer_key: one.code for one in attempt.refusals}
    rows = [_offer_row(place, terms, chosen, refused) for place, terms in enumerate(facts.approved, start=1)]
    offers = table(("ORDER", "OFFER", "RATE/H", "AT MOST/H", "PRICE", "OUTCOME"), rows, style, right={"RATE/H", "AT MOST/H"}, indent=2)
    refusals = [(one.offer_key, f"{one.code} at {moment_text(one.time)} {one.message}".strip()) for one in attempt.refusals]
    parts = [
        receipt_text(facts.receipt, now=now),
        _section("Offers of the last approved plan of its owner, in the order they may be tried", offers if rows else "", style),
        _section("Refused tries", pairs(refusals, indent=2), style),
        _section("Events", _events(facts.history, style), style),
    ]
    return "\n\n".join(part for part in parts if part)


def attempt_facts_document(facts: AttemptFacts) -> dict[str, Any]:
    """The same as JSON."""
    attempt = facts.receipt.attempt
    return {
        "receipt": receipt_document(facts.receipt),
        "taken": attempt.terms.offer_key if attempt.terms else "",
        "approved": [
            {
                "offer": terms.offer_key,
                "rateUSDPerHour": str(terms.rate_usd_per_hour),
                "ceilingUSDPerHour": str(terms.ceiling_usd_per_hour),
                "priceOrigin": terms.price_origin,
                "priceSource": terms.price_source,
            }
            for terms in facts.approved
        ],
        "refused": [_refusal_document(one) for one in attempt.refusals],
        "events": [_event_document(one) for one in facts.history],
    }


def _offer_row(place: int, terms: Terms, chosen: str, refused: Mapping[str, str]) -> list[str]:
    if terms.offer_key == chosen:
        outcome = "taken"
    else:
        outcome = f"refused: {refused[terms.offer_key]}" if terms.offer_key in refused else "not tried"
    rate, most = terms.rate_usd_per_hour.shown, terms.ceiling_usd_per_hour.shown
    return [str(place), terms.offer_key, rate, most, f"{terms.price_origin} {terms.price_source}", outcome]


def _refusal_document(refusal: RefusedTry) -> dict[str, str]:
    return {"offer": refusal.offer_key, "code": refusal.code, "message": refusal.message, "time": moment_text(refusal.time)}


def _edge(description: Description) -> str:
    """The armed edge, as read back from the machine."""
    edges = [one.attempt.edge_at for one in description.receipts if one.attempt.machine is not None and not one.attempt.is_released]
    return f"{moment_text(edges[-1])} at the latest" if edges and edges[-1] is not None else ""


def _section(title: str, body: str, style: Style) -> str:
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
    rows = [[str(one.get(name, "")) for name in ("type", "status", "reason", "lastTransitionTime", "message")] for one in conditions]
    return table(("TYPE", "STATUS", "REASON", "SINCE", "MESSAGE"), rows, style, indent=2) if rows else ""


def _events(history: Sequence[Happening], style: Style) -> str:
    if not history:
        return ""
    left_out = len(history) - _LATEST_EVENTS
    rows = [[format_time(one.time.replace(microsecond=0)), one.what, one.message] for one in history[-_LATEST_EVENTS:]]
    shown = table(("TIME", "EVENT", "MESSAGE"), rows, style, indent=2)
    return f"  ({left_out} earlier ones are left out)\n{shown}" if left_out > 0 else shown


def _event_document(happening: Happening) -> dict[str, Any]:
    return {"time": format_time(happening.time), "event": happening.what, "message": happening.message}
