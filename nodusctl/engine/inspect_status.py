"""The seeds' ``status`` from what is stored: one function a kind, JSON values out, nothing recomputed that the ledger already says."""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime, timedelta
from typing import Any

from nodusctl.base.money import ZERO, Money, total
from nodusctl.engine.inspect_attempts import segments_document, time_text, without_empty
from nodusctl.engine.inspect_connect import connect_of, endpoints_of
from nodusctl.engine.inspect_receipts import Receipt, entries_by_attempt, receipt_of
from nodusctl.engine.inspect_times import DEFAULT_LEAD, is_parked, times_of
from nodusctl.ledger.balances import balances
from nodusctl.ledger.storage import accrued, is_unpriced
from nodusctl.lifecycle.homes import standing_words
from nodusctl.ports.journal import StoredObject
from nodusctl.state.snapshot import Snapshot
from nodusctl.state.status import Condition, ObjectStatus, Phase, VolumeStanding

_SHOWN_VERSIONS = 10


def status_document(stored: StoredObject, snapshot: Snapshot, *, now: datetime, lead: timedelta = DEFAULT_LEAD) -> dict[str, Any]:
    """``status`` of any kind; empty for a kind that has none. ``lead`` is the project's ``windowLead``."""
    match stored.record.address.kind:
        case "workspace":
            return workspace_status(stored, snapshot, now=now, lead=lead)
        case "volume":
            return _volume_status(stored, now)
        case "secret":
            return _secret_status(stored.status)
        case "sshkey":
            return without_empty({"fingerprint": stored.status.fingerprint, "observedGeneration": stored.status.observed_generation})
        case _:
            return _plain_status(stored.status)


def receipts_of(stored: StoredObject, *, now: datetime) -> tuple[Receipt, ...]:
    """Receipts of all Attempts of one object, oldest first."""
    by_attempt = entries_by_attempt(stored.entries)
    return tuple(receipt_of(attempt, by_attempt.get(attempt.uid, ()), now=now) for attempt in stored.attempts)


def workspace_status(stored: StoredObject, snapshot: Snapshot, *, now: datetime, lead: timedelta = DEFAULT_LEAD) -> dict[str, Any]:
    """WorkspaceStatus as the seed spells it."""
    status = _parked(stored)
    receipts, times = receipts_of(stored, now=now), times_of(stored, now=now, lead=lead)
    return without_empty(
        {
            **_plain_status(status),
            "connect": connect_of(stored),
            "endpoints": endpoints_of(stored),
            "cost": _cost(stored, receipts),
            "estimate": _estimate(stored),
            "home": _home(stored, snapshot),
            "lastActivityTime": time_text(status.last_activity_at),
            "session": _session(stored),
            "lastSession": _last_session(status),
            "nextScheduledStartTime": time_text(times.next_start),
            "startEstimate": _start_estimate(stored),
            "stopByTime": time_text(times.stops_by),
            "stopReason": status.stop_reason,
            "handledRequests": dict(status.handled_requests),
        }
    )


def _parked(stored: StoredObject) -> ObjectStatus:
    """The status as it is read: one that is held back says that nothing starts it next."""
    if not is_parked(stored.record) or stored.status.phase is not Phase.STOPPED:
        return stored.status
    return replace(stored.status, reason="Parked", message="spec.state is Stopped, so its schedule and windows start nothing")


def _plain_status(status: ObjectStatus) -> dict[str, Any]:
    return without_empty(
        {
            "phase": status.phase.value,
            "reason": status.reason,
            "message": status.message,
            "conditions": [_condition(one) for one in status.conditions],
            "observedGeneration": status.observed_generation,
        }
    )


def _condition(condition: Condition) -> dict[str, Any]:
    return {
        "type": condition.type,
        "status": condition.status,
        "reason": condition.reason,
        "message": condition.message,
        "lastTransitionTime": time_text(condition.last_transition_at),
        "observedGeneration": condition.observed_generation,
    }


def _cost(stored: StoredObject, receipts: tuple[Receipt, ...]) -> dict[str, Any]:
    had_machine = [one for one in receipts if one.attempt.machine is not None]
    charged, held = total(one.charge_usd for one in receipts), total(one.held_usd for one in receipts)
    limit = stored.record.spec.get("maxCostUSD")
    if not (had_machine or held or limit):
        return {}
    unsettled = [one for one in had_machine if not one.attempt.is_released]
    billing = [one.attempt.terms for one in unsettled if one.attempt.terms is not None and not one.is_past_edge]
    edges = [one.attempt.edge_at for one in unsettled if one.attempt.edge_at is not None]
    return without_empty(
        {
            "totalUSD": str(charged),
            "heldUSD": str(held),
            "rateUSDPerHour": str(total(terms.rate_usd_per_hour for terms in billing)),
            "limitUSD": limit,
            "final": not unsettled and all(one.is_final for one in had_machine),
            "fundedUntilTime": time_text(min(edges, default=None)),
            "bySegment": _by_segment([one for one in had_machine if one.is_final]),
        }
    )


def _by_segment(receipts: list[Receipt]) -> dict[str, str]:
    if not receipts:
        return {}
    sums: dict[str, Money] = {}
    for receipt in receipts:
        for name, amount in segments_document(receipt).items():
            sums[name] = sums.get(name, ZERO) + Money.parse(amount)
    return {name: str(amount) for name, amount in sums.items()}


def _home(stored: StoredObject, snapshot: Snapshot) -> dict[str, Any]:
    name = stored.record.spec.get("volume")
    standing = next((one for one in snapshot if one.record.address.kind == "volume" and one.record.address.name == name), None)
    if standing is None or standing.status.volume is None:
        return {"volume": name, "revision": 0} if name else {}
    volume = standing.status.volume
    saved = volume.revisions[-1].saved_at if volume.revisions else None
    return without_empty({"volume": name, "revision": volume.revision, "savedTime": time_text(saved)})


def _session(stored: StoredObject) -> dict[str, Any]:
    attempt = next((one for one in stored.attempts if one.uid == stored.status.attempt_uid), None)
    if attempt is None or attempt.terms is None or attempt.is_released:
        return {}
    return without_empty(
        {
            "attempt": attempt.name,
            "offering": attempt.terms.offering,
            "regionClass": attempt.terms.region_class,
            "rateUSDPerHour": str(attempt.terms.rate_usd_per_hour),
            "startTime": time_text(attempt.timings.ready_at),
            "armedUntil": time_text(attempt.edge_at),
        }
    )


def _last_session(status: ObjectStatus) -> dict[str, Any]:
    last = status.last_session
    if last is None:
        return {}
    return without_empty(
        {
            "attempt": last.attempt,
            "startTime": time_text(last.started_at),
            "endTime": time_text(last.ended_at),
            "billedSeconds": last.billed_seconds,
            "chargeUSD": str(last.charge_usd),
            "stopReason": last.stop_reason,
        }
    )


def _estimate(stored: StoredObject) -> dict[str, Any]:
    approval = stored.record.approval
    return dict(approval.estimate) if approval is not None else {}


def _start_estimate(stored: StoredObject) -> dict[str, Any]:
    from nodusctl.base.durations import format_duration

    approval = stored.record.approval
    if approval is None or not approval.terms:
        return {}
    first = approval.terms[0]
    return {"p50": format_duration(first.startup_p50), "p90": format_duration(first.startup_p90)}


def _volume_status(stored: StoredObject, now: datetime) -> dict[str, Any]:
    volume = stored.status.volume
    if volume is None:
        return _plain_status(stored.status)
    return without_empty(
        {
            **_plain_status(stored.status),
            "message": stored.status.message or standing_words(volume),
            "revision": volume.revision,
            "lastCommitTime": time_text(volume.revisions[-1].saved_at if volume.revisions else None),
            "used": str(volume.revisions[-1].size_bytes) if volume.revisions else "",
            "holder": _holder(volume),
            "storage": without_empty({"location": _place(volume), "size": str(volume.size_bytes) if volume.size_bytes else ""}),
            "cost": _storage_cost(stored, volume, now),
        }
    )


def _storage_cost(stored: StoredObject, volume: VolumeStanding, now: datetime) -> dict[str, Any]:
    """What the disk costs: posted, since then, and its frozen price; nothing for one that is free."""
    posted, so_far = balances(stored.entries).object(stored.record.uid).charged, accrued(volume.storage, now)
    rate = volume.storage.usd_per_gib_month if volume.storage is not None else None
    is_known = not is_unpriced(volume)
    if is_known and not (posted or rate):
        return {}
    return without_empty(
        {
            "totalUSD": str(posted) if posted or rate else "",
            "soFarUSD": str(so_far) if rate else "",
            "rateUSDPerGiBMonth": (str(rate) if rate else "") if is_known else "unknown",
            "note": "" if is_known else "no price was written down when its disk was made, so nothing of it is posted",
        }
    )


def _place(volume: VolumeStanding) -> str:
    return "/".join(part for part in (volume.provider, volume.location) if part)


def _holder(volume: VolumeStanding) -> dict[str, Any]:
    holder = volume.holder
    if holder is None:
        return {}
    return {"kind": holder.address.kind, "name": holder.address.name, "attempt": holder.attempt_uid, "epoch": holder.epoch}


def _secret_status(status: ObjectStatus) -> dict[str, Any]:
    if status.secret is None:
        return {}
    versions = [
        without_empty({"version": one.number, "createTime": time_text(one.created_at), "createdBy": one.created_by, "keys": list(one.keys)})
        for one in reversed(status.secret.versions[-_SHOWN_VERSIONS:])
    ]
    return without_empty(
        {"phase": status.phase.value, "version": status.secret.version, "versions": versions, "keys": sorted(status.secret.hmacs)}
    )
