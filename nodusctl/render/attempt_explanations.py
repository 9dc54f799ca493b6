"""``explain attempt/NAME`` as text and as JSON: candidates, scores, fallbacks, refusals, and a plain word on what is no longer known."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from nodusctl.attempts.attempt import RefusedTry
from nodusctl.base.durations import format_duration
from nodusctl.engine.inspect_one import AttemptFacts
from nodusctl.render.descriptions import event_document, events_text, section
from nodusctl.render.receipts import receipt_document, receipt_text
from nodusctl.render.spans import moment_text
from nodusctl.render.style import Style
from nodusctl.render.tables import pairs, table
from nodusctl.state.terms import Terms

_HEADS = ("ORDER", "OFFER", "RATE/H", "AT MOST/H", "STARTS P50", "P90", "PRICE", "OUTCOME")


def attempt_text(facts: AttemptFacts, style: Style) -> str:
    """Why that machine: what was compared, the offers in order, what was refused, what was taken, and how it went on."""
    rows = [_offer_row(place, terms, facts) for place, terms in enumerate(facts.approved, start=1)]
    offers = table(_HEADS, rows, style, right={"RATE/H", "AT MOST/H", "STARTS P50", "P90"}, indent=2) if rows else ""
    title = "Offers as approved, in the order they may be tried" if facts.is_in_force else "Offers of the plan applied last, for comparison"
    refusals = [(one.offer_key, f"{one.code} at {moment_text(one.time)} {one.message}".strip()) for one in facts.receipt.attempt.refusals]
    parts = [
        receipt_text(facts.receipt),
        section("Why this machine", "\n".join(f"  {line}" for line in why(facts)), style),
        section(title, offers, style),
        section("Refused tries", pairs(refusals, indent=2), style),
        section(f"Others named {facts.receipt.attempt.name}", _namesakes(facts), style),
        section("Events", events_text(facts.history, style), style),
    ]
    return "\n\n".join(part for part in parts if part)


def why(facts: AttemptFacts) -> Iterator[str]:
    """Sentences, each about something stored; where something isn't, that is the sentence."""
    attempt, approval = facts.receipt.attempt, facts.approval
    yield _taken(facts)
    if approval is None:
        yield "No approval is stored for its owner any more, so which other offers it might have tried is not known."
        return
    by = f"by {approval.approved_by} at {moment_text(approval.approved_at)}, plan {approval.plan_hash[:12]}"
    if not facts.is_in_force:
        yield f"Its own approval was replaced by a later plan (approved {by}); only the offers it tried are known for certain."
        return
    yield f"Approved {by} with {len(approval.terms)} offers, in the order of the spec's placement profile."
    if facts.reviewed is None:
        yield "No file of that plan is kept here (plan -o keeps one), so how many offers each constraint removed is not known."
    elif facts.reviewed.funnel:
        yield "Offers left after each constraint: " + " -> ".join(f"{name} {count}" for name, count in facts.reviewed.funnel)
    if attempt.refusals and attempt.terms is not None:
        yield f"{len(attempt.refusals)} tries were refused before it; each refusal moved on to the next offer."


def _namesakes(facts: AttemptFacts) -> str:
    lines = [f"  {one.uid[:8]}  {one.owner}, queued {moment_text(one.timings.queued_at)}" for one in facts.namesakes]
    if lines:
        name = facts.receipt.attempt.name
        lines.append(f"  attempt/{name} is the newest of them; to see another:  nodusctl explain attempt/{facts.namesakes[0].uid[:8]}")
    return "\n".join(lines)


def _taken(facts: AttemptFacts) -> str:
    attempt, terms = facts.receipt.attempt, facts.receipt.attempt.terms
    if terms is None:
        return "No offer is taken: " + (
            f"{len(attempt.refusals)} tries were refused." if attempt.refusals else "it still waits for its first try."
        )
    place = next((place for place, one in enumerate(facts.approved, start=1) if one.offer_key == terms.offer_key), 0)
    order = f"number {place} of {len(facts.approved)} approved" if place and facts.is_in_force else f"try {attempt.try_number}"
    return f"Taken: {terms.offer_key} at {terms.rate_usd_per_hour.shown}/h ({order}), price {terms.price_origin}: {terms.price_source}."


def attempt_facts_document(facts: AttemptFacts) -> dict[str, Any]:
    """The same as JSON. ``fallbacks`` are the approved offers behind the taken one."""
    attempt, approval = facts.receipt.attempt, facts.approval
    chosen = attempt.terms.offer_key if attempt.terms else ""
    keys = [terms.offer_key for terms in facts.approved]
    return {
        "receipt": receipt_document(facts.receipt),
        "taken": chosen,
        "why": list(why(facts)),
        "approval": None
        if approval is None
        else {
            "planHash": approval.plan_hash,
            "by": approval.approved_by,
            "time": moment_text(approval.approved_at),
            "inForce": facts.is_in_force,
        },
        "candidates": [_terms_document(terms) for terms in facts.approved],
        "fallbacks": keys[keys.index(chosen) + 1 :] if chosen in keys else keys,
        "funnel": [{"constraint": name, "remaining": count} for name, count in facts.reviewed.funnel] if facts.reviewed else None,
        "refused": [_refusal_document(one) for one in attempt.refusals],
        "events": [event_document(one) for one in facts.history],
        "namesakes": [
            {"attempt": one.name, "attemptUID": one.uid, "owner": str(one.owner), "queuedTime": moment_text(one.timings.queued_at)}
            for one in facts.namesakes
        ],
    }


def _terms_document(terms: Terms) -> Mapping[str, Any]:
    return {
        "offer": terms.offer_key,
        "rateUSDPerHour": str(terms.rate_usd_per_hour),
        "ceilingUSDPerHour": str(terms.ceiling_usd_per_hour),
        "startup": {"p50": format_duration(terms.startup_p50), "p90": format_duration(terms.startup_p90)},
        "interruptible": terms.is_interruptible,
        "priceOrigin": terms.price_origin,
        "priceSource": terms.price_source,
        "pricebookVersion": terms.book_version,
    }


def _offer_row(place: int, terms: Terms, facts: AttemptFacts) -> list[str]:
    attempt = facts.receipt.attempt
    refused = {one.offer_key: one.code for one in attempt.refusals}
    if attempt.terms is not None and terms.offer_key == attempt.terms.offer_key:
        outcome = "taken"
    else:
        outcome = f"refused: {refused[terms.offer_key]}" if terms.offer_key in refused else "not tried"
    return [
        str(place),
        terms.offer_key,
        terms.rate_usd_per_hour.shown,
        terms.ceiling_usd_per_hour.shown,
        format_duration(terms.startup_p50),
        format_duration(terms.startup_p90),
        f"{terms.price_origin} {terms.price_source}",
        outcome,
    ]


def _refusal_document(refusal: RefusedTry) -> dict[str, str]:
    return {
        "offer": refusal.offer_key,
        "code": refusal.code,
        "scope": refusal.scope,
        "message": refusal.message,
        "time": moment_text(refusal.time),
    }
