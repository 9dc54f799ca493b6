"""Worlds for planner tests: YAML and a Snapshot in, a Plan out, and the Snapshot that applying it would leave behind."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

from nodusctl.base.ids import Address, CountedIds
from nodusctl.base.money import Money
from nodusctl.documents.reading import load_documents
from nodusctl.engine.former_defaults import former_defaults
from nodusctl.plan.hashing import plan_hash
from nodusctl.plan.plan import AllowFlags, Basis, Plan
from nodusctl.planner.build import build_plan
from nodusctl.planner.records import records_after
from nodusctl.planner.world import Market, Reach, World
from nodusctl.pricing.book import PriceBook
from nodusctl.provider.contract import BillingEnd, BootForm, Description, SelfStop
from nodusctl.provider.offers import Accelerator, Availability, Offer, Quote
from nodusctl.resources.decode import decode
from nodusctl.resources.resource import Resource
from nodusctl.state.records import PutRecord
from nodusctl.state.snapshot import Snapshot, Standing
from nodusctl.state.status import Holder, ObjectStatus, Phase, SavedRevision, VolumeStanding

NOW = datetime(2026, 10, 26, 7, 0, tzinfo=UTC)
GIB = 1024**3

WS = """
apiVersion: nodus.dev/v1
kind: Volume
metadata: {name: lab-home}
spec: {size: 50Gi}
---
apiVersion: nodus.dev/v1
kind: Workspace
metadata: {name: lab}
spec:
  image: nodus/workspace-cpu
  resources: {cpu: 4, memory: 16Gi}
  volume: lab-home
  idleTimeout: 1h
  maxCostUSD: "5.00"
"""
LAB, HOME = Address("workspace", "lab"), Address("volume", "lab-home")


def workspace(name: str = "lab", spec: str = "ephemeral: true", metadata: str = "") -> str:
    """One Workspace document; ``spec`` and ``metadata`` are flow mappings without their braces."""
    more = f", {metadata}" if metadata else ""
    return f"apiVersion: nodus.dev/v1\nkind: Workspace\nmetadata: {{name: {name}{more}}}\nspec: {{{spec}}}\n"


def document(kind: str, name: str, spec: str = "", metadata: str = "") -> str:
    """One document of any kind."""
    more = f", {metadata}" if metadata else ""
    return f"apiVersion: nodus.dev/v1\nkind: {kind}\nmetadata: {{name: {name}{more}}}\nspec: {{{spec}}}\n"


def resources(*texts: str) -> tuple[Resource, ...]:
    """Decoded documents; a fault fails the test with its words."""
    loaded = load_documents([("ws.yaml", "---\n".join(texts).encode())])
    decoded = decode(loaded.documents, clock_now=None, project="lab")
    faults = [one for one in (*loaded.diagnostics, *decoded.diagnostics) if one.is_error]
    assert not faults, faults
    return decoded.resources


def described(**changes: Any) -> Description:
    """A provider much like the default simulated world."""
    base = Description(
        type="simulated",
        version="1",
        account="sim",
        create_is_idempotent=True,
        list_lag_bound=timedelta(seconds=120),
        self_stop=SelfStop.ENDS_BILLING,
        billing_ends_at=BillingEnd.STOPPED,
        stop_bound=timedelta(seconds=60),
        boot_form=BootForm.BUNDLE,
    )
    return replace(base, **changes)


def offer(offering: str, rate: str | None, *, zone: str = "us-1a", **changes: Any) -> Offer:
    """An offer by its id; ``rate`` None has no price."""
    fields = offering.split("-")
    region = fields[-1]
    quote = Quote(rate_usd_per_hour=Money.parse(rate), observed_at=NOW - timedelta(hours=1), source="world") if rate else None
    gpu: dict[str, Any] = {"vcpu_milli": 4000, "memory_bytes": 16 * GIB}
    if fields[0] == "cpu":
        gpu = {"vcpu_milli": int(fields[1][:-1]) * 1000, "memory_bytes": int(fields[2][:-1]) * GIB}
    else:
        card = Accelerator(id="-".join(fields[:-3]), family=fields[0], vendor="nvidia", memory_bytes=int(fields[-3][:-1]) * GIB)
        gpu |= {"accelerator": card, "gpu_count": int(fields[-2][1:])}
    values: dict[str, Any] = {
        "provider": "sim",
        "id": offering,
        "instance_type": offering,
        "region": region,
        "zone": zone,
        "region_class": region,
        "location": f"sim/{zone}",
        "availability": Availability.AVAILABLE,
        "quote": quote,
        "storage_usd_per_gib_month": Money.parse("0.10"),
        "startup_p50": timedelta(seconds=45),
        "startup_p90": timedelta(seconds=60),
        "minimum_seconds": 60,
        **gpu,
    }
    return Offer(**{**values, **changes})


OFFERS = (
    offer("cpu-4c-16g-us", "0.20"),
    offer("cpu-4c-16g-us", "0.20", zone="us-1b"),
    offer("cpu-8c-32g-us", "0.40"),
    offer("l4-24g-x1-us", "1.10"),
    offer("h100-sxm-80g-x1-us", "4.40"),
    offer("h100-sxm-80g-x8-us", "35.20"),
    offer("h100-sxm-80g-x8-eu", "38.72", zone="eu-1a"),
)


def market(*offers: Offer, why_not: str = "", instance: str = "sim", **description: Any) -> Market:
    """What one provider answered."""
    return Market(instance=instance, description=described(**description), offers=offers if not why_not else (), why_not=why_not)


def world(*texts: str, snapshot: Snapshot | None = None, **changes: Any) -> World:
    """A World over ``texts``; any field of World may be given."""
    state = snapshot or Snapshot()
    decoded = resources(*texts) if texts else ()
    values: dict[str, Any] = {
        "basis": Basis(
            project="lab", lineage=state.lineage or "new", serial=state.serial, state_url="sqlite:///x", is_fresh_state=not state.lineage
        ),
        "allow": AllowFlags(max_deletes=3),
        "snapshot": state,
        "now": NOW,
        "plan_id": "plan-1",
        "created_by": "you@example",
        "resources": decoded,
        "reach": Reach(written=frozenset(one.address for one in decoded)),
        "markets": (market(*OFFERS),),
        "book": PriceBook.of("test", ()),
    }
    return World(**{**values, **changes})


def plan(*texts: str, snapshot: Snapshot | None = None, **changes: Any) -> Plan:
    """The plan of such a World."""
    return build_plan(world(*texts, snapshot=snapshot, **changes), former_defaults)


def after(made: Plan, snapshot: Snapshot | None = None, now: datetime = NOW) -> Snapshot:
    """The Snapshot once the plan's records are written (nothing outside has happened)."""
    state = snapshot or Snapshot()
    skipped = {reason.address for reason in made.reasons if reason.address is not None}
    changed = records_after(
        made, state, CountedIds(f"{made.id}/{state.serial}"), plan_hash=plan_hash(made), by="you@example", now=now, skipped=skipped
    )
    by_uid = {standing.record.uid: standing for standing in state}
    for change in changed.records:
        if isinstance(change, PutRecord):
            former = by_uid.get(change.record.uid)
            standing = replace(former, record=change.record) if former else Standing(record=change.record, status=ObjectStatus())
            by_uid[change.record.uid] = replace(standing, status=changed.statuses.get(change.record.uid, standing.status))
        else:
            by_uid.pop(change.uid)
    return Snapshot(
        lineage=made.basis.lineage,
        serial=state.serial + bool(changed.records),
        standings={standing.record.address: standing for standing in by_uid.values()},
    )


def applied(*texts: str, snapshot: Snapshot | None = None, **changes: Any) -> Snapshot:
    """The Snapshot after planning and applying ``texts``."""
    return after(plan(*texts, snapshot=snapshot, **changes), snapshot)


def with_status(snapshot: Snapshot, address: Address, **changes: Any) -> Snapshot:
    """The same Snapshot with another status of one object."""
    standing = snapshot.standings[address]
    return _with(snapshot, replace(standing, status=replace(standing.status, **changes)))


def with_standing(snapshot: Snapshot, address: Address, **changes: Any) -> Snapshot:
    """The same Snapshot with other money or intents of one object."""
    return _with(snapshot, replace(snapshot.standings[address], **changes))


def with_live(snapshot: Snapshot, address: Address, **fields: Any) -> Snapshot:
    """The same Snapshot after a verb changed fields of the live spec."""
    standing = snapshot.standings[address]
    record = replace(standing.record, spec={**standing.record.spec, **fields}, generation=standing.record.generation + 1)
    return _with(snapshot, replace(standing, record=record))


def with_disk(snapshot: Snapshot, address: Address = HOME, *, holder: Address | None = None, saved_at: datetime | None = None) -> Snapshot:
    """The same Snapshot with a disk behind a Volume, at sim/us-1a."""
    revisions = (SavedRevision(number=1, id="rev-1", saved_at=saved_at, attempt_uid="a1"),) if saved_at else ()
    held = Holder(address=holder, attempt_uid="a1", epoch=1, machine_id="m1") if holder else None
    disk = VolumeStanding(
        provider="sim", location="sim/us-1a", zone="us-1a", disk_id="disk-1", size_bytes=50 * GIB, holder=held, revisions=revisions
    )
    return with_status(snapshot, address, phase=Phase.READY, volume=disk)


def running(snapshot: Snapshot, *addresses: Address) -> Snapshot:
    """The same Snapshot with these Workspaces up."""
    for address in addresses:
        snapshot = with_status(snapshot, address, phase=Phase.RUNNING, observed_generation=1)
    return snapshot


def codes(made: Plan) -> list[str]:
    """Reason codes in order."""
    return [reason.code for reason in made.reasons]


def shown(made: Plan) -> Mapping[str, str]:
    """Address → verb of each Action."""
    return {str(action.address): action.verb.value for action in made.actions}


def _with(snapshot: Snapshot, standing: Standing) -> Snapshot:
    return replace(snapshot, standings={**snapshot.standings, standing.record.address: standing})
