"""An Attempt as a document: its times, where it was placed and at what rate, and what it has cost (objects.md, "Attempt")."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import Any

from nodusctl.attempts.attempt import Attempt
from nodusctl.base.money import MICRO
from nodusctl.base.timestamps import format_time
from nodusctl.engine.inspect_receipts import Receipt
from nodusctl.resources.kinds import API_VERSION

_EMPTY: tuple[object, ...] = ("", {}, [], ())


def attempt_document(receipt: Receipt, project: str) -> dict[str, Any]:
    """``nodus.dev/v1 Attempt`` with the label that names its owner."""
    attempt = receipt.attempt
    return {
        "apiVersion": API_VERSION,
        "kind": "Attempt",
        "metadata": {
            "name": attempt.name,
            "namespace": project,
            "uid": attempt.uid,
            "labels": attempt_labels(attempt),
            "creationTimestamp": format_time(attempt.timings.queued_at),
        },
        "spec": {"slot": attempt.slot, "epoch": attempt.epoch},
        "status": without_empty(
            {
                "phase": attempt.phase.value,
                "reason": attempt.reason or attempt.stop_reason,
                "timings": timings_document(receipt),
                "placement": _placement(attempt),
                "actual": _actual(receipt),
            }
        ),
    }


def attempt_labels(attempt: Attempt) -> dict[str, str]:
    """``nodus.dev/workspace: lab``."""
    return {f"nodus.dev/{attempt.owner.kind}": attempt.owner.name}


def timings_document(receipt: Receipt) -> dict[str, Any]:
    """Moments that have come, and whole seconds of the segments around the session."""
    times = receipt.attempt.timings
    moments = {
        "queuedTime": times.queued_at,
        "acquiredTime": times.acquired_at,
        "billingStartTime": times.billing_started_at,
        "registeredTime": times.registered_at,
        "commandStartedTime": times.ready_at,
        "finishedTime": times.finished_at,
        "deletionProvenTime": times.deletion_proven_at,
    }
    shown: dict[str, Any] = {name: time_text(moment) for name, moment in moments.items() if moment is not None}
    if times.ready_at is not None:
        shown["bootSeconds"] = int(receipt.seconds.boot)
        shown["restoreSeconds"] = int(receipt.seconds.restore)
    if times.finished_at is not None:
        shown["teardownSeconds"] = int(receipt.seconds.teardown)
    return shown


def segments_document(receipt: Receipt) -> dict[str, str]:
    """The charge by segment; ``coveredByNodus`` is always empty here and left out."""
    parts = receipt.segments
    return {
        "bootUSD": str(parts.boot),
        "restoreUSD": str(parts.restore),
        "runningUSD": str(parts.running),
        "teardownUSD": str(parts.teardown),
    }


def time_text(moment: datetime | None) -> str:
    """RFC 3339 to the second; empty for None."""
    return format_time(moment.replace(microsecond=0)) if moment is not None else ""


def without_empty(parts: Mapping[str, Any]) -> dict[str, Any]:
    """The fields that say something: no None, no empty text, mapping or list. False and 0 stay."""
    return {name: value for name, value in parts.items() if value is not None and value not in _EMPTY}


def _placement(attempt: Attempt) -> dict[str, Any]:
    terms = attempt.terms
    if terms is None and not attempt.refusals:
        return {}
    refused = [{"offer": one.offer_key, "code": one.code, "scope": one.scope, "message": one.message} for one in attempt.refusals[:20]]
    chosen: dict[str, Any] = {}
    if terms is not None:
        chosen = {
            "offering": terms.offering,
            "regionClass": terms.region_class,
            "rateUSDPerHour": str(terms.rate_usd_per_hour),
            "interruptible": terms.is_interruptible,
        }
    return without_empty({**chosen, "explain": without_empty({"rejected": refused})})


def _actual(receipt: Receipt) -> dict[str, Any]:
    if not receipt.is_final:
        return {}
    micro_hours = int(receipt.billed_seconds * MICRO / 3600)
    return {
        "costUSD": str(receipt.charge_usd),
        "hours": f"{micro_hours // MICRO}.{micro_hours % MICRO:06d}"[:-2],
        "segments": segments_document(receipt),
    }
