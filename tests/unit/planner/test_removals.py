"""What is removed, what is kept, and what stops a removal (cli.md, "Files against state")."""

from __future__ import annotations

from datetime import timedelta

from support.planning import HOME, LAB, NOW, WS, after, applied, codes, document, plan, running, shown, with_disk, workspace

from nodusctl.base.ids import Address
from nodusctl.plan.actions import Verb
from nodusctl.plan.changes import ChangeClass
from nodusctl.plan.plan import AllowFlags
from nodusctl.planner.world import Reach, Removal
from nodusctl.state.snapshot import Snapshot

OTHER = workspace("other")


def both() -> Snapshot:
    return applied(WS, OTHER)


def test_an_object_that_left_the_files_is_removed_after_what_it_refers_to_it() -> None:
    made = plan(OTHER, snapshot=both())
    assert [str(action.address) for action in made.actions] == ["workspace/lab", "volume/lab-home"]
    assert {action.verb for action in made.actions} == {Verb.DELETE}


def test_nothing_is_removed_when_some_file_could_not_be_read() -> None:
    written = frozenset({Address("workspace", "other")})
    assert shown(plan(OTHER, snapshot=both(), reach=Reach(written=written, is_read_whole=False))) == {}


def test_a_narrowed_plan_removes_nothing_unless_it_prunes() -> None:
    reach = Reach(written=frozenset({Address("workspace", "other")}), paths=("ws.yaml",))
    assert shown(plan(OTHER, snapshot=both(), reach=reach)) == {}
    pruned = plan(OTHER, snapshot=both(), reach=reach, allow=AllowFlags(max_deletes=3, prunes=True))
    assert set(shown(pruned)) == {"workspace/lab", "volume/lab-home"}


def test_pruning_touches_only_records_whose_source_lies_under_the_path() -> None:
    reach = Reach(written=frozenset({Address("workspace", "other")}), paths=("elsewhere",))
    assert shown(plan(OTHER, snapshot=both(), reach=reach, allow=AllowFlags(max_deletes=3, prunes=True))) == {}


def test_an_object_in_a_file_that_was_not_selected_is_not_absent() -> None:
    written = frozenset({Address("workspace", "other"), LAB, HOME})
    reach = Reach(written=written, paths=("ws.yaml",))
    assert shown(plan(OTHER, snapshot=both(), reach=reach, allow=AllowFlags(max_deletes=3, prunes=True))) == {}


def test_a_volume_with_data_is_kept_and_its_cost_line_stays() -> None:
    snapshot = with_disk(applied(WS, OTHER))
    made = plan(OTHER, snapshot=snapshot)
    assert shown(made) == {"workspace/lab": "delete", "volume/lab-home": "keep"}
    line = next(line for line in made.costs if line.address == HOME)
    assert str(line.p50_usd) == "5.00"
    assert after(made, snapshot).standings[HOME].record.is_retained


def test_a_kept_volume_is_no_action_in_the_next_plan_and_the_same_name_takes_it_up_again() -> None:
    snapshot = with_disk(applied(WS, OTHER))
    kept = after(plan(OTHER, snapshot=snapshot), snapshot)
    del_done = Snapshot(lineage=kept.lineage, serial=kept.serial, standings={a: s for a, s in kept.standings.items() if a != LAB})
    assert shown(plan(OTHER, snapshot=del_done)) == {}
    again = plan(WS, OTHER, snapshot=del_done)
    assert shown(again) == {"volume/lab-home": "update", "workspace/lab": "create"}
    back = after(again, del_done)
    assert back.standings[HOME].record.uid == snapshot.standings[HOME].record.uid
    assert not back.standings[HOME].record.is_retained


def test_a_volume_with_deletion_policy_delete_goes_with_its_data() -> None:
    volume = document("Volume", "v", "deletionPolicy: Delete")
    snapshot = with_disk(applied(volume, OTHER), Address("volume", "v"))
    (action,) = plan(OTHER, snapshot=snapshot).actions
    assert (action.verb, action.change_class) == (Verb.DELETE, ChangeClass.DESTROYS)


def test_a_removal_of_a_running_session_says_when_it_was_last_saved() -> None:
    snapshot = running(with_disk(applied(WS, OTHER), saved_at=NOW - timedelta(hours=3)), LAB)
    action = next(one for one in plan(OTHER, snapshot=snapshot).actions if one.address == LAB)
    assert action.change_class is ChangeClass.ENDS_SESSION
    assert "is saved before it ends (last saved 3h ago)" in action.notes[0]


def test_too_many_grave_removals_by_absence_stop_the_plan() -> None:
    names = [f"w{n}" for n in range(5)]
    snapshot = running(applied(OTHER, *(workspace(name) for name in names)), *(Address("workspace", name) for name in names))
    made = plan(OTHER, snapshot=snapshot)
    assert codes(made) == ["TooManyDeletes"] and "--allow-deletes 5" in made.reasons[0].fix
    assert codes(plan(OTHER, snapshot=snapshot, allow=AllowFlags(max_deletes=5))) == []


def test_removing_stopped_objects_counts_for_nothing() -> None:
    snapshot = applied(OTHER, *(workspace(f"w{n}", "ephemeral: true, state: Stopped") for n in range(9)))
    assert codes(plan(OTHER, snapshot=snapshot)) == []


def test_removals_by_name_are_never_too_many() -> None:
    names = [Address("workspace", f"w{n}") for n in range(5)]
    snapshot = running(applied(*(workspace(one.name) for one in names)), *names)
    made = plan(snapshot=snapshot, removal=Removal(addresses=tuple(names)))
    assert codes(made) == [] and len(made.actions) == 5


def test_a_protected_object_is_not_removed() -> None:
    text = workspace(metadata='annotations: {nodus.dev/protected: "true"}')
    made = plan(OTHER, snapshot=applied(text, OTHER))
    assert codes(made) == ["Protected"]


def test_a_volume_named_by_a_remaining_workspace_is_not_removed() -> None:
    made = plan(snapshot=applied(WS), removal=Removal(addresses=(HOME,)))
    assert codes(made) == ["VolumeBusy"] and "workspace/lab" in made.reasons[0].message


def test_a_named_volume_goes_with_its_data_and_an_unnamed_one_is_kept() -> None:
    snapshot = with_disk(applied(WS))
    named = plan(snapshot=snapshot, removal=Removal(addresses=(LAB, HOME)))
    assert {action.address: action.change_class for action in named.actions}[HOME] is ChangeClass.DESTROYS
    everything = plan(snapshot=snapshot, removal=Removal())
    assert shown(everything) == {"workspace/lab": "delete", "volume/lab-home": "keep"}


def test_removing_marks_what_has_a_machine_and_forgets_what_has_none() -> None:
    secret = document("Secret", "wandb", "stringData: {token: abcdefgh}")
    snapshot = applied(WS, secret)
    left = after(plan(snapshot=snapshot, removal=Removal()), snapshot)
    assert set(left.standings) == {LAB}
    assert left.standings[LAB].record.deletion_requested_at == NOW
    assert shown(plan(snapshot=left, removal=Removal())) == {}


def test_an_object_written_again_while_it_is_being_removed_waits() -> None:
    snapshot = applied(WS, OTHER)
    leaving = after(plan(OTHER, snapshot=snapshot), snapshot)
    assert "Conflict" in codes(plan(WS, OTHER, snapshot=leaving))
