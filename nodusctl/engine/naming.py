"""Names that don't fit: a state of another project, and objects nobody knows."""

from __future__ import annotations

from collections.abc import Iterable

from nodusctl.base.diagnostics import Diagnostic, error
from nodusctl.base.exits import UserError
from nodusctl.base.ids import Address
from nodusctl.base.nearest import nearest
from nodusctl.ports.journal import Journal
from nodusctl.resources.project import ProjectFile


def refuse_other_project(journal: Journal, project: ProjectFile) -> None:
    """A state belongs to one project; planning another one against it would remove everything."""
    refuse_project(str(journal.facts().get("project") or ""), project)


def refuse_project(known: str, project: ProjectFile) -> None:
    """The same for the project a state says it belongs to; empty where there is none yet."""
    if known and known != project.project:
        detail = f"The state has project {known}; the project file says {project.project}."
        fix = f"Write project: {known} in nodusctl.yaml, or give this project a state of its own (state:)."
        raise UserError(error("Invalid", "The state belongs to another project.", detail, fix, field="project"))


def unknown_workspace(address: Address, known: Iterable[Address]) -> Diagnostic:
    """A Workspace given by hand that the state, which holds ``known``, doesn't have."""
    names = [one.name for one in known if one.kind == "workspace"]
    near = nearest(address.name, names)
    fix = f"Did you mean {near}?" if near else "See what is:\n  nodusctl get ws"
    if not names:
        fix = "None was applied yet. See what would be, then apply it:\n  nodusctl plan"
    return error("NotFound", "No such Workspace.", f"{address} is not in the state.", fix)


def unknown_home(address: Address, known: Iterable[Address]) -> Diagnostic:
    """A Workspace or Volume given by hand for its home, which the state, which holds ``known``, doesn't have."""
    near = nearest(str(address), [str(one) for one in known if one.kind in ("workspace", "volume")])
    fix = f"Did you mean {near.removeprefix('workspace/')}?" if near else "See what is:\n  nodusctl get ws,vol"
    return error("NotFound", "No such object.", f"{address} is not in the state.", fix)


def unknown_object(address: Address, known: Iterable[Address]) -> Diagnostic:
    """A name given by hand that nothing answers to."""
    near = nearest(str(address), [str(one) for one in known])
    fix = f"Did you mean {near}?" if near else "See what there is:\n  nodusctl get ws"
    return error("NotFound", "No such object.", f"{address} is in no file and not in the state.", fix, address=str(address))


def refuse_never_seen(address: Address, journal: Journal) -> None:
    """UserError for a name that neither the state nor any Attempt, of a removed object too, has ever had."""
    known = {*(one.record.address for one in journal.snapshot()), *(one.owner for one in journal.attempts())}
    if address not in known:
        raise UserError(unknown_object(address, sorted(known)))
