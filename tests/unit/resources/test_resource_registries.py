"""Kinds, reasons and mutability rules are closed lists that agree with each other."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

from nodusctl.documents.reading import KIND_NAMES
from nodusctl.resources.errors import REASONS
from nodusctl.resources.kinds import KINDS, kind_named
from nodusctl.resources.mutability import ChangeHint, Mutability, hint_for, rule_for

PACKAGES = Path(__file__).parents[3] / "nodusctl"


@pytest.mark.parametrize(
    ("word", "kind"),
    [
        ("ws", "Workspace"),
        ("FN", "Function"),
        ("vol", "Volume"),
        ("sec", "Secret"),
        ("att", "Attempt"),
        ("sshkeys", "SSHKey"),
        ("Budget", "Budget"),
    ],
)
def test_a_kind_is_found_by_each_of_its_names(word: str, kind: str) -> None:
    found = kind_named(word)
    assert found is not None
    assert found.kind == kind


def test_no_two_kinds_share_a_name() -> None:
    words = [word for facts in KINDS.values() for word in {facts.singular, facts.plural, *facts.short_names}]
    assert len(words) == len(set(words))


def test_documents_knows_every_kind() -> None:
    assert set(KINDS) <= KIND_NAMES


@pytest.mark.parametrize(
    ("kind", "path", "rule"),
    [
        ("Workspace", ("spec", "volume"), Mutability.IMMUTABLE),
        ("Workspace", ("spec", "ephemeral"), Mutability.IMMUTABLE),
        ("Workspace", ("spec", "maxCostUSD"), Mutability.RAISE_ONLY),
        ("Workspace", ("spec", "idleTimeout"), Mutability.ANY),
        ("Workspace", ("spec", "resources", "gpu", "count"), Mutability.NEXT_START),
        ("Workspace", ("spec", "env", 0, "value"), Mutability.NEXT_START),
        ("Workspace", ("spec", "sshKeys"), Mutability.ANY),
        ("Function", ("spec", "code", "module"), Mutability.ROLLS),
        ("Function", ("spec", "resources", "cpu"), Mutability.ROLLS),
        ("Function", ("spec", "scaling", "maxWorkers"), Mutability.ANY),
        ("Function", ("spec", "maxCostUSD"), Mutability.RAISE_ONLY),
        ("Volume", ("spec", "accessMode"), Mutability.IMMUTABLE),
        ("Volume", ("spec", "size"), Mutability.GROW_ONLY),
        ("Secret", ("spec", "type"), Mutability.IMMUTABLE),
        ("Budget", ("spec", "period"), Mutability.IMMUTABLE),
        ("Budget", ("metadata", "labels", "a"), Mutability.ANY),
        ("Nothing", ("spec",), Mutability.ANY),
    ],
)
def test_a_field_changes_by_its_own_rule_or_that_of_the_field_around_it(kind: str, path: tuple[str | int, ...], rule: Mutability) -> None:
    assert rule_for(kind, path) is rule


def test_what_a_change_touches_is_known_for_fields_that_cost_money() -> None:
    assert hint_for("Workspace", ("spec", "state")) is ChangeHint.STARTS_OR_STOPS
    assert hint_for("Workspace", ("spec", "placement", "regions")) is ChangeHint.REPRICES
    assert hint_for("Workspace", ("spec", "sshKeys")) is ChangeHint.ENDS_SESSIONS
    assert hint_for("Workspace", ("spec", "idleTimeout")) is ChangeHint.NONE


def texts_in(node: ast.AST) -> set[str]:
    """The texts below a node that look like reasons: one word that begins with a capital."""
    values = {inner.value for inner in ast.walk(node) if isinstance(inner, ast.Constant)}
    return {value for value in values if isinstance(value, str) and value[:1].isupper()}


def reasons_in(package: str) -> set[str]:
    """Reasons written in the source as the keyword ``reason`` or ``code``, or as first argument of error() and refuse()."""
    found: set[str] = set()
    for path in (PACKAGES / package).glob("*.py"):
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.Call):
                is_first = getattr(node.func, "id", "") in ("error", "refuse")
                written = [word.value for word in node.keywords if word.arg in ("reason", "code")]
                for part in [*written, *(node.args[:1] if is_first else [])]:
                    found |= texts_in(part)
    return found


@pytest.mark.parametrize("package", ["documents", "resources"])
def test_every_reason_that_is_written_is_registered(package: str) -> None:
    reasons = reasons_in(package)
    assert reasons
    assert reasons <= set(REASONS)
