"""``state snapshot``: the state and the outside looked at once and written down; and a plan's way back from the file."""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime
from pathlib import Path

from nodusctl.base.diagnostics import Diagnostic, note, warning
from nodusctl.base.ids import IdSource
from nodusctl.base.timestamps import format_time
from nodusctl.engine.market import configured_rates
from nodusctl.engine.naming import refuse_other_project, refuse_project
from nodusctl.engine.plan_files import write_whole
from nodusctl.engine.snapshot_file import SnapshotFile, outlook_of, read_snapshot, snapshot_file, write_snapshot
from nodusctl.engine.snapshot_outlook import Outlook, Sources, Wanted, look, look_outside
from nodusctl.resources.project import ProjectFile


def take_snapshot(path: Path, *, project: ProjectFile, sources: Sources, time_is_simulated: bool) -> SnapshotFile:
    """Write it to ``path``, whole or not at all. UserError for a state of another project; OSError where it can't be written."""
    refuse_other_project(sources.journal, project)
    snapshot = sources.journal.snapshot()
    here = look(sources, project, snapshot, snapshot.lineage, Wanted())
    markets, outside = look_outside(sources, project, snapshot, here.lineage, here.taken_at)
    made = snapshot_file(replace(here, markets=markets, outside=outside), project, time_is_simulated=time_is_simulated)
    write_whole(path, write_snapshot(made))
    return made


def open_snapshot(path: Path, *, project: ProjectFile, now: datetime, ids: IdSource) -> Outlook:
    """What ``path`` says, for a plan of this project; UserError where it can't be used or is another project's."""
    read = read_snapshot(path)
    refuse_project(read.project, project)
    minted = ids.new_uid() if read.is_fresh_state else ""
    return outlook_of(read, project, configured_rates(project), now=now, minted=minted)


def snapshot_remarks(path: str, outlook: Outlook) -> tuple[Diagnostic, ...]:
    """Which snapshot stood in for the state, how old it is, what that means, and which providers it says nothing of."""
    written = format_time(outlook.written_at) if outlook.written_at is not None else "an unknown time"
    detail = (
        f"{path} of {written}, serial {outlook.snapshot.serial}. No state, provider or secret was read, and policy.command was not run.\n"
        "Apply makes the plan again from the state itself, and takes only an equal one: nodusctl apply --plan-hash H"
    )
    silent = (f"{one.instance}: {one.why_not}." for one in outlook.markets if not one.is_ready)
    return (
        note("PlannedOffline", "This plan was made from a snapshot.", detail),
        *(warning("ProviderNotReady", "The snapshot has no offer of a provider.", one) for one in silent),
    )
