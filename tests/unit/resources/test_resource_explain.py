"""``explain`` says what decoding does, and finds what was meant."""

from __future__ import annotations

import pytest

from nodusctl.base.diagnostics import Diagnostic
from nodusctl.resources.explain import FieldDoc, explain
from nodusctl.resources.kinds import KINDS
from nodusctl.resources.mutability import Mutability
from nodusctl.resources.shapes import fields_of


def doc(path: str) -> FieldDoc:
    found = explain(path)
    assert isinstance(found, FieldDoc)
    return found


def test_a_field_is_explained_with_type_default_rule_and_mutability() -> None:
    found = doc("workspace.spec.idleTimeout")
    assert (found.type, found.default, found.rule, found.mutability) == ("duration", "1h", "0s never, else 10m to 24h.", Mutability.ANY)


@pytest.mark.parametrize(
    ("path", "type_name"),
    [
        ("ws.spec.tools", "list of VSCode | Jupyter | SSH"),
        ("Workspace.spec.env[0].valueFrom.secretKeyRef.key", "string"),
        ("fn.spec.scaling", "object"),
        ("workspace.status.cost.totalUSD", "amount in USD"),
        ("volumes.spec.size", "quantity"),
        ("workspace.metadata.labels", "map of string"),
        ("project.policy.maxDeletes", "integer"),
        ("nodus.dev/windows", "windows"),
        ('workspace.metadata.annotations["nodus.dev/protected"]', "boolean text"),
        ("workspace", "object"),
    ],
)
def test_paths_are_found_by_any_name_of_the_kind(path: str, type_name: str) -> None:
    if '"' in path:
        path = path.replace('["', ".").replace('"]', "")
    assert doc(path).type == type_name


@pytest.mark.parametrize(
    ("path", "fix"),
    [
        ("workspace.spec.idleTimout", "nodusctl explain workspace.spec.idleTimeout"),
        ("workspace.idleTimeout", "nodusctl explain workspace.spec.idleTimeout"),
        ("workspac.spec", "Did you mean workspace?"),
        ("workspace.spec.state.x", "nodusctl explain workspace.spec.state"),
        ("nodus.dev/windws", "nodusctl explain metadata.annotations.nodus.dev/windows"),
    ],
)
def test_an_unknown_path_leads_to_the_nearest(path: str, fix: str) -> None:
    found = explain(path)
    assert isinstance(found, Diagnostic)
    assert (found.code, found.fix) == ("NotFound", fix)
    if fix.startswith("nodusctl explain "):
        assert isinstance(explain(fix.removeprefix("nodusctl explain ")), FieldDoc)


@pytest.mark.parametrize("kind", list(KINDS))
def test_every_field_of_every_kind_can_be_explained(kind: str) -> None:
    facts = KINDS[kind]
    for part, model in (("spec", facts.spec_model), ("status", facts.status_model)):
        for name in fields_of(model):
            assert doc(f"{kind}.{part}.{name}").description
