"""kubectl's JSONPath subset."""

from __future__ import annotations

import pytest

from nodusctl.base.exits import ExitCode, UserError
from nodusctl.render.jsonpath import evaluate

DOCUMENT = {
    "metadata": {"name": "lab", "labels": {"nodus.dev/workspace": "lab"}},
    "spec": {"tools": ["SSH", "Jupyter"], "ephemeral": False},
    "items": [{"n": 1}, {"n": 2}],
}


@pytest.mark.parametrize(
    ("template", "expected"),
    [
        ("{.metadata.name}", "lab"),
        (".metadata.name", "lab"),
        ("{$.metadata.name}", "lab"),
        ("{.spec.tools[0]}", "SSH"),
        ("{.spec.tools[-1]}", "Jupyter"),
        ("{.items[*].n}", "1 2"),
        ("{.metadata.labels['nodus.dev/workspace']}", "lab"),
        ("{.spec.ephemeral}", "false"),
        ("{.spec.tools}", '["SSH", "Jupyter"]'),
        ("{.nothing.here}", ""),
        ("{.spec.tools[9]}", ""),
        ("{.metadata.name}: {.spec.tools[0]}", "lab: SSH"),
        ('{.metadata.name}{"\\t"}x', "lab\tx"),
    ],
)
def test_an_expression_gives_what_kubectl_would_print(template: str, expected: str) -> None:
    assert evaluate(template, DOCUMENT) == expected


@pytest.mark.parametrize("template", ["{.items[?(@.n==1)]}", "{..name}", "{.items[0:1]}"])
def test_what_is_outside_the_subset_is_a_usage_error(template: str) -> None:
    with pytest.raises(UserError) as caught:
        evaluate(template, DOCUMENT)
    assert caught.value.exit_code is ExitCode.USAGE
