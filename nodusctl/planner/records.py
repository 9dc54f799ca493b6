"""What a plan makes of the records: the desired half of an apply, as values the store writes in one transaction.

Nothing outside is touched here. A machine that must go is only marked (``deletion_requested_at``); one that must come is only Pending.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any, assert_never

from nodusctl.base.ids import Address, IdSource
from nodusctl.base.money import Money
from nodusctl.base.timestamps import format_time
from nodusctl.plan.actions import Action, Verb
from nodusctl.plan.changes import ChangeClass
from nodusctl.plan.plan import Plan
from nodusctl.planner.diff import plain
from nodusctl.planner.homes import annotations_after
from nodusctl.planner.removals import has_outside_things
from nodusctl.resources.sshkey import fingerprint
from nodusctl.state.records import PutRecord, Record, RecordChange, RemoveRecord
from nodusctl.state.snapshot import Snapshot, Standing
from nodusctl.state.status import ObjectStatus, Phase, SecretStanding, VolumeStanding
from nodusctl.state.terms import Approval

RESTART_REQUEST = "nodus.dev/restart-requested-at"
_QUIET_KINDS = frozenset({"secret", "sshkey", "budget", "pool", "app"})


@dataclass(frozen=True, slots=True, kw_only=True)
class RecordsAfter:
    """For a Consumption: ``records`` and ``statuses`` (by uid), and the uid each Action's object has from now on."""

    records: tuple[RecordChange, ...]
    statuses: Mapping[str, ObjectStatus]
    uids: Mapping[Address, str]


@dataclass(frozen=True, slots=True, kw_only=True)
class Applying:
    """The circumstances of one apply. ``hmacs`` are those of Secrets whose values were read at apply; ``storage`` are prices of disks.

    ``estimates`` are what the plan showed for an object, in the shape of ``status.estimate``.
    """

    plan_hash: str
    by: str
    now: datetime
    hmacs: Mapping[Address, Mapping[str, str]]
    storage: Mapping[Address, Money]
    estimates: Mapping[Address, Mapping[str, Any]]


def records_after(
    plan: Plan,
    snapshot: Snapshot,
    ids: IdSource,
    *,
    plan_hash: str,
    by: str,
    now: datetime,
    skipped: Collection[Address] = frozenset(),
    secret_hmacs: Mapping[Address, Mapping[str, str]] | None = None,
) -> RecordsAfter:
    """Fold the plan's Actions into the state's records. ``skipped`` are objects apply leaves out (blocked ones)."""
    prices = {line.address: line.storage_usd_per_gib_month for line in plan.costs if line.storage_usd_per_gib_month is not None}
    estimates = {line.address: line.estimate for line in plan.costs}
    circumstances = Applying(plan_hash=plan_hash, by=by, now=now, hmacs=secret_hmacs or {}, storage=prices, estimates=estimates)
    records: list[RecordChange] = []
    statuses: dict[str, ObjectStatus] = {}
    uids: dict[Address, str] = {}
    for action in plan.actions:
        if action.address in skipped:
            continue
        change, status = _after(action, snapshot, ids, circumstances)
        uid = change.uid if isinstance(change, RemoveRecord) else change.record.uid
        records.append(change)
        uids[action.address] = uid
        if status is not None:
            statuses[uid] = status
    return RecordsAfter(records=tuple(records), statuses=statuses, uids=uids)


def _after(action: Action, snapshot: Snapshot, ids: IdSource, circumstances: Applying) -> tuple[RecordChange, ObjectStatus | None]:
    standing = snapshot.get(action.moved_from or action.address)
    match action.verb:
        case Verb.CREATE:
            return _created(action, ids, circumstances)
        case Verb.UPDATE | Verb.RESTART | Verb.MOVE | Verb.ADOPT:
            return _updated(action, _present(action, standing), circumstances)
        case Verb.KEEP:
            return PutRecord(replace(_present(action, standing).record, is_retained=True)), None
        case Verb.RESTORE | Verb.PRUNE:
            return _asked_of_home(action, _present(action, standing), circumstances), None
        case Verb.DELETE:
            return _deleted(action, _present(action, standing), circumstances), None
        case _:
            assert_never(action.verb)


def _created(action: Action, ids: IdSource, circumstances: Applying) -> tuple[RecordChange, ObjectStatus]:
    record = Record(
        uid=ids.new_uid(),
        address=action.address,
        generation=1,
        created_at=circumstances.now,
        spec=plain(action.spec or {}),
        applied=plain(action.applied) if action.applied is not None else None,
        labels=dict(action.labels),
        annotations=dict(action.annotations),
        applied_labels=dict(action.labels),
        applied_annotations=dict(action.annotations),
        source=action.source,
        approval=_approval(action, None, circumstances),
        storage_usd_per_gib_month=circumstances.storage.get(action.address),
    )
    return PutRecord(record), _first_status(action, record, circumstances)


def _first_status(action: Action, record: Record, circumstances: Applying) -> ObjectStatus:
    """Pending for what runs; Stopped for what is admitted stopped or waits for its window; Ready for what has nothing outside."""
    kind = action.address.kind
    if kind in _QUIET_KINDS:
        status = ObjectStatus(phase=Phase.READY, observed_generation=1)
        return _with_kind_parts(status, action, record, circumstances)
    is_running = kind == "volume" or (record.spec.get("state", "Running") == "Running" and action.change_class is ChangeClass.STARTS)
    return ObjectStatus(phase=Phase.PENDING if is_running else Phase.STOPPED)


def _updated(action: Action, standing: Standing, circumstances: Applying) -> tuple[RecordChange, ObjectStatus | None]:
    record = standing.record
    spec = plain(action.spec if action.spec is not None else record.spec)
    has_new_spec = spec != plain(record.spec)
    annotations = dict(action.annotations)
    if action.verb is Verb.RESTART:
        annotations[RESTART_REQUEST] = format_time(circumstances.now)
    after = replace(
        record,
        address=action.address,
        generation=record.generation + (1 if has_new_spec else 0),
        spec=spec,
        applied=plain(action.applied) if action.applied is not None else record.applied,
        labels=dict(action.labels),
        annotations=annotations,
        applied_labels=_written(action.labels, record.labels, record.applied_labels),
        applied_annotations=_written(action.annotations, record.annotations, record.applied_annotations),
        source=action.source or record.source,
        is_retained=False,
        approval=_approval(action, record.approval, circumstances),
        storage_usd_per_gib_month=circumstances.storage.get(action.address, record.storage_usd_per_gib_month),
    )
    return PutRecord(after), _next_status(action, after, standing, circumstances)


def _next_status(action: Action, record: Record, standing: Standing, circumstances: Applying) -> ObjectStatus | None:
    status = standing.status
    if action.change_class is ChangeClass.STARTS:
        status = replace(status, start_is_asked=True)
    if action.address.kind in _QUIET_KINDS:
        status = _with_kind_parts(replace(status, observed_generation=record.generation), action, record, circumstances)
    return status if status != standing.status else None


def _with_kind_parts(status: ObjectStatus, action: Action, record: Record, circumstances: Applying) -> ObjectStatus:
    if record.address.kind == "sshkey":
        return replace(status, fingerprint=fingerprint(record.spec["publicKey"]))
    if record.address.kind != "secret":
        return status
    read, known = circumstances.hmacs.get(action.address, action.secret_hmacs), status.secret
    keys = {key for group in ("data", "stringData", "valueFrom") for key in record.spec.get(group) or ()}
    hmacs = {key: text for key, text in read.items() if key in keys} if read is not None else None
    if hmacs is None or (known is not None and dict(known.hmacs) == hmacs):
        return status
    standing = known if known is not None else SecretStanding(version=0, hmacs={})
    return replace(status, secret=standing.followed_by(hmacs, circumstances.now, circumstances.by))


def _deleted(action: Action, standing: Standing, circumstances: Applying) -> RecordChange:
    if not has_outside_things(standing):
        return RemoveRecord(standing.record.uid)
    return PutRecord(
        replace(standing.record, deletion_requested_at=circumstances.now, discards_home=action.discards_home, is_retained=False)
    )


def _asked_of_home(action: Action, standing: Standing, circumstances: Applying) -> RecordChange:
    disk = standing.status.volume or VolumeStanding()
    annotations = annotations_after(action, standing.record.annotations, disk, circumstances.now)
    return PutRecord(replace(standing.record, annotations=annotations))


def _approval(action: Action, former: Approval | None, circumstances: Applying) -> Approval | None:
    """The last applied plan's offers; a change that needed none leaves the approval as it was."""
    if not action.terms:
        return former
    return Approval(
        terms=action.terms,
        plan_hash=circumstances.plan_hash,
        approved_at=circumstances.now,
        approved_by=circumstances.by,
        estimate=_without_explanation(circumstances.estimates.get(action.address, {})),
    )


def _without_explanation(estimate: Mapping[str, Any]) -> dict[str, Any]:
    preview = {name: value for name, value in estimate.get("placementPreview", {}).items() if name != "explain"}
    kept = {**estimate, "placementPreview": preview}
    return {name: value for name, value in kept.items() if value not in ([], {})}


def _written(desired: Mapping[str, str], live: Mapping[str, str], applied: Mapping[str, str]) -> dict[str, str]:
    """Which of the desired texts the file wrote: those it wrote before, and those that differ from what was live."""
    return {key: text for key, text in desired.items() if key in applied or live.get(key) != text}


def _present(action: Action, standing: Standing | None) -> Standing:
    if standing is None:
        raise LookupError(f"{action.address} has no record; the plan's facts were not checked")
    return standing
