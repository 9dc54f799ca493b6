"""Properties of plans that hold for every spec: apply then plan is empty, and the exit code is what the summary says."""

from __future__ import annotations

from typing import Any

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from support.drawn_specs import RUN_NOWHERE, RUN_ON_MACHINES, resource_of, written
from support.planning import LAB, NOW, after, applied, plan, running, workspace

from nodusctl.base.exits import ExitCode
from nodusctl.plan.file import read_plan, write_plan
from nodusctl.plan.hashing import plan_hash
from nodusctl.render.plan_text import summary_line
from nodusctl.resources.resource import Resource
from nodusctl.state.records import Record
from nodusctl.state.snapshot import Snapshot, Standing
from nodusctl.state.status import ObjectStatus

_GPU = st.sampled_from(['"L4"', '"H100:8"', "{type: [H100], count: 1}"])
_FIELDS: dict[str, st.SearchStrategy[Any]] = {
    "state": st.sampled_from(["Running", "Stopped"]),
    "image": st.sampled_from(["nodus/workspace-cpu", "nodus/workspace-rocm"]),
    "resources": st.one_of(
        st.builds(
            "{{cpu: {}, memory: {}}}".format, st.sampled_from(["1", "4", "4000m", '"2"']), st.sampled_from(["1Gi", "16384Mi", "16Gi"])
        ),
        _GPU.map("{{gpu: {}}}".format),
    ),
    "idleTimeout": st.sampled_from(["0s", "60m", "1h", "90m"]),
    "maxCostUSD": st.sampled_from(['"5"', '"5.00"', '"900.5"']),
    "tools": st.sampled_from(["[SSH]", "[SSH, VSCode]"]),
    "env": st.sampled_from(["[]", "[{name: A, value: x}]", "[{name: B, value: y}, {name: A, value: x}]"]),
    "placement": st.sampled_from(["{profile: Cost}", "{regions: [us]}", "{profile: Speed, interruptible: Allow}"]),
    "schedule": st.just('{readyBy: "2027-01-01T09:00:00Z", stopAt: "2027-01-01T17:00:00Z"}'),
}
SPECS = st.fixed_dictionaries({}, optional=_FIELDS).map(
    lambda chosen: ", ".join(["ephemeral: true", *(f"{key}: {value}" for key, value in chosen.items())])
)
_QUICK = settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.too_slow])


@given(SPECS)
@_QUICK
def test_a_plan_after_apply_is_empty(spec: str) -> None:
    state = applied(workspace(spec=spec))
    again = plan(workspace(spec=spec), snapshot=state)
    assert again.actions == () and again.exit_code(is_detailed=True) in {ExitCode.DONE, ExitCode.BLOCKED}


@given(RUN_NOWHERE)
@_QUICK
def test_a_plan_after_apply_is_empty_of_what_runs_nowhere_too(document: tuple[str, dict[str, Any]]) -> None:
    text = written(*document)
    made = plan(text)
    assert made.reasons == () and len(made.actions) == 1
    again = plan(text, snapshot=after(made))
    assert again.actions == () and again.exit_code(is_detailed=True) is ExitCode.DONE


@given(RUN_NOWHERE | RUN_ON_MACHINES)
@_QUICK
def test_every_default_written_out_in_another_spelling_is_no_change(document: tuple[str, dict[str, Any]]) -> None:
    kind, spec = document
    first = resource_of(kind, spec)
    state = _recorded(first)
    assert plan(written(kind, spec), snapshot=state).actions == ()
    assert plan(written(kind, first.written), snapshot=state).actions == ()
    assert plan(written(kind, first.spec), snapshot=state).actions == ()


def _recorded(one: Resource) -> Snapshot:
    """A state that has it as it was written, whatever a plan would say against starting it."""
    record = Record(
        uid="uid-x",
        address=one.address,
        generation=1,
        created_at=NOW,
        spec=one.spec,
        applied=one.written,
        source=one.source,
    )
    return Snapshot(lineage="a", serial=1, standings={one.address: Standing(record=record, status=ObjectStatus())})


@given(SPECS, SPECS)
@_QUICK
def test_a_plan_after_a_change_is_empty_unless_the_change_was_blocked(before: str, now: str) -> None:
    state = running(applied(workspace(spec=before)), LAB)
    made = plan(workspace(spec=now), snapshot=state)
    again = plan(workspace(spec=now), snapshot=applied(workspace(spec=now), snapshot=state))
    assert again.actions == () or made.reasons


@given(SPECS, SPECS)
@_QUICK
def test_changes_show_in_the_exit_code_if_and_only_if_they_show_in_the_summary(before: str, now: str) -> None:
    made = plan(workspace(spec=now), snapshot=applied(workspace(spec=before)))
    has_counts = any(made.counts.values())
    assert has_counts == made.has_changes == (not summary_line(made).startswith("No changes"))
    assert made.exit_code(is_detailed=False) is (ExitCode.BLOCKED if made.reasons else ExitCode.DONE)
    wanted = ExitCode.BLOCKED if made.reasons else ExitCode.CHANGES if has_counts else ExitCode.DONE
    assert made.exit_code(is_detailed=True) is wanted


@given(SPECS, SPECS)
@_QUICK
def test_a_plan_survives_its_file_and_keeps_its_hash(before: str, now: str) -> None:
    made = plan(workspace(spec=now), snapshot=applied(workspace(spec=before)))
    read = read_plan(write_plan(made))
    assert read == made and plan_hash(read) == plan_hash(made)
