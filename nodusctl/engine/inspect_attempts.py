"""An Attempt as a document (objects.md, "Attempt"): its times, where it was placed and why, what was expected, what came, how it was lost.

Not all of that is the Attempt's own. Which offers it was chosen from stands in its owner's approval, as long as no later plan replaced it,
and what was expected is read back from the terms and the edge its launch carried.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from fractions import Fraction
from typing import Any

from nodusctl.attempts.attempt import Attempt
from nodusctl.attempts.events import TermsFrozen
from nodusctl.base.money import MICRO
from nodusctl.base.timestamps import format_time
from nodusctl.engine.inspect_receipts import Receipt
from nodusctl.placement.explain import MOST_REJECTED, scores_of_terms
from nodusctl.placement.rank import INTERRUPTIONS_PER_HOUR
from nodusctl.placement.request import Profile
from nodusctl.ports.journal import Journal
from nodusctl.pricing.predicted import predicted_cost
from nodusctl.resources.kinds import API_VERSION
from nodusctl.state.records import Record
from nodusctl.state.terms import Approval

_EMPTY: tuple[object, ...] = ("", {}, [], ())


@dataclass(frozen=True, slots=True, kw_only=True)
class Beside:
    """What the state knows of an Attempt beside itself. ``owner`` is None once that is removed; ``launch`` is the newest try's.

    ``names`` are those of all Attempts by uid.
    """

    owner: Record | None = None
    launch: TermsFrozen | None = None
    names: Mapping[str, str] = field(default_factory=dict)


def beside_each(journal: Journal) -> Callable[[Attempt], Beside]:
    """What stands beside any Attempt of the state; the journal is walked once, for launches alone."""
    attempts = journal.attempts()
    owners = {standing.record.uid: standing.record for standing in journal.snapshot()}
    names = {one.uid: one.name for one in attempts}
    launches: dict[str, TermsFrozen] = {}
    if attempts:
        with journal.books() as books:
            launches = {event.attempt_uid: event for event in books.events(frozenset({TermsFrozen})) if isinstance(event, TermsFrozen)}
    return lambda one: Beside(owner=owners.get(one.owner_uid), launch=launches.get(one.uid), names=names)


def is_in_force(approval: Approval | None, attempt: Attempt) -> bool:
    """True where the Attempt was placed under this approval; a later plan replaces its owner's."""
    return approval is not None and approval.approved_at <= attempt.timings.queued_at


def attempt_document(receipt: Receipt, project: str, beside: Beside) -> dict[str, Any]:
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
                "placement": _placement(attempt, beside.owner),
                "predicted": _predicted(attempt, beside.launch),
                "actual": _actual(receipt),
                "interruption": _interruption(attempt),
                "supersededBy": beside.names.get(attempt.superseded_by, attempt.superseded_by),
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


def _placement(attempt: Attempt, owner: Record | None) -> dict[str, Any]:
    terms, among = attempt.terms, _among(attempt, owner)
    if terms is None and not attempt.refusals:
        return {}
    rejected = [
        {"offer": one.offer_key, "code": one.code, "scope": one.scope, "message": one.message} for one in attempt.refusals[:MOST_REJECTED]
    ]
    chosen: dict[str, Any] = {}
    if terms is not None:
        chosen = {
            "offering": terms.offering,
            "regionClass": terms.region_class,
            "rateUSDPerHour": str(terms.rate_usd_per_hour),
            "interruptible": terms.is_interruptible,
        }
    explain = without_empty({**among.pop("explain", {}), "rejected": rejected})
    return without_empty({**chosen, **among, "explain": explain})


def _among(attempt: Attempt, owner: Record | None) -> dict[str, Any]:
    """What it was chosen from: the approved offers, in the order of its profile, with what each was ranked by."""
    approval = owner.approval if owner is not None else None
    if owner is None or approval is None or not is_in_force(approval, attempt):
        return {}
    profile = Profile((owner.spec.get("placement") or {}).get("profile") or Profile.BALANCED)
    taken = attempt.terms.offer_key if attempt.terms is not None else ""
    refused = {one.offer_key for one in attempt.refusals}
    fallbacks = [one.offer_key for one in approval.terms if one.offer_key not in refused | {taken}]
    explain = {"scores": [dict(row) for row in scores_of_terms(approval.terms, profile)], "fallbacks": fallbacks}
    return {"profile": profile.value, "candidates": len(approval.terms), "explain": explain}


def _predicted(attempt: Attempt, launch: TermsFrozen | None) -> dict[str, Any]:
    """What its launch was expected to come to; nothing for a machine that was there already and was adopted."""
    if attempt.terms is None or attempt.billed_from is not None or launch is None:
        return {}
    runs_for = launch.edge_at - launch.time
    rate = INTERRUPTIONS_PER_HOUR if launch.terms.is_interruptible else Fraction(0)
    return {
        "costUSD": str(predicted_cost(launch.terms, runs_for).p50),
        "hours": _hours(Fraction(runs_for // timedelta(microseconds=1), MICRO)),
        "interruptionRate": f"{float(rate):g}",
    }


def _interruption(attempt: Attempt) -> dict[str, Any]:
    lost = attempt.interruption
    if lost is None:
        return {}
    facts = {"trigger": lost.trigger, "time": time_text(lost.time), "lostSeconds": lost.lost_seconds}
    return without_empty({**facts, "recoverySeconds": lost.recovery_seconds})


def _actual(receipt: Receipt) -> dict[str, Any]:
    if not receipt.is_final:
        return {}
    return {
        "costUSD": str(receipt.charge_usd),
        "hours": _hours(Fraction(receipt.billed_seconds)),
        "segments": segments_document(receipt),
    }


def _hours(seconds: Fraction) -> str:
    """Decimal hours with four decimals."""
    micro_hours = int(seconds * MICRO / 3600)
    return f"{micro_hours // MICRO}.{micro_hours % MICRO:06d}"[:-2]
