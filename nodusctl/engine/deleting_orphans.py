"""``orphans --delete ID``: end one machine, or delete one disk, that no record explains. Planned and shown first; journalled; confirmed.

Another state's thing is touched only where its owner's state is named. What is still being made is never touched: its own step settles it.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from datetime import timedelta

from nodusctl.attempts.events import Remarked
from nodusctl.base.canonical import digest
from nodusctl.base.diagnostics import Diagnostic, error
from nodusctl.base.exits import ExitCode, UserError
from nodusctl.base.ids import Address
from nodusctl.engine.journalling import Journaller
from nodusctl.engine.locking import under_plan_lock
from nodusctl.engine.orphans import Group, Orphan, OrphanReport
from nodusctl.executor.outside import Outside
from nodusctl.ports.providers import LoadedProvider
from nodusctl.provider.machines import DiskState, ReleaseState
from nodusctl.provider.replies import Done, Refused, Reply, Unknown
from nodusctl.provider.requests import DeleteDiskRequest, ReleaseRequest
from nodusctl.provider.tokens import client_token
from nodusctl.state.snapshot import Snapshot
from nodusctl.state.status import ObjectStatus

_BETWEEN_ASKS_SECONDS = 5.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Deletion:
    """What became of it: ``is_gone`` only where the provider has said so."""

    orphan: Orphan
    is_gone: bool
    detail: str = ""

    @property
    def exit_code(self) -> ExitCode:
        """0 confirmed, 14 still on its way."""
        return ExitCode.DONE if self.is_gone else ExitCode.PARTIAL


def plan_deletion(thing: str, report: OrphanReport, state_id: str) -> Orphan:
    """The orphan that may be deleted; UserError where there is none, it is another state's, or it is still being made."""
    one = chosen(thing, report, state_id)
    if one.group is Group.BEING_MADE:
        detail = f"{one.kind} {thing}: {one.why}."
        raise UserError(error("IntentUnsettled", "It is still being made.", detail, "Let its own step settle first:\n  nodusctl tick"))
    return one


def chosen(thing: str, report: OrphanReport, state_id: str) -> Orphan:
    """The orphan a person named; UserError where there is none, or it is another state's and that state wasn't named."""
    one = report.find(thing)
    if one is None:
        raise UserError(_no_such_orphan(thing, report))
    if one.group is Group.FOREIGN and one.owner.state_id != state_id:
        owner = one.owner
        whose = (
            f"{one.kind} {thing} belongs to {owner.address or 'something'} of project {owner.project or '?'}, state {owner.state_id or '?'}"
        )
        fix = f"Ask {owner.owner or 'its owner'} first. If it really is yours to take, name that state:\n  --state-id {owner.state_id}"
        raise UserError(error("ForeignState", "It belongs to another state.", f"{whose}, owner {owner.owner or 'unknown'}.", fix))
    return one


def delete_orphan(orphan: Orphan, *, outside: Outside, command: str, lock_timeout: timedelta, timeout: timedelta) -> Deletion:
    """Journal it, ask for it, wait until it is confirmed or ``timeout`` is over, and free the Volume it had attached."""
    journaller = Journaller(outside, command, lock_timeout)
    cost = orphan.cost_usd.shown if orphan.cost_usd is not None else "an unknown amount"
    what = f"{orphan.kind} {orphan.id} at {orphan.provider} is deleted as an orphan; it has cost {cost}, charged to no object"
    journaller.remark("OrphanDeleted", what, orphan.owner.object_uid)
    loaded = outside.providers.get(orphan.provider)
    ask = _release(orphan, loaded) if orphan.machine is not None else _drop(orphan, loaded)
    deletion = _confirmed(orphan, ask, outside, timeout)
    if deletion.is_gone and orphan.machine is not None:
        under_plan_lock(outside.claims, command, lock_timeout, lambda: _free_homes(orphan.id, outside, journaller))
    return deletion


Ask = Callable[[], Reply[bool]]


def _release(orphan: Orphan, loaded: LoadedProvider) -> Ask:
    request = ReleaseRequest(token=_token(orphan, "release"), machine_id=orphan.id)

    def ask() -> Reply[bool]:
        reply = loaded.calls.release(request)
        return Done(reply.value.state is ReleaseState.GONE) if isinstance(reply, Done) else reply

    return ask


def _drop(orphan: Orphan, loaded: LoadedProvider) -> Ask:
    request = DeleteDiskRequest(token=_token(orphan, "delete-disk"), disk_id=orphan.id)

    def ask() -> Reply[bool]:
        if loaded.volumes is None:
            return Refused(code="Unsupported", message="the provider holds no volumes")
        reply = loaded.volumes.delete_disk(request)
        return Done(reply.value.state is DiskState.GONE) if isinstance(reply, Done) else reply

    return ask


def _token(orphan: Orphan, step: str) -> str:
    owner = orphan.owner
    return client_token(owner.state_id, owner.object_uid, owner.attempt_uid, 1, digest({"step": f"orphan-{step}", "id": orphan.id}))


def _confirmed(orphan: Orphan, ask: Ask, outside: Outside, timeout: timedelta) -> Deletion:
    ends_at = outside.clock.now() + timeout
    while True:
        reply = ask()
        match reply:
            case Done(value=True) | Refused(code="NotFound"):
                return Deletion(orphan=orphan, is_gone=True)
            case Refused(code=code, message=message):
                fix = f"See what is wrong with it:\n  nodusctl doctor {orphan.provider}"
                raise UserError(error(code, "The provider refused to delete it.", f"{orphan.kind} {orphan.id}: {message}", fix))
            case Unknown(detail=detail):
                detail = f"nobody could say whether it happened: {detail}"
            case Done():
                detail = "it is on its way out"
        if outside.clock.now() >= ends_at:
            return Deletion(orphan=orphan, is_gone=False, detail=detail)
        outside.clock.sleep(_BETWEEN_ASKS_SECONDS)


def _free_homes(machine_id: str, outside: Outside, journaller: Journaller) -> None:
    """A Volume whose holder's machine is proved gone is free; its disk stays newer than any revision."""
    snapshot = outside.journal.snapshot()
    freed = dict(_freed(snapshot, machine_id))
    if not freed:
        return
    events = tuple(
        Remarked(time=outside.clock.now(), object_uid=uid, code="HomeFreed", message=f"machine {machine_id}, which held it, is gone")
        for uid in freed
    )
    journaller.write(snapshot, events=events, statuses=freed, addresses=_addresses(snapshot, set(freed)))


def _freed(snapshot: Snapshot, machine_id: str) -> list[tuple[str, ObjectStatus]]:
    found = []
    for standing in snapshot:
        disk = standing.status.volume
        if disk is not None and disk.holder is not None and disk.holder.machine_id == machine_id:
            found.append((standing.record.uid, replace(standing.status, volume=replace(disk, holder=None))))
    return found


def _addresses(snapshot: Snapshot, uids: set[str]) -> tuple[Address, ...]:
    return tuple(standing.record.address for standing in snapshot if standing.record.uid in uids)


def _no_such_orphan(thing: str, report: OrphanReport) -> Diagnostic:
    silent = f" {', '.join(sorted(report.failures))} could not be asked." if report.failures else ""
    detail = f"Nothing called {thing} is outside without a record.{silent}"
    return error(
        "NotFound", "There is no such orphan.", detail, "See what there is; what a record has, its record removes:\n  nodusctl orphans"
    )
