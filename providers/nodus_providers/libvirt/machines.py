"""From a domain to what the contract calls a Machine. Reading only; why a machine ended is read from its console, never guessed.

A domain that was defined and has never run is a launch cut in two, not a machine that stopped. The surprise: a host that crashed within
seconds of a start forgets the start and keeps the definition, so once nobody can be at that launch any more, it is a machine that failed.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping
from datetime import UTC, datetime, timedelta
from types import MappingProxyType
from typing import Any

from nodus_providers.libvirt.connection import Domain, Power
from nodus_providers.libvirt.hosts import Host, tag_in
from nodus_providers.libvirt.outside import edits_of, taken_from
from nodus_providers.libvirt.records import LAUNCHING, MachineRecord, mac_of, record_in, record_in_mark
from nodusctl.base.timestamps import parse_time
from nodusctl.provider.machines import Machine, MachineState, SshEndpoint

_USER, _PORT = "nodus", 22
# The last bytes of the console and of the one before it, and when it was written last.
_CONSOLE_END = """cd "$1" 2>/dev/null || exit 0
[ -e console.log ] || exit 0
stat -c %Y console.log
for log in console.log.0 console.log; do [ ! -e $log ] || tail -c 16384 $log; done
"""
_CONSOLE = 'cd "$1" 2>/dev/null || exit 0; for log in console.log.0 console.log; do [ ! -e $log ] || tail -c "$2" $log; done\n'
_GONE = 'cat "$1/gone/$2.json" 2>/dev/null || :\n'
_LEFT = """cd "$1/machines" 2>/dev/null || exit 0
for folder in m-*; do [ ! -s "$folder/machine.json" ] || { cat "$folder/machine.json"; echo; }; done
"""
_BOOTED = "awk '$1 == \"btime\" { print $2 }' /proc/stat\n"
_LONGEST_LAUNCH = timedelta(minutes=35)
_END = re.compile(r"NODUS-END (\{.*\})")
_ENDED = re.compile(r"NODUS-ENDED (\{.*\})")


def ours(domains: Iterable[Domain], host: Host) -> dict[str, tuple[Domain, MachineRecord]]:
    """Machine id to domain and record, of the domains that are ours and were made on this host."""
    found = ((domain, record_in_mark(domain.mark)) for domain in domains)
    return {record.id: (domain, record) for domain, record in found if record is not None and tag_in(record.id) == host.tag}


def observed(host: Host, machine_id: str, domain: Domain | None, record: MachineRecord | None) -> Machine:
    """The machine as it is now; ``gone`` for an id nobody knows."""
    if domain is None or record is None:
        return gone(host, machine_id)
    state, reason, said, ended_at = _standing(host, domain, record)
    detail = "; ".join(part for part in (said, taken_from(host, domain, record)) if part)
    created_at = parse_time(record.created_at)
    address = _address(host, domain.uuid, record) if state is MachineState.RUNNING else ""
    if state is MachineState.RUNNING and not address:
        state, reason = MachineState.PENDING, "no address yet"
    return Machine(
        **_fixed(host, record),
        id=machine_id,
        state=state,
        reason=reason,
        reason_detail=detail,
        billing_started_at=created_at,
        ended_at=max(created_at, ended_at) if ended_at else None,
        ssh=door(host, address) if address else None,
        disk_ids=record.disk_ids,
        impaired=f"it is paused: {domain.reason or 'nobody says why'}" if domain.power is Power.PAUSED else "",
        vcpu_milli=record.vcpus * 1000,
        memory_bytes=record.memory_bytes,
        edits=edits_of(host, domain, record),
    )


def door(host: Host, address: str) -> SshEndpoint:
    """The way in to a machine at ``address``. A bridge may lead out of this computer; a network of libvirt's own doesn't."""
    is_here = host.is_this_computer and host.settings.bridge is None
    return SshEndpoint(host=address, port=_PORT, user=_USER, jump=host.jump, is_here=is_here)


def gone(host: Host, machine_id: str) -> Machine:
    """What is remembered of a machine that was released; else just ``gone``."""
    record = gone_record(host, machine_id)
    if not record:
        return Machine(id=machine_id, state=MachineState.GONE)
    known = record_in(json.dumps(record["machine"]))
    return Machine(
        **(_fixed(host, known) if known is not None else {}),
        id=machine_id,
        state=MachineState.GONE,
        reason=record["reason"],
        reason_detail=record["detail"],
        billing_started_at=parse_time(known.created_at) if known is not None else None,
        ended_at=parse_time(record["ended_at"]),
    )


def gone_record(host: Host, thing_id: str) -> Mapping[str, Any]:
    """What was written down when a machine was released or a disk deleted; empty where nothing was."""
    if tag_in(thing_id) != host.tag:
        return {}
    text = host.shell.run(_GONE, host.folder, thing_id)
    return dict(json.loads(text)) if text.strip() else {}


def holder_of(host: Host, disk_id: str) -> str:
    """The machine that holds a disk, ended or not, or ""."""
    machines = ours(host.connection.domains(), host)
    return next((machine_id for machine_id, (_, record) in machines.items() if disk_id in record.disk_ids), "")


def left_records(host: Host) -> Mapping[str, MachineRecord]:
    """Machines whose files lie on the host, whatever became of their domains."""
    records = (record_in(line) for line in host.shell.run(_LEFT, host.folder).splitlines() if line.strip())
    return {record.id: record for record in records if record is not None}


def console_of(host: Host, machine_id: str, limit_bytes: int = 2**20) -> str:
    """What the machine said on its serial console."""
    return host.shell.run(_CONSOLE, host.machine_folder(machine_id), str(limit_bytes))


def has_begun(host: Host, record: MachineRecord, domain: Domain) -> bool:
    """Whether it has ever run: its start was seen through, it runs, or its console has something on it."""
    return record.phase != LAUNCHING or domain.power is not Power.OFF or bool(console_of(host, record.id, 64).strip())


def _standing(host: Host, domain: Domain, record: MachineRecord) -> tuple[MachineState, str, str, datetime | None]:
    """State, reason, evidence, end."""
    if domain.power in (Power.RUNNING, Power.PAUSED):
        return MachineState.RUNNING, "", "", None
    if domain.power is Power.OFF and not has_begun(host, record, domain):
        why, given_up_at = _given_up(host, parse_time(record.created_at))
        if given_up_at is not None:
            return MachineState.FAILED, "failed", why, given_up_at
        return MachineState.PENDING, "launching", "its domain is defined and was never started", None
    note, ended_at = last_words(host, record.id)
    state = MachineState.FAILED if domain.power is Power.CRASHED else MachineState.STOPPED
    if note:
        return state, str(note.get("reason", "")), str(note.get("detail", "")), ended_at
    said = {"poweroff": "the guest shut down", "killed": "its domain was ended from outside", "failed": "QEMU failed or crashed"}
    # After a restart of libvirtd nobody knows any more how a domain came to be off.
    reason = domain.reason or "killed"
    return state, reason, said[reason] if domain.reason else "its domain is off, and nothing on its console says why", ended_at


def _given_up(host: Host, created_at: datetime) -> tuple[str, datetime | None]:
    """Why nobody can be at a launch of then any more, and since when; None while somebody may be."""
    booted = host.shell.run(_BOOTED).strip()
    booted_at = datetime.fromtimestamp(int(booted), UTC) if booted.isdigit() else created_at
    if booted_at > created_at:
        return "its host was started anew while the machine started", booted_at
    given_up_at = created_at + _LONGEST_LAUNCH
    return "its domain is defined, was never started, and nobody starts it any more", given_up_at if given_up_at < host.wall.now() else None


def last_words(host: Host, machine_id: str) -> tuple[Mapping[str, Any], datetime | None]:
    """Why it ended in its own words, empty where it said nothing; and when, by them or by the console's last line."""
    written, _, console = host.shell.run(_CONSOLE_END, host.machine_folder(machine_id)).partition("\n")
    notes, ends = _found(_END, console), _found(_ENDED, console)
    moment = ends.get("ended_at") or notes.get("decided_at")
    if moment:
        return notes, parse_time(str(moment))
    return notes, datetime.fromtimestamp(int(written), UTC) if written.isdigit() else None


def _found(pattern: re.Pattern[str], text: str) -> Mapping[str, Any]:
    """The last line of its kind that can be read."""
    for line in reversed(pattern.findall(text)):
        try:
            return dict(json.loads(line))
        except ValueError:
            continue
    return {}


def _address(host: Host, uuid: str, record: MachineRecord) -> str:
    """From the network's leases; from the guest's agent on a bridge, and where a lease ran out."""
    mac = mac_of(record.id)
    for by_agent in (True,) if host.settings.bridge is not None else (False, True):
        found = host.connection.addresses(uuid, by_agent=by_agent).get(mac, ())
        address = next((one for one in found if ":" not in one), next((one for one in found if not one.startswith("fe80")), ""))
        if address:
            return address
    return ""


def _fixed(host: Host, record: MachineRecord) -> dict[str, Any]:
    return {
        "token": record.token,
        "name": record.name,
        "zone": host.zone,
        "location": host.location,
        "offer_id": record.offer_id,
        "tags": MappingProxyType(dict(record.tags)),
        "created_at": parse_time(record.created_at),
        "instance_type": "libvirt",
    }
