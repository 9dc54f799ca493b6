"""An Attempt is a fold of its events: whole or in parts, alone or among others, it comes out the same."""

from __future__ import annotations

from datetime import timedelta

from hypothesis import given as hypothesis_given
from hypothesis import strategies as st
from support import situations as given
from support.situations import ATTEMPT_UID, HOME, LAB, LAB_UID, NOW

from nodusctl.attempts.attempt import Attempt, AttemptPhase, after, fold
from nodusctl.attempts.events import (
    AttemptClosed,
    AttemptQueued,
    BecameReady,
    CapacityEnded,
    DiskAttached,
    DiskDetached,
    EdgeArmed,
    Event,
    HomeSaved,
    KeysHandedOver,
    LaunchAccepted,
    LaunchRefused,
    MachineSeen,
    OutcomeUnknown,
    PhaseChanged,
    ReleaseAsked,
    Remarked,
    StopAsked,
    TermsFrozen,
    WentQuiet,
)
from nodusctl.provider.machines import MachineState, Revision, RevisionState

WHO = {"object_uid": LAB_UID, "attempt_uid": ATTEMPT_UID}
LATER = NOW + timedelta(minutes=1)
QUEUED = AttemptQueued(time=NOW, owner=LAB, name="lab-1", slot="0", epoch=1, **WHO)
FROZEN = TermsFrozen(
    time=NOW, terms=given.terms(), token="nodus-1", try_number=1, bootstrap_host_key="key", edge_at=NOW + timedelta(hours=8), **WHO
)
REFUSED = LaunchRefused(time=LATER, offer_key="sim/us-1a/cpu-4c-16g-us", code="CapacityUnavailable", scope="zone", **WHO)
ACCEPTED = LaunchAccepted(time=LATER, machine=given.machine(MachineState.PENDING), **WHO)
LIFE: tuple[Event, ...] = (
    FROZEN,
    REFUSED,
    FROZEN,
    ACCEPTED,
    MachineSeen(time=LATER, machine=given.machine(), **WHO),
    DiskAttached(time=LATER, volume=HOME, disk_id="d-1", machine_id="i-1", **WHO),
    KeysHandedOver(time=LATER, host_key="durable", **WHO),
    EdgeArmed(time=LATER, until=NOW + timedelta(hours=7), **WHO),
    BecameReady(time=LATER, ready_at=LATER, **WHO),
    OutcomeUnknown(time=LATER, step="release", detail="?", **WHO),
    StopAsked(time=LATER, reason="Idle", **WHO),
    StopAsked(time=LATER, reason="Owner", **WHO),
    WentQuiet(time=LATER, is_quiet=True, **WHO),
    ReleaseAsked(time=LATER, machine_id="i-1", **WHO),
    CapacityEnded(time=LATER, ended_at=LATER, **WHO),
    DiskDetached(time=LATER, volume=HOME, disk_id="d-1", **WHO),
    HomeSaved(time=LATER, volume=HOME, revision=Revision(id="r-1", number=1, state=RevisionState.READY), **WHO),
    PhaseChanged(time=LATER, before="Stopping", after="Stopped", **WHO),
    Remarked(time=LATER, code="CapOverrun", message="m", **WHO),
    AttemptClosed(time=LATER, phase="Succeeded", reason="Idle", **WHO),
)


def folded(*events: Event) -> Attempt:
    (made,) = fold((QUEUED, *events))
    return made


def test_a_whole_life_ends_in_every_fact_of_it() -> None:
    made = folded(*LIFE)
    assert (made.phase, made.stop_reason, made.reason) == (AttemptPhase.SUCCEEDED, "Idle", "Idle")
    assert made.timings.acquired_at == made.timings.billing_started_at == NOW, "the machine's own times, not when we learnt them"
    assert (made.timings.ready_at, made.timings.finished_at, made.timings.deletion_proven_at) == (LATER, LATER, LATER)
    assert (made.host_key, made.edge_at, made.attached_disks) == ("durable", NOW + timedelta(hours=7), ())
    assert made.is_released and not made.is_open
    assert made.home_is_settled and made.quiet_asked and made.release_asked


def test_a_refused_launch_is_a_try_of_the_same_attempt() -> None:
    made = folded(FROZEN, REFUSED)
    assert (made.phase, made.terms, made.token, made.try_number) == (AttemptPhase.QUEUED, None, "", 1)
    assert [one.code for one in made.refusals] == ["CapacityUnavailable"]


def test_a_machine_without_times_of_its_own_counts_from_when_we_learnt_of_it() -> None:
    plain = given.machine(created_at=None, billing_started_at=None)
    made = folded(FROZEN, LaunchAccepted(time=LATER, machine=plain, **WHO))
    assert made.timings.acquired_at == made.timings.billing_started_at == LATER


def test_a_later_report_may_correct_when_billing_began() -> None:
    later = given.machine(billing_started_at=LATER)
    assert folded(FROZEN, ACCEPTED, MachineSeen(time=LATER, machine=later, **WHO)).timings.billing_started_at == LATER


def test_the_first_reason_of_a_stop_is_kept() -> None:
    stops = [StopAsked(time=NOW + timedelta(minutes=minute), reason=reason, **WHO) for minute, reason in enumerate(("Idle", "Owner"))]
    assert folded(*stops).stop_reason == "Idle"


def test_events_of_an_attempt_nobody_queued_are_passed_over() -> None:
    assert fold((FROZEN, ACCEPTED)) == ()


@hypothesis_given(events=st.lists(st.sampled_from(LIFE), max_size=30), cut=st.integers(0, 30))
def test_folding_in_two_parts_is_folding_at_once(events: list[Event], cut: int) -> None:
    whole = folded(*events)
    part = folded(*events[:cut])
    for event in events[cut:]:
        part = after(part, event)
    assert part == whole


@hypothesis_given(st.lists(st.sampled_from(LIFE), max_size=20), st.lists(st.sampled_from(LIFE), max_size=20), st.randoms())
def test_attempts_do_not_touch_each_other(mine: list[Event], others: list[Event], chance: object) -> None:
    from dataclasses import replace
    from random import Random

    assert isinstance(chance, Random)
    foreign = [replace(event, attempt_uid="other") for event in others]
    mixed: list[Event] = []
    left, right = list(mine), list(foreign)
    while left or right:
        source = left if left and (not right or chance.random() < 0.5) else right
        mixed.append(source.pop(0))
    stranger = replace(QUEUED, attempt_uid="other")
    by_uid = {made.uid: made for made in fold((QUEUED, stranger, *mixed))}
    assert by_uid[ATTEMPT_UID] == folded(*mine)
