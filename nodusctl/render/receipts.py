"""Receipts as a table and, for one object, with times, segments, rate and where it came from."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta
from typing import Any

from nodusctl.base.money import total
from nodusctl.engine.inspect_attempts import segments_document, timings_document, without_empty
from nodusctl.engine.inspect_receipts import Receipt
from nodusctl.engine.sessions import Session
from nodusctl.render.spans import age_text, moment_text
from nodusctl.render.style import Style
from nodusctl.render.tables import pairs, table

_MONEY = frozenset({"RATE/H", "BOOT", "RUNNING", "RESTORE", "TEARDOWN", "CHARGE", "BILLED"})


def receipts_text(receipts: Sequence[Receipt], style: Style, *, now: datetime) -> str:
    """One line for each Attempt that had a machine, and the sum of what is final and what still runs."""
    if not receipts:
        return "No receipts: nothing has been launched yet."
    names = shown_names(receipts)
    rows = [_row(one, names[one.attempt.uid]) for one in receipts]
    heads = ("ATTEMPT", "OWNER", "OFFERING", "RATE/H", "BILLED", "BOOT", "RUNNING", "RESTORE", "TEARDOWN", "CHARGE", "STATE")
    final = total(one.charge_usd for one in receipts if one.is_final)
    lines = [table(heads, rows, style, right=_MONEY), "", f"Charged, final: {final.shown}. Amounts are before tax."]
    open_ones = [one for one in receipts if not one.is_final]
    if open_ones:
        lines += _open_lines(open_ones, now)
    return "\n".join(lines)


def _open_lines(open_ones: Sequence[Receipt], now: datetime) -> list[str]:
    over = [one for one in open_ones if one.is_past_edge]
    billing = [one for one in open_ones if not one.is_past_edge]
    lines = []
    if billing:
        so_far = total(one.so_far_usd for one in billing)
        lines.append(f"Still billing at {moment_text(now)}: {so_far.shown} so far for {len(billing)} of them, not yet final.")
    if over:
        so_far = total(one.so_far_usd for one in over)
        lines.append(
            f"Past the edge at which a machine ends itself: {so_far.shown} for {len(over)} of them, final once a tick has seen it."
        )
    return lines


def shown_names(receipts: Sequence[Receipt]) -> Mapping[str, str]:
    """Attempt names by uid. An object that was removed and made again counts from 1 again, so equal names carry their uid's beginning."""
    times = Counter(one.attempt.name for one in receipts)
    uids = ((one.attempt.uid, one.attempt.name) for one in receipts)
    return {uid: f"{name} ({uid[:8]})" if times[name] > 1 else name for uid, name in uids}


def sessions_text(sessions: Sequence[Session], style: Style) -> str:
    """Sessions that took more than one machine, each with its sum; empty where there is none."""
    several = [one for one in sessions if len(one.receipts) > 1]
    if not several:
        return ""
    rows = [
        [
            one.name,
            ", ".join(receipt.attempt.name for receipt in one.receipts),
            moment_text(one.began_at),
            moment_text(one.ended_at) or "still runs",
            f"{one.billed_seconds}s",
            one.charge_usd.shown if one.is_final else f"{one.so_far_usd.shown} so far",
        ]
        for one in several
    ]
    heads = ("SESSION", "ATTEMPTS", "BEGAN", "ENDED", "BILLED", "CHARGE")
    return "Sessions of several attempts\n" + table(heads, rows, style, right={"BILLED", "CHARGE"}, indent=2)


def session_document(session: Session) -> dict[str, Any]:
    """JSON: one summary a session, also of a single Attempt."""
    return without_empty(
        {
            "session": session.name,
            "owner": str(session.receipts[0].attempt.owner),
            "attempts": [one.attempt.name for one in session.receipts],
            "attemptUIDs": [one.attempt.uid for one in session.receipts],
            "startTime": moment_text(session.began_at),
            "endTime": moment_text(session.ended_at),
            "billedSeconds": session.billed_seconds,
            "chargeUSD": str(session.charge_usd),
            "soFarUSD": "" if session.is_final else str(session.so_far_usd),
            "final": session.is_final,
        }
    )


def receipt_text(receipt: Receipt) -> str:
    """Everything about one receipt."""
    head = pairs([*_terms_rows(receipt), *_time_rows(receipt)])
    parts, seconds = receipt.segments, receipt.seconds
    segments = pairs(
        [
            ("boot", f"{parts.boot.shown}  ({int(seconds.boot)} s)"),
            ("running", f"{parts.running.shown}  ({int(seconds.running)} s)"),
            ("restore", f"{parts.restore.shown}  ({int(seconds.restore)} s)"),
            ("teardown", f"{parts.teardown.shown}  ({int(seconds.teardown)} s, with the rest of the increment and the minimum)"),
            ("total", parts.total.shown if receipt.is_final else f"{parts.total.shown} so far"),
        ],
        indent=2,
    )
    return f"{head}\nSegments\n{segments}"


def _terms_rows(receipt: Receipt) -> list[tuple[str, str]]:
    attempt, terms = receipt.attempt, receipt.attempt.terms
    rows = [("Receipt", f"{attempt.name} ({receipt_state(receipt)})"), ("Owner", str(attempt.owner))]
    if terms is None:
        return rows
    return [
        *rows,
        ("Offering", f"{terms.offering} on {terms.provider}, zone {terms.zone}"),
        ("Rate", f"{terms.rate_usd_per_hour.shown}/h, {terms.price_origin}: {terms.price_source}"),
        ("Price seen", moment_text(terms.price_observed_at)),
        ("Rounding", f"up to {terms.increment_seconds} s, at least {terms.minimum_seconds} s, once for the allocation"),
    ]


def _time_rows(receipt: Receipt) -> list[tuple[str, str]]:
    attempt, times = receipt.attempt, receipt.attempt.timings
    rows = [
        ("Requested", moment_text(times.queued_at)),
        ("Billing start", moment_text(times.billing_started_at)),
        ("Ready", moment_text(times.ready_at)),
    ]
    if times.stop_asked_at is not None:
        rows.append(("Stop asked", f"{moment_text(times.stop_asked_at)} ({attempt.stop_reason})"))
    if times.finished_at is not None:
        rows.append(("End", moment_text(times.finished_at) + (" (estimated)" if receipt.is_estimated else "")))
    if times.billing_started_at is not None:
        rows.append(("Billed", f"{receipt.billed_seconds} s ({age_text(timedelta(seconds=int(receipt.seconds.total)))})"))
    return rows


def receipt_state(receipt: Receipt) -> str:
    """``final``, ``final, estimated``, ``open``, or ``open, past its edge``."""
    if not receipt.is_final:
        return "open, past its edge" if receipt.is_past_edge else "open"
    return "final, estimated" if receipt.is_estimated else "final"


def receipt_document(receipt: Receipt) -> dict[str, Any]:
    """JSON: money as strings."""
    attempt, terms = receipt.attempt, receipt.attempt.terms
    return without_empty(
        {
            "attempt": attempt.name,
            "attemptUID": attempt.uid,
            "owner": str(attempt.owner),
            "offering": terms.offering if terms else "",
            "provider": terms.provider if terms else "",
            "rateUSDPerHour": str(terms.rate_usd_per_hour) if terms else "",
            "priceOrigin": terms.price_origin if terms else "",
            "priceSource": terms.price_source if terms else "",
            "priceObservedTime": moment_text(terms.price_observed_at) if terms else "",
            "pricebookVersion": terms.book_version if terms else "",
            "incrementSeconds": terms.increment_seconds if terms else None,
            "minimumSeconds": terms.minimum_seconds if terms else None,
            "timings": timings_document(receipt),
            "stopAskedTime": moment_text(attempt.timings.stop_asked_at),
            "stopReason": attempt.stop_reason,
            "billedSeconds": receipt.billed_seconds,
            "segments": segments_document(receipt),
            "chargeUSD": str(receipt.charge_usd),
            "heldUSD": str(receipt.held_usd),
            "soFarUSD": "" if receipt.is_final else str(receipt.so_far_usd),
            "final": receipt.is_final,
            "estimated": receipt.is_estimated,
            "pastEdge": True if receipt.is_past_edge else None,
        }
    )


def _row(receipt: Receipt, name: str) -> list[str]:
    attempt, terms, parts = receipt.attempt, receipt.attempt.terms, receipt.segments
    charge = receipt.charge_usd.shown if receipt.is_final else f"{receipt.so_far_usd.shown} so far"
    amounts = [amount.shown for amount in (parts.boot, parts.running, parts.restore, parts.teardown)]
    return [
        name,
        str(attempt.owner),
        terms.offering if terms else "",
        terms.rate_usd_per_hour.shown if terms else "",
        f"{receipt.billed_seconds}s",
        *amounts,
        charge,
        receipt_state(receipt),
    ]
