"""Comparing with a reviewed plan before any provider is asked refuses nothing that the whole comparison would take."""

from __future__ import annotations

from dataclasses import dataclass, replace

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from support.planning import HOME, LAB, applied, document, market, offer, running, with_status, workspace, world

from nodusctl.base.ids import Address
from nodusctl.engine.former_defaults import former_defaults
from nodusctl.plan.actions import Verb
from nodusctl.plan.hashing import plan_hash
from nodusctl.plan.plan import AllowFlags, Plan
from nodusctl.planner.as_reviewed import as_reviewed
from nodusctl.planner.base_moved import BaseFacts, BaseWork
from nodusctl.planner.build import build_plan
from nodusctl.planner.world import OutsideFacts, World
from nodusctl.state.snapshot import Snapshot
from nodusctl.state.status import Phase

NIGHT = Address("workspace", "night")
_VOLUME = document("Volume", HOME.name, "size: 50Gi")


@dataclass(frozen=True)
class Files:
    """What the files say, and what the person allows. ``lab`` runs; ``night`` was passed over for its price."""

    lab: str = "idleTimeout: 1h"
    night: str = "idleTimeout: 1h"
    has_new: bool = False
    restarts: bool = False
    has_base: bool = False

    @property
    def texts(self) -> tuple[str, ...]:
        new = (workspace("new"),) if self.has_new else ()
        nightly = (workspace("night", f"ephemeral: true, {self.night}"),) if self.night else ()
        return (_VOLUME, workspace("lab", f"volume: {HOME.name}, {self.lab}"), *nightly, *new)


@dataclass(frozen=True)
class Answers:
    """What the providers say."""

    rate: str = "0.20"
    is_reshaped: bool = False


FILES = st.builds(
    Files,
    lab=st.sampled_from(["idleTimeout: 1h", "idleTimeout: 2h", "state: Stopped", "image: nodus/workspace-rocm"]),
    night=st.sampled_from(["idleTimeout: 1h", "idleTimeout: 2h", ""]),
    has_new=st.booleans(),
    restarts=st.booleans(),
    has_base=st.booleans(),
)
ANSWERS = st.builds(Answers, rate=st.sampled_from(["0.20", "0.21", "0.90"]), is_reshaped=st.booleans())


def stored() -> Snapshot:
    """``lab`` is up, and ``night`` wasn't started for its price."""
    state = running(applied(*Files().texts), LAB)
    return with_status(state, NIGHT, phase=Phase.STOPPED, reason="PriceMoved")


STATE = stored()


def seen(files: Files, answers: Answers) -> World:
    base = BaseFacts(
        ref="origin/main", commit="c", work={NIGHT: BaseWork(address=NIGHT, commit="c", subject="Remove night", file="n.yaml")}
    )
    reshaped = {LAB: (("memory", "16Gi", "32Gi"),)} if answers.is_reshaped else {}
    return world(
        *files.texts,
        snapshot=STATE,
        markets=(market(offer("cpu-4c-16g-us", answers.rate)),),
        outside=OutsideFacts(reshaped=reshaped),
        allow=AllowFlags(max_deletes=3, restarts=(LAB,) if files.restarts else ()),
        base=base if files.has_base else None,
    )


def planned(files: Files, answers: Answers) -> Plan:
    return build_plan(seen(files, answers), former_defaults)


def unasked(files: Files, reviewed: Plan) -> Plan:
    """What is compared before any provider is asked: nothing a provider said is there."""
    here = replace(seen(files, Answers()), markets=(), outside=OutsideFacts())
    return as_reviewed(here, reviewed, former_defaults)


@given(FILES, ANSWERS, FILES, ANSWERS)
@settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.too_slow])
def test_what_the_whole_comparison_takes_is_never_refused_before_it(then: Files, said_then: Answers, now: Files, said_now: Answers) -> None:
    reviewed = planned(then, said_then)
    if plan_hash(planned(now, said_now)) == plan_hash(reviewed):
        assert plan_hash(unasked(now, reviewed)) == plan_hash(reviewed)


@given(FILES, ANSWERS)
@settings(max_examples=100, deadline=None, suppress_health_check=[HealthCheck.too_slow])
def test_unchanged_files_are_never_refused_whatever_the_providers_said(files: Files, said: Answers) -> None:
    reviewed = planned(files, said)
    assert plan_hash(unasked(files, reviewed)) == plan_hash(reviewed)


CHANGED = [Files(lab="idleTimeout: 2h"), Files(night="idleTimeout: 2h"), Files(night=""), Files(has_new=True), Files(restarts=True)]


@pytest.mark.parametrize("said", [Answers(), Answers(rate="0.90"), Answers(is_reshaped=True), Answers("0.90", is_reshaped=True)])
@pytest.mark.parametrize("now", CHANGED)
def test_a_change_of_the_files_shows_without_any_provider(now: Files, said: Answers) -> None:
    reviewed = planned(Files(lab="maxCostUSD: '5.00'"), said)
    assert plan_hash(unasked(now, reviewed)) != plan_hash(reviewed)


def test_the_cases_only_a_provider_can_tell_do_come_up() -> None:
    """Else the properties above would say nothing of them."""
    dearer = planned(Files(), Answers(rate="0.90"))
    assert [(one.verb, one.address) for one in dearer.actions] == [(Verb.UPDATE, NIGHT)]
    assert [one.verb for one in planned(Files(), Answers(is_reshaped=True)).actions] == [Verb.RESTART]
