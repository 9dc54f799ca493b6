"""Receipts for a spreadsheet: one line an Attempt, columns that never change their place, money as decimals, times RFC 3339 UTC.

A new column is added at the end; none is renamed or moved.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

from nodusctl.base.timestamps import format_time
from nodusctl.engine.inspect_receipts import Receipt
from nodusctl.engine.sessions import Session
from nodusctl.render.csv_text import csv_text
from nodusctl.render.receipts import receipt_state

COLUMNS = (
    "session_uid",
    "attempt",
    "attempt_uid",
    "owner",
    "owner_uid",
    "offering",
    "provider",
    "zone",
    "interruptible",
    "rate_usd_per_hour",
    "price_origin",
    "price_source",
    "price_observed",
    "pricebook_version",
    "increment_seconds",
    "minimum_seconds",
    "requested",
    "billing_start",
    "ready",
    "stop_asked",
    "end",
    "stop_reason",
    "billed_seconds",
    "boot_usd",
    "restore_usd",
    "running_usd",
    "teardown_usd",
    "charge_usd",
    "held_usd",
    "so_far_usd",
    "state",
)


def receipts_csv(sessions: Sequence[Session]) -> str:
    """Every receipt of every session."""
    return csv_text(COLUMNS, ([session.receipts[0].attempt.uid, *_cells(one)] for session in sessions for one in session.receipts))


def _cells(receipt: Receipt) -> list[str]:
    attempt, times, parts = receipt.attempt, receipt.attempt.timings, receipt.segments
    moments = (times.queued_at, times.billing_started_at, times.ready_at, times.stop_asked_at, times.finished_at)
    return [
        attempt.name,
        attempt.uid,
        str(attempt.owner),
        attempt.owner_uid,
        *_terms_cells(receipt),
        *(_time(moment) for moment in moments),
        attempt.stop_reason,
        str(receipt.billed_seconds),
        *(str(amount) for amount in (parts.boot, parts.restore, parts.running, parts.teardown)),
        str(receipt.charge_usd),
        str(receipt.held_usd),
        "" if receipt.is_final else str(receipt.so_far_usd),
        receipt_state(receipt),
    ]


def _terms_cells(receipt: Receipt) -> list[str]:
    terms = receipt.attempt.terms
    if terms is None:
        return [""] * 11
    return [
        terms.offering,
        terms.provider,
        terms.zone,
        "true" if terms.is_interruptible else "false",
        str(terms.rate_usd_per_hour),
        terms.price_origin,
        terms.price_source,
        _time(terms.price_observed_at),
        terms.book_version,
        str(terms.increment_seconds),
        str(terms.minimum_seconds),
    ]


def _time(moment: datetime | None) -> str:
    """With the fraction of a second, because the charge follows from it."""
    return format_time(moment) if moment is not None else ""
