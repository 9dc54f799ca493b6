"""The intent of a launch: the most that is ever committed at once."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from nodusctl.attempts.events import TermsFrozen
from nodusctl.attempts.intents import StepKind
from nodusctl.base.quantities import quantity_milli, quantity_units
from nodusctl.executor.booting import boot_name, kept_document
from nodusctl.executor.intended import HOME_MOUNT, Intended, attempt_of, ownership, plain, served_tools
from nodusctl.executor.outside import Outside
from nodusctl.lifecycle.edges import Bound, Edge, edge_of
from nodusctl.lifecycle.funding import held_until
from nodusctl.lifecycle.money import hold_for_launch
from nodusctl.lifecycle.renewing import idle_seconds
from nodusctl.lifecycle.situation import Situation
from nodusctl.lifecycle.steps import (
    Launch,
)
from nodusctl.lifecycle.volume_outcomes import with_holder
from nodusctl.lifecycle.written import Written
from nodusctl.ports.boot import BootPlan
from nodusctl.state.status import ObjectStatus
from nodusctl.state.terms import Terms


def launch(outside: Outside, situation: Situation, step: Launch) -> Intended:
    """The machine, with its first-boot document, its terms, its hold and its edge."""
    attempt = attempt_of(situation)
    terms, try_number = step.terms, attempt.try_number + 1
    edge = edge_of(situation, terms)
    edge_seconds = int(edge.runs_for.total_seconds())
    status, durable_sealed = _with_durable_key(outside, situation)
    boot, sealed, boot_public = _boot_document(outside, situation, terms, edge_seconds, try_number)
    request = _launch_request(outside, situation, terms, edge_seconds, boot)
    intended = plain(
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
    attempt = attempt_of(situation)
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


def _launch_request(outside: Outside, situation: Situation, terms: Terms, edge_seconds: int, boot: str) -> dict[str, Any]:
    spec = situation.record.spec
    home = situation.home.standing.disk_id if situation.home else ""
    platform = situation.platforms[terms.provider]
    disks = [{"disk_id": home, "mount_path": HOME_MOUNT}] if home and platform.attaches_at_launch else []
    floors = spec.get("resources") or {}
    floor = floors.get("disk")
    return {
        "name": ownership(outside, situation).machine_name,
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
        "tags": dict(ownership(outside, situation).tags()),
        "boot_sha256": hashlib.sha256(boot.encode()).hexdigest(),
    }


def _egress(spec: Mapping[str, Any]) -> dict[str, Any]:
    egress = (spec.get("network") or {}).get("egress") or {}
    return {
        "policy": str(egress.get("policy") or "Open"),
        "allow": [str(name) for name in egress.get("allow") or ()],
        "presets": [str(name) for name in egress.get("presets") or ()],
    }
