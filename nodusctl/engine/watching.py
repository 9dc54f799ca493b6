"""What a pass learns of all machines together: one question to each provider instance, before any object is carried on.

Each instance is a failure domain of its own: one that can't be asked, or that is another account than its machines were made at (rule R12),
ends its own steps in this pass and nobody else's. The surprise: when at least half of an instance's machines vanish at once (and more than
one), nobody believes it. An API in trouble answers with empty lists.
"""

from __future__ import annotations

import threading
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import timedelta

from nodusctl.base.exits import UserError
from nodusctl.lifecycle.identity import differs, words
from nodusctl.ports.journal import StoredObject
from nodusctl.ports.providers import LoadedProvider, ProviderSet
from nodusctl.provider.machines import Machine, MachineState
from nodusctl.provider.replies import Done, Refused, Reply, Scope, Unknown

_AT_ONCE = 100


@dataclass(slots=True)
class Seen:
    """Looks by machine id, each handed out once; ``told`` are the instances that answered, ``failures`` what the others said."""

    looks: dict[str, Reply[Machine]] = field(default_factory=dict)
    told: tuple[str, ...] = ()
    failures: Mapping[str, str] = field(default_factory=dict)

    def first_look(self, machine_id: str) -> Reply[Machine] | None:
        """What was learnt of a machine, the first time somebody asks."""
        return self.looks.pop(machine_id, None)


def look_at_all(providers: ProviderSet, objects: Iterable[StoredObject], limit: timedelta) -> Seen:
    """Ask every instance about its machines, all instances at the same time, each for at most ``limit``."""
    stored = tuple(objects)
    wanted, accounts = _machines_of(stored), accounts_of(stored)
    replies: dict[str, Reply[tuple[Machine, ...]]] = {}
    threads = [
        threading.Thread(target=_ask, args=(providers, instance, ids, accounts, replies), daemon=True, name=f"look-{instance}")
        for instance, ids in wanted.items()
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(limit.total_seconds())
    return _seen(wanted, replies)


def _machines_of(objects: Iterable[StoredObject]) -> dict[str, list[str]]:
    found: defaultdict[str, list[str]] = defaultdict(list)
    for one in objects:
        for attempt in one.attempts:
            if attempt.is_open and attempt.machine is not None and attempt.terms is not None:
                found[attempt.terms.provider].append(attempt.machine.id)
    return dict(found)


def accounts_of(objects: Iterable[StoredObject]) -> dict[str, frozenset[str]]:
    """The account identities under which machines and disks of these objects live, by provider instance."""
    found: defaultdict[str, set[str]] = defaultdict(set)
    for one in objects:
        for attempt in one.attempts:
            if attempt.is_open and attempt.terms is not None and attempt.terms.account:
                found[attempt.terms.provider].add(attempt.terms.account)
        disk = one.status.volume
        if disk is not None and disk.disk_id and disk.account:
            found[disk.provider].add(disk.account)
    return {instance: frozenset(accounts) for instance, accounts in found.items()}


def stranger(loaded: LoadedProvider, accounts: Mapping[str, frozenset[str]]) -> Refused | None:
    """Why nothing this instance says counts: what lives there was made at another account."""
    known, now = accounts.get(loaded.instance, frozenset()), loaded.description.account
    others = sorted(account for account in known if differs(account, now))
    if not others:
        return None
    return Refused(code="ProviderIdentityChanged", scope=Scope.ACCOUNT, message=words(loaded.instance, ", ".join(others), now))


def _ask(
    providers: ProviderSet,
    instance: str,
    ids: Sequence[str],
    accounts: Mapping[str, frozenset[str]],
    replies: dict[str, Reply[tuple[Machine, ...]]],
) -> None:
    try:
        loaded = providers.get(instance)
    except UserError as problem:
        replies[instance] = Unknown(detail=problem.diagnostics[0].summary)
        return
    replies[instance] = stranger(loaded, accounts) or observed(loaded, ids)


def observed(loaded: LoadedProvider, ids: Sequence[str]) -> Reply[tuple[Machine, ...]]:
    """The machines of these ids, asked for in batches."""
    found: list[Machine] = []
    for start in range(0, len(ids), _AT_ONCE):
        reply = loaded.calls.observe(tuple(ids[start : start + _AT_ONCE]))
        if not isinstance(reply, Done):
            return reply
        found += reply.value
    return Done(tuple(found))


def _seen(wanted: Mapping[str, Sequence[str]], replies: Mapping[str, Reply[tuple[Machine, ...]]]) -> Seen:
    seen, told, failures = Seen(), [], {}
    for instance, ids in wanted.items():
        reply = replies.get(instance, Unknown(detail="it did not answer in time"))
        match reply:
            case Done(value=machines):
                silent = [one for one in machines if one.state is MachineState.UNREADABLE and one.reason == "Unavailable"]
                if silent:  # a host of it can't be asked; the others were
                    failures[instance] = f"{len(silent)} of {len(machines)} machines can't be read: {silent[0].reason_detail}"
                if len(silent) < len(machines):
                    told.append(instance)
                seen.looks |= believed(instance, machines)
            case Refused():
                failures[instance] = f"{reply.code} {reply.message}".strip()
                seen.looks |= dict.fromkeys(ids, Refused(code=reply.code, scope=reply.scope, message=reply.message))
            case Unknown():
                failures[instance] = reply.detail
                seen.looks |= dict.fromkeys(ids, Unknown(detail=reply.detail))
    seen.told, seen.failures = tuple(told), failures
    return seen


def believed(instance: str, machines: Sequence[Machine]) -> dict[str, Reply[Machine]]:
    """What each report counts as: those that vanished together are in doubt, every other one is Done."""
    gone = [machine for machine in machines if machine.state is MachineState.GONE]
    doubt = Unknown(detail=f"{len(gone)} of {len(machines)} machines of {instance} vanished at once, which counts only once it says so")
    is_mass = len(gone) > 1 and 2 * len(gone) >= len(machines)
    return {one.id: doubt if is_mass and one.state is MachineState.GONE else Done(one) for one in machines}
