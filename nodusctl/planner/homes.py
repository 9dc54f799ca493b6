"""A home's revisions by the owner's word: which Action brings one back or drops the oldest, what is lost by it, and what stops it.

The plan says what a restore replaces. The live disk is the truth until then: where it is newer than its last revision, what was written
since exists nowhere else.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from nodusctl.base.ids import Address
from nodusctl.plan.actions import Action, Verb
from nodusctl.plan.changes import ChangeClass, FieldChange
from nodusctl.plan.facts import facts_for
from nodusctl.plan.reasons import BlockingReason
from nodusctl.planner.world import HomeChange, World
from nodusctl.state.requests import PRUNE_REQUEST, RESTORE_REQUEST, asked_at, prune_request, restore_request
from nodusctl.state.snapshot import Standing
from nodusctl.state.status import SavedRevision, VolumeStanding


def home_actions(world: World) -> tuple[Action, ...]:
    """The Action of ``home restore`` or ``home prune``; none where the home already is what is asked for."""
    change = world.home_change
    standing = world.snapshot.get(change.volume) if change is not None else None
    if change is None or standing is None:
        return ()
    disk = standing.status.volume or VolumeStanding()
    return _restore(change, standing, disk, world) if change.restores else _prune(change, standing, disk, world)


def home_reasons(world: World) -> Iterator[BlockingReason]:
    """Why the revisions can't be changed now."""
    change = world.home_change
    standing = world.snapshot.get(change.volume) if change is not None else None
    if change is None or standing is None:
        return
    disk = standing.status.volume or VolumeStanding()
    if change.restores and disk.saved(change.restores) is None:
        yield _no_such_revision(change, disk)
    elif change.restores and disk.holder is not None:
        yield _held(change.volume, disk.holder.address)
    if disk.provider and not world.is_offline and world.market(disk.provider) is None:
        yield _no_such_provider(change.volume, disk.provider)


def dropped_by(revisions: tuple[SavedRevision, ...], keep: int) -> tuple[int, ...]:
    """Numbers of the revisions that go where only the newest ``keep`` stay; the latest always stays."""
    return tuple(one.number for one in revisions[: max(len(revisions) - max(keep, 1), 0)])


def annotations_after(action: Action, record_annotations: Mapping[str, str], disk: VolumeStanding, now: Any) -> dict[str, str]:
    """The record's annotations once the Action is asked for."""
    name = RESTORE_REQUEST if action.verb is Verb.RESTORE else PRUNE_REQUEST
    moment = asked_at(record_annotations.get(name, ""), now)
    if action.verb is Verb.RESTORE:
        return {**record_annotations, name: restore_request(action.restores_revision, disk, moment)}
    return {**record_annotations, name: prune_request(action.keeps_revisions, moment)}


def _restore(change: HomeChange, standing: Standing, disk: VolumeStanding, world: World) -> tuple[Action, ...]:
    if disk.disk_revision == change.restores and not disk.is_newer_than_revision:
        return ()
    is_lossy = disk.is_newer_than_revision
    change_class = ChangeClass.DESTROYS if is_lossy else ChangeClass.FREE
    before = f"newer than revision {disk.disk_revision}" if is_lossy else f"revision {disk.disk_revision}"
    line = FieldChange(path="disk", before=before, after=f"revision {change.restores}", change_class=change_class)
    kept = "no revision is dropped; the next stop saves a new one"
    lost = f"what was written to the disk since revision {disk.disk_revision} was never saved and is lost"
    notes = (lost, kept) if is_lossy else (kept,)
    return (_action(Verb.RESTORE, standing, world, (line,), notes, restores_revision=change.restores),)


def _prune(change: HomeChange, standing: Standing, disk: VolumeStanding, world: World) -> tuple[Action, ...]:
    dropped = dropped_by(disk.revisions, change.keeps)
    if not dropped:
        return ()
    left = len(disk.revisions) - len(dropped)
    line = FieldChange(path="revisions", before=len(disk.revisions), after=left, change_class=ChangeClass.DESTROYS)
    gone = f"drops revision{'s' if len(dropped) > 1 else ''} {', '.join(str(number) for number in dropped)}; the live disk stays as it is"
    return (_action(Verb.PRUNE, standing, world, (line,), (gone,), keeps_revisions=max(change.keeps, 1)),)


def _action(
    verb: Verb, standing: Standing, world: World, changes: tuple[FieldChange, ...], notes: tuple[str, ...], **numbers: int
) -> Action:
    address, change_class = standing.record.address, changes[0].change_class
    return Action(
        verb=verb,
        address=address,
        facts=facts_for(verb, address, change_class, world.snapshot),
        changes=changes,
        change_class=change_class,
        source=standing.record.source,
        notes=notes,
        restores_revision=numbers.get("restores_revision", 0),
        keeps_revisions=numbers.get("keeps_revisions", 0),
    )


def _no_such_revision(change: HomeChange, disk: VolumeStanding) -> BlockingReason:
    there = ", ".join(str(one.number) for one in disk.revisions)
    message = f"{change.volume} has no revision {change.restores}; it has {there}." if there else f"{change.volume} has no revision yet."
    return BlockingReason(
        code="NotFound", address=change.volume, message=message, fix=f"See what is there:\n  nodusctl home list {change.volume}"
    )


def _held(volume: Address, holder: Address) -> BlockingReason:
    return BlockingReason(
        code="VolumeBusy",
        address=volume,
        message=f"{holder} holds {volume}: a session writes to its disk, or is still being ended.",
        fix=f"Stop it first; that saves one more revision:\n  nodusctl stop {holder.name}",
    )


def _no_such_provider(volume: Address, provider: str) -> BlockingReason:
    return BlockingReason(
        code="ProviderNotReady",
        address=volume,
        message=f"The disk of {volume} is at provider {provider}, which the project doesn't have.",
        fix=f"Add {provider} under providers: in nodusctl.yaml again.",
    )
