"""Turns a due step into an Intent and what is committed with it, before any call.

The request that will be sent stands in the intent as JSON (what is secret stands in the vault), so that a process that finds the intent
after a crash can send exactly the same bytes under the same token.
"""

from __future__ import annotations

import hashlib
import secrets
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from datetime import timedelta
from typing import Any

from nodusctl.attempts.attempt import Attempt
from nodusctl.attempts.events import TermsFrozen
from nodusctl.attempts.intents import Intent, StepKind
from nodusctl.base.canonical import digest
from nodusctl.base.quantities import quantity_milli, quantity_units
from nodusctl.base.timestamps import format_time
from nodusctl.executor.booting import boot_name, kept_document
from nodusctl.executor.outside import Outside
from nodusctl.executor.pushing import token_name
from nodusctl.ledger.balances import balances
from nodusctl.lifecycle.edges import Bound, Edge, edge_of, hold_until
from nodusctl.lifecycle.funding import held_until
from nodusctl.lifecycle.money import captures_until, hold_for_launch, renewal_entries
from nodusctl.lifecycle.pinning import pin_of
from nodusctl.lifecycle.renewing import idle_seconds
from nodusctl.lifecycle.situation import Situation
from nodusctl.lifecycle.steps import (
    AttachHome,
    CreateDisk,
    DeleteDisk,
    DetachHome,
    DropEmptyDisk,
    DropRevision,
    GrowDisk,
    HandOverKeys,
    Launch,
    PushSecrets,
    Quiesce,
    Release,
    Renew,
    RestoreDisk,
    SaveHome,
)
from nodusctl.lifecycle.volume_outcomes import with_holder
from nodusctl.lifecycle.written import Written
from nodusctl.ports.boot import BootPlan
from nodusctl.provider.tokens import Ownership, client_token
from nodusctl.state.status import ObjectStatus
from nodusctl.state.terms import Terms

HOME_MOUNT = "/home/nodus"
TOOLS_WITH_TOKEN = frozenset({"Jupyter", "VSCode"})
"""Tools that answer in a browser, each with the Attempt's token."""
Outward = (
    CreateDisk
    | DropEmptyDisk
    | Launch
    | AttachHome
    | HandOverKeys
    | PushSecrets
    | Renew
    | Quiesce
    | Release
    | DetachHome
    | SaveHome
    | RestoreDisk
    | DropRevision
    | GrowDisk
    | DeleteDisk
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Intended:
    """An intent with what is committed beside it."""

    intent: Intent
    written: Written = field(default_factory=Written)
    sealed: Mapping[str, str] = field(default_factory=dict, repr=False)


def intend(outside: Outside, situation: Situation, step: Outward) -> Intended:
    """The intent of ``step``, whole."""
    return _MAKERS[type(step)](outside, situation, step)


def _launch(outside: Outside, situation: Situation, step: Launch) -> Intended:
    attempt = _attempt(situation)
    terms, try_number = step.terms, attempt.try_number + 1
    edge = edge_of(situation, terms)
    edge_seconds = int(edge.runs_for.total_seconds())
    status, durable_sealed = _with_durable_key(outside, situation)
    boot, sealed, boot_public = _boot_document(outside, situation, terms, edge_seconds, try_number)
    request = _launch_request(outside, situation, terms, edge_seconds, boot)
    intended = _plain(
        outside, situation, StepKind.LAUNCH, provider=terms.provider, request=request, target=situation.uid, try_number=try_number
    )
    frozen = TermsFrozen(
        time=situation.now,
        object_uid=situation.uid,
        attempt_uid=attempt.uid,
        terms=terms,
        token=intended.intent.token,
        try_number=try_number,
        bootstrap_host_key=boot_public,
        edge_at=situation.now + edge.runs_for,
        edge_bound=str(edge.bound),
        idle_seconds=idle_seconds(situation),
    )
    written = Written(
        events=(frozen,),
        entries=hold_for_launch(attempt, try_number, edge.hold_usd, situation.now),
        statuses={situation.uid: _held(status, edge, situation), **with_holder(situation, attempt.uid, "", is_in_use=None)},
    )
    return replace(intended, written=written, sealed={**sealed, **durable_sealed})


def _held(status: ObjectStatus, edge: Edge, situation: Situation) -> ObjectStatus:
    """At a launch what is held pays until the edge, whatever that stands for."""
    return held_until(status, situation.now + edge.runs_for, Bound.LEASE, situation.now)


def _with_durable_key(outside: Outside, situation: Situation) -> tuple[ObjectStatus, dict[str, str]]:
    """The Workspace's own host key: made once, before its first machine, and the same until it is deleted."""
    if situation.status.host_key:
        return situation.status, {}
    durable = outside.keys.new_key("nodus-host")
    public = " ".join(durable.public.split()[:2])
    return replace(situation.status, host_key=public), {f"host-key/{situation.uid}": durable.private}


def _boot_document(
    outside: Outside, situation: Situation, terms: Terms, edge_seconds: int, try_number: int
) -> tuple[str, dict[str, str], str]:
    """The document, what goes to the vault with it, and the public bootstrap host key."""
    attempt = _attempt(situation)
    bootstrap, service = outside.keys.new_key("nodus-bootstrap"), outside.keys.new_key("nodus-service")
    sealed = {f"service-key/{attempt.uid}": service.private}
    platform = situation.platforms[terms.provider]
    plan = BootPlan(
        host_key=bootstrap.private,
        service_key=service.public,
        person_keys=situation.login_keys,
        tools=served_tools(situation, platform.tools),
        edge_seconds=edge_seconds,
        idle_timeout_seconds=idle_seconds(situation) or None,
        home_mount=HOME_MOUNT,
    )
    form = outside.providers.get(terms.provider).description.boot_form
    boot = outside.boots.render(form, plan)
    sealed |= kept_document(outside.journal, boot_name(attempt.uid, try_number), boot, outside.boots.shared(form))
    return boot, sealed, bootstrap.public


def served_tools(situation: Situation, offered: frozenset[str]) -> tuple[str, ...]:
    """The declared tools this platform serves; VSCode on the desktop needs nothing but SSH."""
    declared = situation.record.spec.get("tools", ["SSH"])
    return tuple(str(tool) for tool in declared if tool in offered)


def _launch_request(outside: Outside, situation: Situation, terms: Terms, edge_seconds: int, boot: str) -> dict[str, Any]:
    spec = situation.record.spec
    home = situation.home.standing.disk_id if situation.home else ""
    platform = situation.platforms[terms.provider]
    disks = [{"disk_id": home, "mount_path": HOME_MOUNT}] if home and platform.attaches_at_launch else []
    floors = spec.get("resources") or {}
    floor = floors.get("disk")
    return {
        "name": _ownership(outside, situation).machine_name,
        "offer_key": terms.offer_key,
        "offer_id": terms.offering,
        "instance_type": terms.instance_type,
        "zone": terms.zone,
        "is_interruptible": terms.is_interruptible,
        "unit_ids": list(terms.unit_ids),
        "image": str(spec.get("image", "")),
        "edge_seconds": edge_seconds,
        "disk_bytes": quantity_units(str(floor)) if floor is not None else None,
        "disks": disks,
        "max_rate_usd_per_hour": str(terms.ceiling_usd_per_hour) if terms.is_interruptible else None,
        "cpu_milli": quantity_milli(str(floors["cpu"])) if floors.get("cpu") is not None else None,
        "memory_bytes": quantity_units(str(floors["memory"])) if floors.get("memory") is not None else None,
        "egress": _egress(spec),
        "tags": dict(_ownership(outside, situation).tags()),
        "boot_sha256": hashlib.sha256(boot.encode()).hexdigest(),
    }


def _push(outside: Outside, situation: Situation, step: PushSecrets) -> Intended:
    """What is pushed, by name and version; the values stay in the vault until the call is made.

    The browser tools' token is made with the first push of the Attempt and stays the same for later ones.
    """
    spec, terms = situation.record.spec, _attempt(situation).terms
    assert terms is not None
    request = {
        "machine_id": _machine_id(situation),
        "secrets": [_pinned(situation, str(mount["name"])) for mount in spec.get("secrets", ())],
        "env": [_variable(situation, variable) for variable in spec.get("env", ())],
        "keys_digest": situation.login_keys_digest,
        "tools": [tool for tool in served_tools(situation, situation.platforms[terms.provider].tools) if tool in TOOLS_WITH_TOKEN],
    }
    intended = _plain(outside, situation, StepKind.PUSH, provider=terms.provider, request=request, target=situation.uid)
    name = token_name(_attempt(situation).uid)
    is_new = bool(request["tools"]) and outside.journal.secret(name) is None
    return replace(intended, sealed={name: secrets.token_hex(24)}) if is_new else intended


def _pinned(situation: Situation, name: str) -> dict[str, Any]:
    """One Secret with the version it is pinned to and that version's keys."""
    pin = pin_of(situation, name)
    assert pin is not None and pin.keys is not None, "missing_secret() was asked before"
    return {"name": name, "uid": pin.uid, "version": pin.version, "keys": list(pin.keys)}


def _variable(situation: Situation, variable: Mapping[str, Any]) -> dict[str, Any]:
    selector = (variable.get("valueFrom") or {}).get("secretKeyRef")
    if selector is None:
        return {"name": variable["name"], "value": str(variable.get("value", ""))}
    return {"name": variable["name"], "key": selector["key"], "secret": _pinned(situation, str(selector["name"]))}


def _egress(spec: Mapping[str, Any]) -> dict[str, Any]:
    egress = (spec.get("network") or {}).get("egress") or {}
    return {
        "policy": str(egress.get("policy") or "Open"),
        "allow": [str(name) for name in egress.get("allow") or ()],
        "presets": [str(name) for name in egress.get("presets") or ()],
    }


def _create_disk(outside: Outside, situation: Situation, step: CreateDisk) -> Intended:
    assert situation.home is not None
    size_bytes = quantity_units(str(situation.home.record.spec.get("size", "50Gi")))
    request = {
        "name": f"nodus-{situation.home.record.address.name}-{situation.home.record.uid[:8]}",
        "offer_key": step.terms.offer_key,
        "zone": step.terms.zone,
        "location": step.terms.location,
        "size_bytes": size_bytes,
        "tags": dict(_ownership(outside, situation, of_home=True).tags()),
    }
    # Each refused or absent try counts, so that no two disks of one Attempt are ever asked for under one token.
    target, try_number = situation.home.record.uid, len(_attempt(situation).refusals) + 1
    return _plain(
        outside, situation, StepKind.CREATE_DISK, provider=step.terms.provider, request=request, target=target, try_number=try_number
    )


def _on_home_disk(outside: Outside, situation: Situation, kind: StepKind, extra: Mapping[str, Any]) -> Intended:
    assert situation.home is not None
    standing = situation.home.standing
    request = {"disk_id": standing.disk_id, **extra}
    return _plain(outside, situation, kind, provider=standing.provider, request=request, target=situation.home.record.uid)


def _drop_disk(outside: Outside, situation: Situation, step: DropEmptyDisk) -> Intended:
    return _on_home_disk(outside, situation, StepKind.DELETE_DISK, {})


def _attach(outside: Outside, situation: Situation, step: AttachHome) -> Intended:
    return _on_home_disk(outside, situation, StepKind.ATTACH, {"machine_id": _machine_id(situation), "mount_path": HOME_MOUNT})


def _detach(outside: Outside, situation: Situation, step: DetachHome) -> Intended:
    return _on_home_disk(outside, situation, StepKind.DETACH, {"machine_id": _machine_id(situation)})


def _save(outside: Outside, situation: Situation, step: SaveHome) -> Intended:
    return _on_home_disk(outside, situation, StepKind.SAVE, {"number": step.number})


def _drop_revision(outside: Outside, situation: Situation, step: DropRevision) -> Intended:
    """On the home of a Workspace, or on the Volume that is itself the object."""
    extra = {"revision_id": step.revision_id, "number": step.number}
    if situation.home is not None:
        return _on_home_disk(outside, situation, StepKind.DELETE_REVISION, extra)
    return _on_volume(outside, situation, StepKind.DELETE_REVISION, extra)


def _restore(outside: Outside, situation: Situation, step: RestoreDisk) -> Intended:
    # The request's time is part of what is asked, so that restoring a revision again is another call under another token.
    extra = {"revision_id": step.revision_id, "number": step.number, "asked": step.asked}
    return _on_volume(outside, situation, StepKind.RESTORE, extra)


def _grow(outside: Outside, situation: Situation, step: GrowDisk) -> Intended:
    return _on_volume(outside, situation, StepKind.GROW, {"size_bytes": step.size_bytes})


def _delete_disk(outside: Outside, situation: Situation, step: DeleteDisk) -> Intended:
    return _on_volume(outside, situation, StepKind.DELETE_DISK, {})


def _on_volume(outside: Outside, situation: Situation, kind: StepKind, extra: Mapping[str, Any]) -> Intended:
    standing = situation.status.volume
    assert standing is not None, "only a Volume with a disk comes here"
    request = {"disk_id": standing.disk_id, **extra}
    return _plain(outside, situation, kind, provider=standing.provider, request=request, target=situation.uid)


def _on_machine(kind: StepKind, extra: Callable[[Outside, Situation], Mapping[str, Any]]) -> Callable[..., Intended]:
    def make(outside: Outside, situation: Situation, step: object) -> Intended:
        terms = _attempt(situation).terms
        assert terms is not None
        request = {"machine_id": _machine_id(situation), **extra(outside, situation)}
        return _plain(outside, situation, kind, provider=terms.provider, request=request, target=situation.uid)

    return make


def _renew(outside: Outside, situation: Situation, step: Renew) -> Intended:
    """The larger hold is committed with the intent, before the machine is told; ``until`` is a moment: a late call asks for less."""
    attempt = _attempt(situation)
    assert attempt.terms is not None
    request = {
        "machine_id": _machine_id(situation),
        "until": format_time(step.until),
        "bound": step.bound,
        "idle_seconds": idle_seconds(situation),
        "asked": format_time(situation.now),
    }
    intended = _plain(outside, situation, StepKind.RENEW, provider=attempt.terms.provider, request=request, target=situation.uid)
    captured = captures_until(attempt, situation.entries, situation.now, situation.now)
    hold = hold_until(situation, attempt, step.until, balances((*situation.entries, *captured)))
    entries = renewal_entries(attempt, situation.entries, hold, situation.now)
    return replace(intended, written=Written(entries=entries))


def _grace(outside: Outside, situation: Situation) -> Mapping[str, Any]:
    return {"grace_seconds": int(situation.rules.quiesce_grace / timedelta(seconds=1))}


_MAKERS: dict[type, Callable[..., Intended]] = {
    Launch: _launch,
    CreateDisk: _create_disk,
    DropEmptyDisk: _drop_disk,
    AttachHome: _attach,
    DetachHome: _detach,
    SaveHome: _save,
    PushSecrets: _push,
    Renew: _renew,
    HandOverKeys: _on_machine(StepKind.HAND_OVER_KEYS, lambda outside, situation: {}),
    Quiesce: _on_machine(StepKind.QUIESCE, _grace),
    Release: _on_machine(StepKind.RELEASE, lambda outside, situation: {}),
    RestoreDisk: _restore,
    DropRevision: _drop_revision,
    GrowDisk: _grow,
    DeleteDisk: _delete_disk,
}


def _plain(
    outside: Outside, situation: Situation, kind: StepKind, *, provider: str, request: Mapping[str, Any], target: str, try_number: int = 1
) -> Intended:
    intent = Intent(
        id=outside.ids.new_uid(),
        object_uid=situation.uid,
        address=situation.record.address,
        target_uid=target,
        attempt_uid=situation.status.attempt_uid,
        step=kind,
        provider=provider,
        token="",
        try_number=try_number,
        request_digest=digest({"step": str(kind), **request}),
        request=request,
        opened_at=situation.now,
    )
    return Intended(intent=_retokened(situation, intent, try_number))


def _retokened(situation: Situation, intent: Intent, try_number: int) -> Intent:
    token = client_token(situation.state_id, intent.target_uid, intent.attempt_uid, try_number, intent.request_digest)
    return replace(intent, token=token, try_number=try_number)


def _ownership(outside: Outside, situation: Situation, *, of_home: bool = False) -> Ownership:
    record = situation.home.record if of_home and situation.home is not None else situation.record
    return Ownership(
        state_id=situation.state_id,
        project=situation.project,
        object_uid=record.uid,
        address=str(record.address),
        attempt_uid="" if of_home else situation.status.attempt_uid,
        owner=outside.owner,
    )


def _attempt(situation: Situation) -> Attempt:
    assert situation.attempt is not None, "only an object with an Attempt comes here"
    return situation.attempt


def _machine_id(situation: Situation) -> str:
    machine = _attempt(situation).machine
    assert machine is not None, "only an Attempt with a machine comes here"
    return machine.id
