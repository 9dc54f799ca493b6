"""What is removed: by absence from the files, or by the owner's word (``destroy``, ``delete``).

Absence is weak evidence, so it counts only when all files could be read, and narrowed plans remove nothing unless asked to prune. A
Volume that holds data is kept, not deleted, when only its YAML went; deleting it takes its name.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from datetime import datetime, timedelta
from pathlib import PurePosixPath

from nodusctl.base.durations import format_duration
from nodusctl.base.ids import Address
from nodusctl.plan.actions import Action, Verb
from nodusctl.plan.changes import ChangeClass
from nodusctl.plan.facts import facts_for
from nodusctl.plan.reasons import BlockingReason
from nodusctl.planner.classes import is_up, kind_of
from nodusctl.planner.world import Reach, World
from nodusctl.resources.references import addresses_named
from nodusctl.state.records import Record
from nodusctl.state.snapshot import Standing
from nodusctl.state.status import VolumeStanding

_COUNTED = frozenset({ChangeClass.DESTROYS, ChangeClass.ENDS_SESSION})
_ORDER = ("workspace", "function", "app", "pool", "secret", "sshkey", "budget", "volume")
"""Who refers goes before what it refers to."""


def removals_by_absence(world: World, moved: Iterable[Address]) -> tuple[Action, ...]:
    """Actions for records whose YAML is gone."""
    reach, gone_to = world.reach, frozenset(moved)
    if not reach.is_read_whole or not (reach.is_whole_project or world.allow.prunes):
        return ()
    absent = (
        standing
        for standing in world.snapshot
        if standing.record.address not in reach.written | gone_to and _may_go(standing.record) and _in_reach(standing.record, reach)
    )
    return _in_order(_with_lost_homes([_removal(standing, world, keeps_data=True) for standing in absent], world))


def removals_by_word(world: World) -> tuple[Action, ...]:
    """Actions for the objects a person named, or for everything; a named Volume goes with its data, an unnamed one is kept."""
    removal = world.removal
    if removal is None:
        return ()
    named = [world.snapshot.get(address) for address in removal.addresses]
    chosen = list(world.snapshot) if removal.is_of_everything else [standing for standing in named if standing is not None]
    open_ones = [standing for standing in chosen if standing.record.deletion_requested_at is None]
    if removal.is_of_everything:
        open_ones = [standing for standing in open_ones if not standing.record.is_retained]
    return _in_order(_with_lost_homes([_removal(standing, world, keeps_data=removal.is_of_everything) for standing in open_ones], world))


def removal_reasons(actions: Iterable[Action], world: World) -> Iterator[BlockingReason]:
    """What stops removals: protection, things that still refer to what goes, and too many at once."""
    going = {action.address: action for action in actions if action.verb is Verb.DELETE}
    users = _users(world, going)
    for address in going:
        standing = world.snapshot.get(address)
        if standing is not None and standing.record.annotations.get("nodus.dev/protected") == "true":
            yield _protected(address)
        if address in users:
            yield _in_use(address, users[address])
    yield from _too_many(tuple(going.values()), world)


def has_outside_things(standing: Standing) -> bool:
    """True where removing the record alone would leave a machine or a disk behind."""
    if standing.record.address.kind in {"workspace", "function"}:
        return True
    return standing.status.volume is not None and bool(standing.status.volume.disk_id)


def _removal(standing: Standing, world: World, *, keeps_data: bool) -> Action:
    record = standing.record
    is_kept = keeps_data and _holds_data(standing) and record.spec.get("deletionPolicy", "Retain") == "Retain"
    verb = Verb.KEEP if is_kept else Verb.DELETE
    discards = world.removal is not None and world.removal.discards_home
    change_class = ChangeClass.FREE if is_kept else _removal_class(standing, discards_home=discards)
    return Action(
        verb=verb,
        address=record.address,
        facts=facts_for(verb, record.address, change_class, world.snapshot),
        change_class=change_class,
        source=record.source,
        discards_home=discards,
        notes=_removal_notes(standing, world, is_kept=is_kept, discards_home=discards),
    )


def _with_lost_homes(actions: Sequence[Action], world: World) -> Iterator[Action]:
    """A home that goes in the same plan is no comfort: its Workspace says that it goes too."""
    lost = {action.address for action in actions if action.change_class is ChangeClass.DESTROYS and action.address.kind == "volume"}
    for action in actions:
        standing = world.snapshot.get(action.address)
        home = Address("volume", str(standing.record.spec.get("volume", ""))) if standing is not None else None
        yield replace(action, notes=(f"its home {home} is destroyed too",)) if home in lost and action.notes else action


def _removal_class(standing: Standing, *, discards_home: bool) -> ChangeClass:
    if _holds_data(standing):
        return ChangeClass.DESTROYS
    if not is_up(standing):
        return ChangeClass.FREE
    loses_files = discards_home or bool(standing.record.spec.get("ephemeral"))
    return ChangeClass.DESTROYS if loses_files else ChangeClass.ENDS_SESSION


def _removal_notes(standing: Standing, world: World, *, is_kept: bool, discards_home: bool) -> tuple[str, ...]:
    if is_kept:
        return (f"its disk stays and is billed; remove it with: nodusctl delete {standing.record.address}",)
    if _holds_data(standing):
        return (f"everything on it is lost: {_contents(standing, world)}", *_why_not_kept(standing, world))
    return session_end_notes(standing, world, before="it ends", discards_home=discards_home)


def _why_not_kept(standing: Standing, world: World) -> tuple[str, ...]:
    """Why a Volume goes with its data though nobody named it, and how it stays."""
    is_named = world.removal is not None and standing.record.address in world.removal.addresses
    if is_named or standing.record.spec.get("deletionPolicy", "Retain") == "Retain":
        return ()
    return ("because it says deletionPolicy: Delete; to keep it, set Retain and apply before removing it",)


def session_end_notes(standing: Standing, world: World, *, before: str, discards_home: bool = False) -> tuple[str, ...]:
    """What becomes of the files of a session that ends; nothing where none is up. ``before`` is what the save comes before, in words."""
    if not is_up(standing):
        return ()
    if standing.record.spec.get("ephemeral"):
        return ("it is ephemeral: its files are lost",)
    if discards_home:
        return ("its home is not saved",)
    return (f"its home is saved before {before} ({_last_save(standing, world)}); running programs end",)


def _last_save(standing: Standing, world: World) -> str:
    volume = world.snapshot.get(Address("volume", str(standing.record.spec.get("volume", ""))))
    revisions = volume.status.volume.revisions if volume is not None and volume.status.volume is not None else ()
    return f"last saved {shown_ago(world.now, revisions[-1].saved_at)}" if revisions else "its first save"


def _contents(standing: Standing, world: World) -> str:
    """``50Gi of disk and 2 saved revisions, the last 3h ago``."""
    disk = standing.status.volume or VolumeStanding()
    size = f"{standing.record.spec.get('size', '50Gi')} of disk"
    if not disk.revisions:
        return f"{size}, never saved so far"
    count = len(disk.revisions)
    return f"{size} and {count} saved revision{'' if count == 1 else 's'}, the last {shown_ago(world.now, disk.revisions[-1].saved_at)}"


def shown_ago(now: datetime, then: datetime) -> str:
    """``3h ago``; whole minutes below an hour, whole hours below two days."""
    age = max(now - then, timedelta(0))
    unit = timedelta(days=1) if age >= timedelta(days=2) else timedelta(hours=1) if age >= timedelta(hours=1) else timedelta(minutes=1)
    return f"{age // unit}d ago" if unit.days else f"{format_duration(age // unit * unit)} ago" if age >= unit else "just now"


def _holds_data(standing: Standing) -> bool:
    return standing.record.address.kind == "volume" and has_outside_things(standing)


def _may_go(record: Record) -> bool:
    return record.deletion_requested_at is None and not record.is_retained and record.applied is not None


def _in_reach(record: Record, reach: Reach) -> bool:
    if reach.targets:
        return record.address in reach.targets
    source = PurePosixPath(record.source)
    return not reach.paths or any(source.is_relative_to(path) for path in reach.paths)


def _in_order(actions: Iterable[Action]) -> tuple[Action, ...]:
    return tuple(sorted(actions, key=lambda action: (_ORDER.index(action.address.kind), action.address.name)))


def _users(world: World, going: dict[Address, Action]) -> dict[Address, Address]:
    """What is going, and one remaining object that refers to it."""
    specs = {standing.record.address: standing.record.spec for standing in world.snapshot if standing.record.deletion_requested_at is None}
    specs |= {resource.address: resource.spec for resource in world.resources}
    found: dict[Address, Address] = {}
    for address, spec in specs.items():
        if address not in going:
            for used in addresses_named(kind_of(address.kind), spec):
                if used in going:
                    found.setdefault(used, address)
    return found


def _protected(address: Address) -> BlockingReason:
    return BlockingReason(
        code="Protected",
        address=address,
        message=f"{address} is protected against removal.",
        fix=f"If it may go, apply it first with the annotation nodus.dev/protected set to anything but true, then remove {address}.",
    )


def _in_use(address: Address, user: Address) -> BlockingReason:
    codes = {"volume": "VolumeBusy", "pool": "PoolInUse"}
    return BlockingReason(
        code=codes.get(address.kind, "Conflict"),
        address=address,
        message=f"{address} would be removed, and {user} still refers to it.",
        fix=f"Remove {user} too, or its reference to {address.name}.",
    )


def _too_many(going: tuple[Action, ...], world: World) -> Iterator[BlockingReason]:
    heavy = [action for action in going if action.change_class in _COUNTED]
    if world.removal is None and len(heavy) > world.allow.max_deletes:
        names = ", ".join(str(action.address) for action in heavy)
        yield BlockingReason(
            code="TooManyDeletes",
            address=None,
            message=f"{len(heavy)} removals destroy data or end a session ({names}); at most {world.allow.max_deletes} are allowed.",
            fix=f"If all of them are meant, say so:\n  nodusctl apply --allow-deletes {len(heavy)}",
        )
