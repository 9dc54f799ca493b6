"""What there is at every provider of a project, asked for once: all that is tagged, and each thing of the record by its id.

Reads only. Each instance is a failure domain of its own, and one that is another account than the record's things were made at tells
nothing (rule R12). What isn't there at the first look is looked for twice (rule R3).
"""

from __future__ import annotations

import threading
from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import timedelta

from nodusctl.base.exits import UserError
from nodusctl.engine.watching import accounts_of, observed, stranger
from nodusctl.ports.journal import StoredObject
from nodusctl.ports.providers import LoadedProvider, ProviderSet
from nodusctl.provider.machines import Disk, Holdings, Machine, MachineState
from nodusctl.provider.replies import Done, Refused, Reply, Unknown

LIMIT = timedelta(seconds=60)


@dataclass(frozen=True, slots=True, kw_only=True)
class Found:
    """What one instance told. ``machines`` and ``disks`` are those of the record by id; ``holdings`` is everything with a nodus tag."""

    instance: str
    account: str
    list_lag_bound: timedelta
    holdings: Holdings
    machines: Mapping[str, Machine]
    disks: Mapping[str, Disk]


@dataclass(frozen=True, slots=True, kw_only=True)
class Survey:
    """What was found by instance, and for each instance that could not be asked why not."""

    found: Mapping[str, Found]
    failures: Mapping[str, str]


def survey(providers: ProviderSet, objects: Iterable[StoredObject], limit: timedelta = LIMIT) -> Survey:
    """Ask every instance of the project, and those that objects still name, all at the same time."""
    stored = tuple(objects)
    ids = known_ids(stored)
    names = dict.fromkeys((*providers.names(), *ids.machines, *ids.disks))
    replies: dict[str, Reply[Found]] = {}
    threads = [
        threading.Thread(target=_ask, args=(providers, name, ids, accounts_of(stored), replies), daemon=True, name=f"survey-{name}")
        for name in names
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(limit.total_seconds())
    answers = {name: replies.get(name, Unknown(detail="it did not answer in time")) for name in names}
    return Survey(
        found={name: reply.value for name, reply in answers.items() if isinstance(reply, Done)},
        failures={name: _why(reply) for name, reply in answers.items() if not isinstance(reply, Done)},
    )


@dataclass(frozen=True, slots=True)
class KnownIds:
    """Ids of machines and disks that the record speaks of, by provider instance."""

    machines: Mapping[str, frozenset[str]]
    disks: Mapping[str, frozenset[str]]


def known_ids(objects: Iterable[StoredObject]) -> KnownIds:
    """Machines of open Attempts and disks of Volumes."""
    machines: defaultdict[str, set[str]] = defaultdict(set)
    disks: defaultdict[str, set[str]] = defaultdict(set)
    for one in objects:
        for attempt in one.attempts:
            if attempt.is_open and not attempt.is_released and attempt.machine is not None and attempt.terms is not None:
                machines[attempt.terms.provider].add(attempt.machine.id)
        disk = one.status.volume
        if disk is not None and disk.disk_id:
            disks[disk.provider].add(disk.disk_id)
    return KnownIds({name: frozenset(ids) for name, ids in machines.items()}, {name: frozenset(ids) for name, ids in disks.items()})


def _ask(
    providers: ProviderSet, instance: str, ids: KnownIds, accounts: Mapping[str, frozenset[str]], replies: dict[str, Reply[Found]]
) -> None:
    try:
        loaded = providers.get(instance)
    except UserError as problem:
        first = problem.diagnostics[0]
        replies[instance] = Unknown(detail=f"{first.summary.rstrip('.')}: {first.detail}".rstrip(": "))
        return
    replies[instance] = stranger(loaded, accounts) or _found(loaded, ids)


def _found(loaded: LoadedProvider, ids: KnownIds) -> Reply[Found]:
    listed = loaded.calls.list()
    if not isinstance(listed, Done):
        return listed
    machines = _looked_twice(loaded, sorted(ids.machines.get(loaded.instance, ())))
    if not isinstance(machines, Done):
        return machines
    disks = _disks(loaded, sorted(ids.disks.get(loaded.instance, ())))
    if not isinstance(disks, Done):
        return disks
    return Done(
        Found(
            instance=loaded.instance,
            account=loaded.description.account,
            list_lag_bound=loaded.description.list_lag_bound,
            holdings=listed.value,
            machines={one.id: one for one in machines.value},
            disks={one.id: one for one in disks.value},
        )
    )


def _looked_twice(loaded: LoadedProvider, ids: list[str]) -> Reply[tuple[Machine, ...]]:
    first = observed(loaded, ids)
    if not isinstance(first, Done):
        return first
    gone = [one.id for one in first.value if one.state is MachineState.GONE]
    second = observed(loaded, gone)
    if not isinstance(second, Done):
        return second
    return Done((*(one for one in first.value if one.state is not MachineState.GONE), *second.value))


def _disks(loaded: LoadedProvider, ids: list[str]) -> Reply[tuple[Disk, ...]]:
    if not ids or loaded.volumes is None:
        return Done(())
    return loaded.volumes.observe_disks(ids)


def _why(reply: Refused | Unknown) -> str:
    return f"{reply.code} {reply.message}".strip() if isinstance(reply, Refused) else reply.detail
