"""ssh-config entries of a project's Workspaces, from what is stored: also of stopped ones, because connecting may wake them."""

from __future__ import annotations

from nodusctl.engine.reaching import Caller, alias_of, pin_of
from nodusctl.ports.journal import StoredObject
from nodusctl.remote.ssh_config import HostEntry


def entries_of(caller: Caller, proxy: tuple[str, ...]) -> tuple[HostEntry, ...]:
    """One entry a Workspace, by name. Pins are written for those that have a host key; the others get theirs when they first run."""
    uids = [one.record.uid for one in caller.journal.snapshot() if one.record.address.kind == "workspace"]
    found = caller.journal.load_many(uids).values()
    entries = (_entry(stored, caller, proxy) for stored in found)
    return tuple(sorted(entries, key=lambda entry: entry.name))


def _entry(stored: StoredObject, caller: Caller, proxy: tuple[str, ...]) -> HostEntry:
    users = [one.machine.ssh.user for one in stored.attempts if one.machine is not None and one.machine.ssh is not None]
    return HostEntry(
        name=stored.record.address.name,
        alias=alias_of(stored),
        user=users[-1] if users else "",
        known_hosts=pin_of(stored, caller.data_dir),
        identity=caller.key_path,
        proxy=proxy,
    )
