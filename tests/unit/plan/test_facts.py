"""Facts: what an Action relies on, and what may move without making it stale."""

from __future__ import annotations

from support.planning import HOME, LAB, NOW, WS, applied, plan, running, with_disk, with_live, with_status, workspace

from nodusctl.base.ids import Address
from nodusctl.plan.facts import moved_fact
from nodusctl.planner.world import Removal
from nodusctl.state.snapshot import Snapshot
from nodusctl.state.status import Phase


def test_a_new_object_relies_on_its_absence() -> None:
    (action,) = plan(workspace()).actions
    assert moved_fact(action, Snapshot()) == ""
    assert moved_fact(action, applied(workspace())) == "another object of this name was made since"


def test_a_change_relies_on_uid_and_generation() -> None:
    snapshot = applied(WS)
    (action,) = plan(WS.replace("idleTimeout: 1h", "idleTimeout: 2h"), snapshot=snapshot).actions
    assert moved_fact(action, snapshot) == ""
    assert moved_fact(action, Snapshot(lineage="l")) == "it was removed since"
    assert "generation" in moved_fact(action, with_live(snapshot, LAB, state="Stopped"))


def test_an_idle_stop_and_a_save_do_not_move_a_free_change() -> None:
    snapshot = running(with_disk(applied(WS), holder=LAB), LAB)
    (action,) = plan(WS.replace("idleTimeout: 1h", "idleTimeout: 2h"), snapshot=snapshot).actions
    later = with_status(with_disk(snapshot, saved_at=NOW), LAB, phase=Phase.STOPPED)
    assert moved_fact(action, later) == ""


def test_starting_and_running_are_one_class_and_stopped_is_another() -> None:
    snapshot = with_status(applied(WS), LAB, phase=Phase.STARTING)
    action = plan(snapshot=snapshot, removal=Removal(addresses=(LAB,))).actions[0]
    assert moved_fact(action, running(snapshot, LAB)) == ""
    assert moved_fact(action, with_status(snapshot, LAB, phase=Phase.STOPPED)) == "its phase was up and is now down"


def test_removing_a_volume_relies_on_what_it_holds() -> None:
    snapshot = with_disk(applied(WS))
    action = next(a for a in plan(snapshot=snapshot, removal=Removal(addresses=(LAB, HOME))).actions if a.address == HOME)
    assert moved_fact(action, snapshot) == ""
    assert "saved revision" in moved_fact(action, with_disk(snapshot, saved_at=NOW))


def test_a_start_relies_on_who_holds_its_home() -> None:
    snapshot = with_disk(applied("apiVersion: nodus.dev/v1\nkind: Volume\nmetadata: {name: lab-home}\nspec: {}\n"))
    action = next(a for a in plan(WS, snapshot=snapshot).actions if a.address == LAB)
    assert moved_fact(action, snapshot) == ""
    assert "holder" in moved_fact(action, with_disk(snapshot, holder=Address("workspace", "other")))
