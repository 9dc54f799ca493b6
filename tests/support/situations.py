"""Hand-made situations: one Workspace ``lab`` with the home ``home`` at one moment, each part given in words a test can read."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

from nodusctl.attempts.attempt import Attempt, AttemptPhase, RefusedTry, Timings
from nodusctl.attempts.intents import Intent, StepKind
from nodusctl.base.ids import Address
from nodusctl.base.money import Money
from nodusctl.lifecycle.situation import HomeVolume, Platform, Sightings, Situation
from nodusctl.provider.agent import AgentAnswer, ToolAnswer
from nodusctl.provider.machines import Machine, MachineState
from nodusctl.state.records import Record
from nodusctl.state.status import Holder, ObjectStatus, Phase, SavedRevision, VolumeStanding
from nodusctl.state.terms import Approval, Terms, ceiling

NOW = datetime(2026, 3, 2, 9, 0, tzinfo=UTC)
LAB, HOME = Address("workspace", "lab"), Address("volume", "home")
LAB_UID, HOME_UID, ATTEMPT_UID = "uid-lab", "uid-home", "uid-attempt"


def terms(offering: str = "cpu-4c-16g-us", zone: str = "us-1a", **changes: Any) -> Terms:
    """Terms at the provider ``sim`` for $0.20 an hour."""
    rate = Money.parse(changes.pop("rate", "0.20"))
    made = Terms(
        offer_key=f"sim/{zone}/{offering}",
        offering=offering,
        provider="sim",
        instance_type="sim.c4",
        region="us-1" if zone.startswith("us") else "eu-1",
        zone=zone,
        location=f"acct/{zone}",
        region_class=zone[:2],
        rate_usd_per_hour=rate,
        ceiling_usd_per_hour=ceiling(rate),
        price_origin="quoted",
        price_source="test",
        price_observed_at=NOW,
        book_version="b1",
        increment_seconds=1,
        minimum_seconds=60,
        stop_bound=timedelta(seconds=60),
        startup_p50=timedelta(seconds=45),
        startup_p90=timedelta(seconds=60),
    )
    return replace(made, **changes)


def approval(*approved: Terms, at: datetime = NOW) -> Approval:
    """An approval of these terms, in this order."""
    return Approval(terms=approved or (terms(),), plan_hash="h", approved_at=at, approved_by="ada")


def record(**changes: Any) -> Record:
    """The record of ``lab``; ``spec`` is added to a small one."""
    spec = {"state": "Running", "volume": "home", "tools": ["SSH"], "idleTimeout": "1h", **changes.pop("spec", {})}
    made = Record(uid=LAB_UID, address=LAB, generation=1, created_at=NOW, spec=spec, approval=approval())
    return replace(made, **changes)


def platform(**changes: Any) -> Platform:
    """The default simulated platform."""
    made = Platform(
        instance="sim",
        holds_volumes=True,
        create_is_idempotent=True,
        list_lag_bound=timedelta(seconds=120),
        attaches_at_launch=False,
        disk_outlives_machine=True,
        self_stop_ends_billing=True,
    )
    return replace(made, **changes)


def machine(state: MachineState = MachineState.RUNNING, **changes: Any) -> Machine:
    """The machine ``i-1``, made at NOW."""
    return replace(Machine(id="i-1", state=state, created_at=NOW, billing_started_at=NOW, armed_until=NOW + timedelta(hours=8)), **changes)


def attempt(**changes: Any) -> Attempt:
    """A queued Attempt without terms."""
    made = Attempt(
        uid=ATTEMPT_UID,
        owner=LAB,
        owner_uid=LAB_UID,
        name="lab-1",
        slot="0",
        epoch=1,
        phase=AttemptPhase.QUEUED,
        timings=Timings(queued_at=NOW),
    )
    return replace(made, **changes)


def launched(*, ready: bool = False, registered: bool = True, attached: bool = True, pushed: bool = True, **changes: Any) -> Attempt:
    """An Attempt with a machine, accepted at NOW."""
    timings = Timings(
        queued_at=NOW,
        acquired_at=NOW,
        billing_started_at=NOW,
        registered_at=NOW if registered or ready else None,
        ready_at=NOW if ready else None,
    )
    made = attempt(
        phase=AttemptPhase.RUNNING if ready else AttemptPhase.PROVISIONING,
        timings=timings,
        terms=terms(),
        token="nodus-token",
        try_number=1,
        machine=machine(),
        attached_disks=("d-1",) if attached else (),
        pushed_versions={} if pushed and (registered or ready) else None,
        pushed_keys_digest=situation().login_keys_digest,
        edge_at=NOW + timedelta(hours=8),
    )
    return replace(made, **changes)


def stopping(made: Attempt, **timings: Any) -> Attempt:
    """The Attempt, asked to stop at NOW."""
    return replace(made, stop_reason="Owner", timings=replace(made.timings, stop_asked_at=NOW, **timings))


def refused(key: str = "sim/us-1a/cpu-4c-16g-us", code: str = "CapacityUnavailable", scope: str = "zone", **changes: Any) -> RefusedTry:
    """A launch refused at NOW."""
    return replace(RefusedTry(offer_key=key, code=code, scope=scope, message="words of the platform", time=NOW), **changes)


def holder(attempt_uid: str = ATTEMPT_UID, address: Address = LAB) -> Holder:
    """Somebody who has the right to write to the home."""
    return Holder(address=address, attempt_uid=attempt_uid, epoch=1, machine_id="i-1")


def standing(**changes: Any) -> VolumeStanding:
    """A home with a disk in us-1a that nobody holds."""
    made = VolumeStanding(provider="sim", location="acct/us-1a", zone="us-1a", disk_id="d-1", size_bytes=2**30)
    return replace(made, **changes)


def revision(number: int = 1) -> SavedRevision:
    """A verified restore point."""
    return SavedRevision(number=number, id=f"r-{number}", saved_at=NOW, attempt_uid=ATTEMPT_UID)


def home(outside: VolumeStanding | None = None) -> HomeVolume:
    """The home, without a disk unless one is given."""
    volume = Record(uid=HOME_UID, address=HOME, generation=1, created_at=NOW, spec={"size": "1Gi"})
    return HomeVolume(record=volume, status=ObjectStatus(phase=Phase.READY, volume=outside))


def intent(step: StepKind = StepKind.LAUNCH, **changes: Any) -> Intent:
    """An open intent of ``lab``, opened at NOW."""
    made = Intent(
        id="uid-intent",
        object_uid=LAB_UID,
        address=LAB,
        target_uid=LAB_UID,
        attempt_uid=ATTEMPT_UID,
        step=step,
        provider="sim",
        token="nodus-token",
        try_number=1,
        request_digest="digest",
        request={"offer_key": "sim/us-1a/cpu-4c-16g-us", "machine_id": "i-1", "disk_id": "d-1", "location": "acct/us-1a"},
        opened_at=NOW,
    )
    return replace(made, **changes)


def answer(**changes: Any) -> AgentAnswer:
    """A healthy agent's answer: armed for eight hours, SSH up."""
    made = AgentAnswer(
        version="1",
        boot_id="b",
        remaining_seconds=8 * 3600,
        has_secrets=False,
        tools=(ToolAnswer(name="SSH", has_answered=True),),
        ready_at=NOW,
    )
    return replace(made, **changes)


def sightings(seen: Machine | None = None, **changes: Any) -> Sightings:
    """What this pass saw: the running machine, looked at NOW, unless told otherwise."""
    return replace(Sightings(attempt_uid=ATTEMPT_UID, machine=seen or machine(), looked_at=NOW), **changes)


def situation(
    phase: Phase = Phase.PENDING,
    made: Attempt | None = None,
    *,
    status: dict[str, Any] | None = None,
    earlier: Iterable[Attempt] = (),
    platforms: Iterable[Platform] | None = None,
    **changes: Any,
) -> Situation:
    """The Workspace in a phase, with its home's disk made, its spec observed, and nothing seen in this pass."""
    stands = ObjectStatus(phase=phase, observed_generation=1, epoch=1, attempt_uid=made.uid if made else "", host_key="ssh-ed25519 AAAA")
    fields: dict[str, Any] = {
        "now": NOW,
        "project": "default",
        "state_id": "state",
        "record": record(),
        "status": replace(stands, **(status or {})),
        "attempt": made,
        "earlier": tuple(earlier),
        "home": home(standing()),
        "platforms": {one.instance: one for one in (platforms if platforms is not None else (platform(),))},
    }
    return Situation(**(fields | changes))
