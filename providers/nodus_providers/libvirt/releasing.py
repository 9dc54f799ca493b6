"""Ending a machine for good: the guest is asked first, then its definition, NVRAM and files go, and a few lines remember what it was.

Asking again goes on where the last call stopped. What can't be deleted is left for the doctor to name, and no reason to call it alive.
"""

from __future__ import annotations

import json
from dataclasses import asdict
from datetime import datetime

from nodus_providers.libvirt.card_health import kernel_words, quarantine_after_stop
from nodus_providers.libvirt.connection import Domain, LibvirtError, Power
from nodus_providers.libvirt.hosts import Host, tag_in
from nodus_providers.libvirt.machines import console_of, gone_record, left_records, observed, ours
from nodus_providers.libvirt.records import MachineRecord
from nodusctl.base.timestamps import format_time, parse_time
from nodusctl.provider.machines import Machine, MachineState, Release, ReleaseState
from nodusctl.provider.replies import Done, Refused, Reply
from nodusctl.provider.requests import ReleaseRequest

_AGENT_SECONDS = 12.0
_BUTTON_SECONDS = 3.0
_POLL_SECONDS = 0.1
_DOOR_OPENED = "NODUS-OPEN"
_NEVER_SHOWN = Refused("NotFound", message="there has never been a machine of this id here")
_REMEMBER = 'set -eu\ncd "$1/gone"; umask 077\ncat >".$2.new"; mv ".$2.new" "$2.json"; sync\n'
_REMOVE = 'rm -f "$1/machine.json"; rm -rf "$1" 2>/dev/null || :\n'


def release(host: Host, request: ReleaseRequest) -> Reply[Release]:
    """End the machine, or go on ending it. An id nobody has seen proves nothing and is NotFound."""
    machine_id = request.machine_id
    if tag_in(machine_id) != host.tag:
        return _NEVER_SHOWN
    with host.locks.held(machine_id):
        domain, record = ours(host.connection.domains(), host).get(machine_id, (None, None))
        if domain is None or record is None:
            return _without_domain(host, machine_id)
        before = observed(host, machine_id, domain, record)
        was_running = domain.power in (Power.RUNNING, Power.PAUSED)
        if was_running:
            with kernel_words(host, record.devices):
                _end(host, domain, machine_id)
        last = observed(host, machine_id, host.connection.domain(domain.uuid), record) if was_running else before
        ended_at = last.ended_at or host.wall.now()
        said = Machine(id=machine_id, state=MachineState.GONE, reason="released") if was_running and last.reason != "edge" else last
        ended_at = _remembered(host, record, ended_at, said)
        host.connection.destroy(domain.uuid)
        host.connection.undefine(domain.uuid)
        quarantine_after_stop(host, record.devices, record.drivers)
        host.shell.run(_REMOVE, host.machine_folder(machine_id))
        return Done(Release(state=ReleaseState.GONE, ended_at=ended_at))


def _without_domain(host: Host, machine_id: str) -> Reply[Release]:
    """Its domain is gone: because we released it, or because somebody undefined it. Its files go now at the latest."""
    known = gone_record(host, machine_id)
    left = left_records(host).get(machine_id)
    if not known and left is None:
        return _NEVER_SHOWN
    if known:
        ended_at = parse_time(known["ended_at"])
    else:
        assert left is not None
        undefined = Machine(id=machine_id, state=MachineState.GONE, reason="killed", reason_detail="its domain was undefined by somebody")
        ended_at = _remembered(host, left, host.wall.now(), undefined)
    host.shell.run(_REMOVE, host.machine_folder(machine_id))
    return Done(Release(state=ReleaseState.GONE, ended_at=ended_at, was_absent=not known))


def _end(host: Host, domain: Domain, machine_id: str) -> None:
    """By the guest's agent, which lets it write its home to disk; else by the power button; else by pulling the plug.

    Nobody has been in a machine whose door never opened, so that one is not asked.
    """
    ways = ((True, _AGENT_SECONDS), (False, _BUTTON_SECONDS)) if _DOOR_OPENED in console_of(host, machine_id) else ()
    for by_agent, seconds in ways:
        try:
            host.connection.shut_down(domain.uuid, by_agent=by_agent)
        except LibvirtError:
            continue  # no agent yet, or a guest that is off already
        if _is_off(host, domain.uuid, seconds):
            return
    host.connection.destroy(domain.uuid)


def _is_off(host: Host, uuid: str, seconds: float) -> bool:
    until = host.wall.monotonic() + seconds
    while host.wall.monotonic() < until:
        domain = host.connection.domain(uuid)
        if domain is None or domain.power not in (Power.RUNNING, Power.PAUSED):
            return True
        host.wall.sleep(_POLL_SECONDS)
    return False


def _remembered(host: Host, record: MachineRecord, ended_at: datetime, last: Machine) -> datetime:
    """Write down that it is gone, once; the moment that stands there already holds."""
    if known := gone_record(host, record.id):
        return parse_time(known["ended_at"])
    about = {"machine": asdict(record), "reason": last.reason, "detail": last.reason_detail, "ended_at": format_time(ended_at)}
    host.shell.run(_REMEMBER, host.folder, record.id, stdin=json.dumps(about, sort_keys=True).encode() + b"\n")
    return parse_time(format_time(ended_at))
