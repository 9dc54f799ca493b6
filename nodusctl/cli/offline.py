"""Planning from a snapshot of the state: which file, and the plan that follows from it. Opens no state and no provider, reads no secret."""

from __future__ import annotations

from pathlib import Path

from nodusctl.cli.planning import base_of
from nodusctl.cli.wiring import Wiring
from nodusctl.engine.plan import PlanRequest, make_plan_from
from nodusctl.engine.snapshot_file import USUAL_NAME
from nodusctl.engine.snapshot_taking import open_snapshot, snapshot_remarks
from nodusctl.plan.plan import Plan


def snapshot_of(wiring: Wiring, named: str, *, is_offline: bool) -> Path | None:
    """The file that was named; else, for an offline plan, the project's own where it has one."""
    if named:
        return wiring.start / named
    usual = wiring.project.folder / USUAL_NAME
    return usual if is_offline and usual.is_file() else None


def plan_from_snapshot(wiring: Wiring, request: PlanRequest, path: Path, base: str = "") -> Plan:
    """The plan of the project's files against the snapshot in ``path``; the snapshot is said first."""
    project = wiring.project
    outlook = open_snapshot(path, project=project.file, now=wiring.own_clock.now(), ids=wiring.ids)
    shown = str(path.relative_to(wiring.start)) if path.is_relative_to(wiring.start) else str(path)
    wiring.output(is_json=False).diagnose(snapshot_remarks(shown, outlook))
    return make_plan_from(
        outlook,
        root=project.folder,
        project=project.file,
        request=request,
        prices=wiring.prices,
        ids=wiring.ids,
        who=wiring.who,
        base_of=base_of(wiring, base),
    )
