"""The three-way diff: what the file says now, what it said when last applied, and what is live."""

from __future__ import annotations

from typing import Any

import pytest
from support.planning import HOME, LAB, WS, applied, codes, plan, running, shown, with_live, with_status, workspace

from nodusctl.plan.actions import Verb
from nodusctl.plan.changes import ChangeClass
from nodusctl.planner.merging import desired_spec
from nodusctl.state.status import Phase


def merged(written: dict[str, Any], applied_before: dict[str, Any], live: dict[str, Any], **sides: dict[str, Any]) -> dict[str, Any]:
    return desired_spec(
        written=written,
        applied=applied_before,
        live=live,
        defaults=sides.get("defaults", written),
        former_defaults=lambda: sides.get("former", applied_before),
    )


def test_a_written_field_is_desired_whatever_is_live() -> None:
    assert merged({"a": 1}, {"a": 1}, {"a": 2}) == {"a": 1}


def test_an_unwritten_field_that_a_verb_changed_is_left_alone() -> None:
    assert merged({"a": 1}, {"a": 1}, {"a": 1, "state": "Stopped"}) == {"a": 1, "state": "Stopped"}


def test_a_field_removed_from_the_file_goes_back_to_its_default() -> None:
    assert merged({}, {"idle": "2h"}, {"idle": "2h"}, defaults={"idle": "1h"}, former={"idle": "2h"}) == {"idle": "1h"}


def test_a_removed_field_without_a_default_is_absent() -> None:
    assert merged({"a": 1}, {"a": 1, "cap": "5"}, {"a": 1, "cap": "5"}) == {"a": 1}


def test_a_default_that_a_newer_version_adds_is_no_change() -> None:
    new = {"a": 1, "fresh": True}
    assert merged({"a": 1}, {"a": 1}, {"a": 1}, defaults=new, former=new) == {"a": 1}
    assert merged({"a": 2}, {"a": 1}, {"a": 1}, defaults={"a": 2, "fresh": True}, former=new) == {"a": 2}


def test_a_default_that_follows_from_a_changed_field_moves_with_it() -> None:
    written, before = {"gpu": "L4"}, {"cpu": 4}
    live = {"cpu": 4, "image": "cpu-image"}
    sides = {"defaults": {"gpu": "L4", "image": "gpu-image"}, "former": {"cpu": 4, "image": "cpu-image"}}
    assert merged(written, before, live, **sides) == {"gpu": "L4", "image": "gpu-image"}


def test_inside_a_mapping_only_what_the_file_wrote_is_taken_back() -> None:
    live = {"placement": {"profile": "Speed", "regions": ["us"]}}
    sides = {"defaults": {"placement": {"profile": "Balanced"}}, "former": {"placement": {"profile": "Balanced", "regions": ["us"]}}}
    assert merged({}, {"placement": {"regions": ["us"]}}, live, **sides) == {"placement": {"profile": "Speed"}}


def test_an_equal_file_after_apply_is_no_change() -> None:
    made = plan(WS, snapshot=applied(WS))
    assert not made.has_changes and not made.reasons


@pytest.mark.parametrize(
    ("before", "now"),
    [
        ("resources: {memory: 16384Mi}", "resources: {memory: 16Gi}"),
        ("resources: {cpu: 4}", 'resources: {cpu: "4"}'),
        ("resources: {cpu: 4}", "resources: {cpu: 4000m}"),
        ("idleTimeout: 60m", "idleTimeout: 1h"),
        ('maxCostUSD: "5"', 'maxCostUSD: "5.00"'),
        ("env: [{name: A, value: x}, {name: B, value: y}]", "env: [{name: B, value: y}, {name: A, value: x}]"),
        ("resources: {gpu: L4}", "resources: {gpu: {type: [L4], count: 1}}"),
    ],
)
def test_another_spelling_of_an_equal_value_is_no_change(before: str, now: str) -> None:
    snapshot = applied(workspace(spec=f"ephemeral: true, {before}"))
    assert shown(plan(workspace(spec=f"ephemeral: true, {now}"), snapshot=snapshot)) == {}


def test_writing_a_default_out_is_no_change() -> None:
    snapshot = applied(workspace())
    assert shown(plan(workspace(spec="ephemeral: true, idleTimeout: 1h"), snapshot=snapshot)) == {}


def test_a_stop_by_verb_stays_where_the_file_says_nothing_of_state() -> None:
    snapshot = with_live(applied(WS), LAB, state="Stopped")
    assert shown(plan(WS, snapshot=snapshot)) == {}


def test_a_state_the_file_writes_is_shown_as_a_start() -> None:
    text = workspace(spec="ephemeral: true, state: Running")
    stopped = with_status(with_live(applied(text), LAB, state="Stopped"), LAB, phase=Phase.STOPPED)
    made = plan(text, snapshot=stopped)
    (action,) = made.actions
    assert action.change_class is ChangeClass.STARTS
    assert [(change.before, change.after) for change in action.changes] == [("Stopped", "Running")]
    assert action.terms


def test_an_idle_stop_is_no_diff() -> None:
    snapshot = with_status(applied(WS), LAB, phase=Phase.STOPPED, stop_reason="Idle")
    assert shown(plan(WS, snapshot=snapshot)) == {}


def test_a_changed_image_waits_for_the_next_start() -> None:
    snapshot = running(applied(workspace()), LAB)
    (action,) = plan(workspace(spec="ephemeral: true, image: nodus/workspace-rocm"), snapshot=snapshot).actions
    assert action.change_class is ChangeClass.NEXT_START


def test_adding_a_gpu_changes_the_default_image_with_it() -> None:
    snapshot = applied(workspace(spec="ephemeral: true, resources: {cpu: 4}"))
    (action,) = plan(workspace(spec="ephemeral: true, resources: {gpu: L4}"), snapshot=snapshot).actions
    changed = {change.path: change.after for change in action.changes}
    assert changed["spec.image"] == "nodus/workspace-pytorch-cuda"


def test_removing_a_named_key_of_a_running_workspace_ends_sessions() -> None:
    keys = "ephemeral: true, sshKeys: [ann, bob]"
    snapshot = running(applied(workspace(spec=keys)), LAB)
    (action,) = plan(workspace(spec="ephemeral: true, sshKeys: [ann]"), snapshot=snapshot).actions
    assert action.change_class is ChangeClass.ENDS_SESSION


def test_only_the_schedule_edited_starts_nothing() -> None:
    stopped = with_status(applied(workspace()), LAB, phase=Phase.STOPPED, stop_reason="Idle")
    made = plan(workspace(spec='ephemeral: true, schedule: {stopAt: "2026-10-26T20:00:00Z"}'), snapshot=stopped)
    assert made.actions[0].change_class is ChangeClass.FREE


def test_labels_are_compared_and_change_no_generation() -> None:
    snapshot = applied(workspace())
    made = plan(workspace(metadata="labels: {team: vision}"), snapshot=snapshot)
    assert [change.path for change in made.actions[0].changes] == ["metadata.labels[team]"]
    state = applied(workspace(metadata="labels: {team: vision}"), snapshot=snapshot)
    assert state.standings[LAB].record.generation == 1
    assert shown(plan(workspace(), snapshot=state)) == {"workspace/lab": "update"}


def test_an_annotation_written_by_a_verb_is_left_alone() -> None:
    snapshot = applied(workspace(), snapshot=applied(workspace()), allow=plan(workspace()).allow)
    record = snapshot.standings[LAB].record
    assert record.applied_annotations == {}
    assert shown(plan(workspace(), snapshot=snapshot)) == {}


def test_several_changes_of_one_object_are_one_action_of_the_gravest_class() -> None:
    snapshot = running(applied(WS), LAB)
    text = WS.replace("idleTimeout: 1h", "idleTimeout: 2h").replace("workspace-cpu", "workspace-rocm")
    (action,) = plan(text, snapshot=snapshot).actions
    assert action.verb is Verb.UPDATE
    assert {change.path for change in action.changes} == {"spec.idleTimeout", "spec.image"}
    assert action.change_class is ChangeClass.NEXT_START


def test_an_ignored_field_keeps_its_live_value_and_is_counted() -> None:
    from nodusctl.planner.ignoring import parse_ignored

    snapshot = applied(WS)
    text = WS.replace("idleTimeout: 1h", "idleTimeout: 2h")
    rule = parse_ignored("workspace/lab spec.idleTimeout", "set by hand")
    made = plan(text, snapshot=snapshot, ignored=(rule,))
    assert not made.has_changes and made.ignored_fields == 1
    assert shown(plan(text, snapshot=snapshot, ignored=(parse_ignored("volume/other spec.size", "x"),))) == {"workspace/lab": "update"}


def test_an_immutable_field_is_a_reason_that_names_both_values() -> None:
    snapshot = applied(WS)
    made = plan(WS.replace("volume: lab-home", "ephemeral: true"), snapshot=snapshot)
    assert set(codes(made)) == {"FieldImmutable"}
    assert {reason.field for reason in made.reasons} == {"spec.volume", "spec.ephemeral"}


def test_a_cap_may_be_raised_or_removed_and_never_lowered() -> None:
    snapshot = applied(WS)
    assert codes(plan(WS.replace("5.00", "6.00"), snapshot=snapshot)) == []
    assert codes(plan(WS.replace('  maxCostUSD: "5.00"\n', ""), snapshot=snapshot)) == []
    lowered = plan(WS.replace("5.00", "4.99"), snapshot=snapshot)
    assert codes(lowered) == ["Invalid"]
    assert "$5.00" in lowered.reasons[0].message and "$4.99" in lowered.reasons[0].message


def test_a_volume_grows_and_never_shrinks() -> None:
    snapshot = applied(WS)
    assert codes(plan(WS.replace("50Gi", "60Gi"), snapshot=snapshot)) == []
    assert codes(plan(WS.replace("50Gi", "40Gi"), snapshot=snapshot)) == ["Invalid"]
    assert HOME in snapshot.standings


@pytest.mark.parametrize(
    ("schedule", "windows", "phase"),
    [
        ('{readyBy: "2026-10-26T09:00:00Z", stopAt: "2026-10-26T17:00:00Z"}', "", Phase.STOPPED),
        ('{readyBy: "2026-10-26T07:15:00Z", stopAt: "2026-10-26T17:00:00Z"}', "", Phase.PENDING),
        ('{stopAt: "2026-10-26T17:00:00Z"}', "", Phase.PENDING),
        ('{stopAt: "2026-10-26T06:00:00Z"}', "", Phase.STOPPED),
        ("", "Mon-Fri 09:00-17:00 Europe/Madrid", Phase.STOPPED),
        ("", "Mon-Fri 08:15-17:00 Europe/Madrid", Phase.PENDING),
        ("", "Sat-Sun 00:00-24:00 UTC", Phase.STOPPED),
        ("", "Sun 22:00-08:00 UTC", Phase.PENDING),
        ("", "Tue 09:00-10:00 UTC; Mon 06:00-08:00 UTC", Phase.PENDING),
    ],
)
def test_an_object_whose_windows_are_all_closed_is_admitted_stopped(schedule: str, windows: str, phase: Phase) -> None:
    # Now is Monday 07:00 UTC, 08:00 in Madrid.
    spec = "ephemeral: true" + (f", schedule: {schedule}" if schedule else "")
    metadata = f'annotations: {{nodus.dev/windows: "{windows}"}}' if windows else ""
    assert applied(workspace(spec=spec, metadata=metadata)).standings[LAB].status.phase is phase


def test_state_running_outside_every_window_starts_nothing_now() -> None:
    text = workspace(spec='ephemeral: true, state: Running, schedule: {readyBy: "2026-10-26T09:00:00Z"}')
    stopped = with_status(with_live(applied(text), LAB, state="Stopped"), LAB, phase=Phase.STOPPED)
    (action,) = plan(text, snapshot=stopped).actions
    assert action.change_class is ChangeClass.FREE
    assert not applied(text, snapshot=stopped).standings[LAB].status.start_is_asked
