"""Makes the call an Intent stands for. The same intent gives the same call, the first time and after any crash.

Everything the call needs from the state is read before the thread starts; the thread itself only talks to the outside.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import timedelta
from typing import Any

from nodusctl.attempts.intents import Intent, StepKind
from nodusctl.base.money import Money
from nodusctl.base.timestamps import parse_time
from nodusctl.executor.booting import boot_name, document_in
from nodusctl.executor.looking import Known, LookCall
from nodusctl.executor.outside import Outside
from nodusctl.executor.pushing import files_of, pushing
from nodusctl.lifecycle.situation import Situation
from nodusctl.ports.providers import LoadedProvider
from nodusctl.ports.reach import Access
from nodusctl.provider.agent import AgentAnswer, AgentCommand, AgentRequest
from nodusctl.provider.machines import Machine, SshEndpoint
from nodusctl.provider.replies import Done, Refused, Reply, Unknown
from nodusctl.provider.requests import (
    AttachRequest,
    DeleteDiskRequest,
    DeleteRevisionRequest,
    DetachRequest,
    DiskAttachment,
    DiskRequest,
    Egress,
    GrowRequest,
    LaunchRequest,
    ReleaseRequest,
    RestoreRequest,
    SaveRequest,
)

Call = Callable[[], Reply[Any]]
PUSH_LIMIT = timedelta(seconds=60)


def call_of(outside: Outside, situation: Situation, intent: Intent) -> Call:
    """The call of an intent, ready to run in any thread."""
    loaded = outside.providers.get(intent.provider)
    match intent.step:
        case StepKind.LAUNCH:
            return _launching(outside, loaded, intent)
        case StepKind.HAND_OVER_KEYS:
            return _handing_over(outside, situation)
        case StepKind.PUSH:
            files = files_of(outside.journal, intent.request, situation.login_keys, intent.attempt_uid)
            return pushing(outside.reach, access_to(outside, situation), files)
        case StepKind.RENEW:
            return _renewing(outside, situation, intent)
        case StepKind.QUIESCE:
            request = AgentRequest(command=AgentCommand.QUIESCE, grace_seconds=int(intent.request["grace_seconds"]))
            return _asking(outside, access_to(outside, situation), request)
        case StepKind.RELEASE:
            release = ReleaseRequest(token=intent.token, machine_id=str(intent.request["machine_id"]))
            return lambda: loaded.calls.release(release)
        case _:
            return _on_disk(loaded, intent)


def _renewing(outside: Outside, situation: Situation, intent: Intent) -> Call:
    """The edge as remaining seconds from now: what is asked for is a moment, however late the call."""
    until = parse_time(str(intent.request["until"]))
    seconds = max(int((until - outside.clock.now()).total_seconds()), 1)
    idle = int(intent.request["idle_seconds"])
    request = AgentRequest(command=AgentCommand.RENEW, edge_seconds=seconds, idle_timeout_seconds=idle)
    return _asking(outside, access_to(outside, situation), request)


def prices_of(outside: Outside, situation: Situation) -> Call:
    """Ask what each approved offer costs now; None for one that nobody can price."""
    approval = situation.record.approval
    terms = approval.terms if approval is not None else ()
    return lambda: Done({one.offer_key: outside.rate_of(one, situation.now) for one in terms})


def lookup_of(outside: Outside, intent: Intent) -> Call:
    """Ask the provider what the intent's token made."""
    loaded = outside.providers.get(intent.provider)
    return lambda: loaded.calls.find(intent.token)


def look_of(outside: Outside, situation: Situation) -> Call:
    """Ask the provider about the Attempt's machine, unless this pass has asked about all of them together."""
    attempt = situation.attempt
    assert attempt is not None and attempt.terms is not None and attempt.machine is not None
    loaded, machine_id = outside.providers.get(attempt.terms.provider), attempt.machine.id

    known = outside.first_look(machine_id)
    return LookCall(loaded=loaded, machine_id=machine_id) if known is None else Known(known)


def probe_of(outside: Outside, situation: Situation) -> Call:
    """Ask the agent whether it is ready, under whichever host key is in force."""
    return _asking(outside, access_to(outside, situation), AgentRequest(command=AgentCommand.READY))


def facts_of(outside: Outside, situation: Situation) -> Call:
    """Ask the agent what was done on the machine."""
    return _asking(outside, access_to(outside, situation), AgentRequest(command=AgentCommand.FACTS))


def access_to(outside: Outside, situation: Situation, *, host_key: str = "") -> Access:
    """How to log in to the Attempt's machine as the service key; the pinned key is the durable one once it was handed over."""
    attempt = situation.attempt
    assert attempt is not None and attempt.terms is not None and attempt.machine is not None
    machine = situation.sightings.machine or attempt.machine
    return Access(
        provider=attempt.terms.provider,
        machine_id=attempt.machine.id,
        alias=f"nodus-{attempt.owner_uid}",
        host_key=host_key or attempt.host_key or attempt.bootstrap_host_key,
        service_key=outside.journal.secret(f"service-key/{attempt.uid}") or "",
        endpoint=_endpoint(machine) or _endpoint(attempt.machine),
    )


def _endpoint(machine: Machine) -> SshEndpoint | None:
    return machine.ssh


def _asking(outside: Outside, access: Access, request: AgentRequest) -> Call:
    return lambda: outside.reach.ask(access, request)


def _launching(outside: Outside, loaded: LoadedProvider, intent: Intent) -> Call:
    asked = intent.request
    rate = asked["max_rate_usd_per_hour"]
    request = LaunchRequest(
        token=intent.token,
        name=asked["name"],
        offer_id=asked["offer_id"],
        instance_type=asked["instance_type"],
        zone=asked["zone"],
        is_interruptible=asked["is_interruptible"],
        unit_ids=tuple(asked["unit_ids"]),
        image=asked["image"],
        boot=document_in(outside.journal, boot_name(intent.attempt_uid, intent.try_number)),
        edge_seconds=asked["edge_seconds"],
        disk_bytes=asked["disk_bytes"],
        disks=tuple(DiskAttachment(disk_id=d["disk_id"], mount_path=d["mount_path"]) for d in asked["disks"]),
        max_rate_usd_per_hour=Money.parse(rate) if rate is not None else None,
        cpu_milli=asked.get("cpu_milli"),
        memory_bytes=asked.get("memory_bytes"),
        egress=_egress(asked.get("egress") or {}),
        tags=asked["tags"],
    )
    return lambda: loaded.calls.launch(request)


def _egress(asked: Mapping[str, Any]) -> Egress:
    return Egress(policy=asked.get("policy", "Open"), allow=tuple(asked.get("allow", ())), presets=tuple(asked.get("presets", ())))


def _handing_over(outside: Outside, situation: Situation) -> Call:
    """Push the durable host key under the bootstrap key, then verify by a second connection under the durable one.

    After a crash in between the machine already shows the durable key, so a changed host key is first taken as that.
    """
    attempt = situation.attempt
    assert attempt is not None
    private = outside.journal.secret(f"host-key/{attempt.owner_uid}") or ""
    push = AgentRequest(command=AgentCommand.SECRETS, files={"host_key": private})
    before = access_to(outside, situation, host_key=attempt.bootstrap_host_key)
    after = access_to(outside, situation, host_key=situation.status.host_key)

    def hand_over() -> Reply[AgentAnswer]:
        pushed = outside.reach.ask(before, push)
        match pushed:
            case Unknown():
                return pushed
            case Refused() if pushed.code != "HostKeyChanged":
                return pushed
            case _:
                return outside.reach.ask(after, AgentRequest(command=AgentCommand.READY))

    return hand_over


def _on_disk(loaded: LoadedProvider, intent: Intent) -> Call:
    volumes, asked, token = loaded.volumes, intent.request, intent.token
    if volumes is None:
        return lambda: Refused(code="Unsupported", message="the provider holds no volumes")
    match intent.step:
        case StepKind.CREATE_DISK:
            create = DiskRequest(token=token, name=asked["name"], zone=asked["zone"], size_bytes=asked["size_bytes"], tags=asked["tags"])
            return lambda: volumes.create_disk(create)
        case StepKind.ATTACH:
            disk = DiskAttachment(disk_id=asked["disk_id"], mount_path=asked["mount_path"])
            attach = AttachRequest(token=token, machine_id=asked["machine_id"], disk=disk)
            return lambda: volumes.attach(attach)
        case StepKind.DETACH:
            detach = DetachRequest(token=token, machine_id=asked["machine_id"], disk_id=asked["disk_id"])
            return lambda: volumes.detach(detach)
        case StepKind.SAVE:
            save = SaveRequest(token=token, disk_id=asked["disk_id"], number=asked["number"])
            return lambda: volumes.save(save)
        case StepKind.RESTORE:
            restore = RestoreRequest(token=token, disk_id=asked["disk_id"], revision_id=asked["revision_id"])
            return lambda: volumes.restore(restore)
        case StepKind.DELETE_REVISION:
            return _dropping(loaded, intent)
        case StepKind.GROW:
            grow = GrowRequest(token=token, disk_id=asked["disk_id"], size_bytes=asked["size_bytes"])
            return lambda: volumes.grow(grow)
        case StepKind.DELETE_DISK:
            delete = DeleteDiskRequest(token=token, disk_id=asked["disk_id"])
            return lambda: volumes.delete_disk(delete)
        case _:
            raise ValueError(f"{intent.step} is no disk step")


def _dropping(loaded: LoadedProvider, intent: Intent) -> Call:
    pruning, asked = loaded.pruning, intent.request
    if pruning is None:
        return lambda: Refused(code="Unsupported", message="the provider can't drop single revisions")
    request = DeleteRevisionRequest(token=intent.token, disk_id=asked["disk_id"], revision_id=asked["revision_id"])
    return lambda: pruning.delete_revision(request)
