"""Secret values for an apply: read again from where the files say, at the moment they are stored."""

from __future__ import annotations

from pathlib import Path

from nodusctl.engine.secret_values import read_values
from nodusctl.engine.specs import read_specs
from nodusctl.engine.starting_plan import SecretValues
from nodusctl.plan.actions import Verb
from nodusctl.plan.plan import Plan
from nodusctl.ports.secrets import SecretSource
from nodusctl.resources.project import ProjectFile

_WRITES = frozenset({Verb.CREATE, Verb.UPDATE, Verb.MOVE})


def values_for(plan: Plan, *, root: Path, project: ProjectFile, secrets: SecretSource) -> SecretValues:
    """Values of the Secrets this plan writes. UserError where a source can't be read; a file that is gone gives none."""
    written = {action.address for action in plan.actions if action.address.kind == "secret" and action.verb in _WRITES}
    if not written:
        return SecretValues()
    specs = read_specs(root=root, project=project, clock_now=None)
    chosen = [one for one in specs.resources if one.address in written]
    return SecretValues(by_address={one.address: values for one in chosen if (values := read_values(one, secrets))})
