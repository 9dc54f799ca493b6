"""Renames (case 10): a move keeps the uid, and a hint says what to write."""

from __future__ import annotations

from support.planning import LAB, after, applied, codes, document, plan, running, shown, workspace

from nodusctl.base.ids import Address
from nodusctl.state.snapshot import Snapshot

MOVED = "annotations: {nodus.dev/moved-from: lab}"


def lab() -> Snapshot:
    return running(applied(workspace()), LAB)


def test_a_rename_without_the_annotation_is_a_removal_with_a_hint() -> None:
    made = plan(workspace("lab2"), snapshot=lab())
    assert shown(made) == {"workspace/lab2": "create", "workspace/lab": "delete"}
    assert any("moved-from: lab" in hint and "workspace/lab2" in hint for hint in made.hints)


def test_another_spec_gets_no_hint() -> None:
    made = plan(workspace("lab2", "ephemeral: true, idleTimeout: 2h"), snapshot=lab())
    assert not any("moved-from" in hint for hint in made.hints)


def test_with_the_annotation_it_is_a_move_and_nothing_else() -> None:
    snapshot = lab()
    made = plan(workspace("lab2", metadata=MOVED), snapshot=snapshot)
    assert shown(made) == {"workspace/lab2": "move"} and not made.reasons
    moved = after(made, snapshot)
    assert moved.standings[Address("workspace", "lab2")].record.uid == snapshot.standings[LAB].record.uid
    assert LAB not in moved.standings


def test_after_the_move_the_annotation_is_inert() -> None:
    snapshot = lab()
    moved = after(plan(workspace("lab2", metadata=MOVED), snapshot=snapshot), snapshot)
    assert shown(plan(workspace("lab2", metadata=MOVED), snapshot=moved)) == {}


def test_a_move_may_change_the_spec_too() -> None:
    made = plan(workspace("lab2", "ephemeral: true, idleTimeout: 2h", MOVED), snapshot=lab())
    assert shown(made) == {"workspace/lab2": "move"}
    assert "spec.idleTimeout" in {change.path for change in made.actions[0].changes}


def test_a_move_from_an_object_that_is_still_written_is_refused() -> None:
    made = plan(workspace(), workspace("lab2", metadata=MOVED), snapshot=lab())
    assert "Invalid" in codes(made)


def test_two_objects_can_not_move_from_one() -> None:
    made = plan(workspace("lab2", metadata=MOVED), workspace("lab3", metadata=MOVED), snapshot=lab())
    assert "Invalid" in codes(made)


def test_a_workspace_follows_its_moved_volume() -> None:
    snapshot = applied(document("Volume", "home"), workspace(spec="volume: home"))
    volume = document("Volume", "home2", metadata="annotations: {nodus.dev/moved-from: home}")
    made = plan(volume, workspace(spec="volume: home2"), snapshot=snapshot)
    assert shown(made) == {"volume/home2": "move", "workspace/lab": "update"}
    assert codes(made) == []
