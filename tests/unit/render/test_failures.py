"""An error as metav1.Status: what Kubernetes' readers find where they look for it."""

from __future__ import annotations

import pytest

from nodusctl.base.diagnostics import Diagnostic, Span, error, note, warning
from nodusctl.base.redaction import REDACTOR
from nodusctl.render.diagnostics import diagnostic_document
from nodusctl.render.failures import failure_document
from nodusctl.resources.errors import REASONS


def test_a_wrong_field_is_a_cause_of_an_invalid_object() -> None:
    """Its code stands at the cause under the name metav1 has for it; the place comes first in the message."""
    said = error(
        "NotSupported",
        "There is no tool Emacs.",
        "The tools are\n  VSCode, Jupyter, SSH.",
        "tools: [SSH]",
        span=Span("ws.yaml", 7, 3),
        field="spec.tools[0]",
        address="workspace/lab",
    )
    assert failure_document(said) == {
        "kind": "Status",
        "apiVersion": "v1",
        "metadata": {},
        "status": "Failure",
        "message": "ws.yaml:7:3: There is no tool Emacs. The tools are VSCode, Jupyter, SSH.",
        "reason": "Invalid",
        "details": {
            "group": "nodus.dev",
            "kind": "workspace",
            "name": "lab",
            "causes": [{"field": "spec.tools[0]", "reason": "FieldValueNotSupported", "message": "There is no tool Emacs."}],
        },
        "code": 422,
        "fix": "tools: [SSH]",
        "docs": "docs/errors/NotSupported.md",
    }


def test_what_is_of_no_object_has_no_details() -> None:
    failure = failure_document(error("StateLocked", "Somebody else applies."))
    assert "details" not in failure and "fix" not in failure
    assert (failure["metadata"], failure["reason"], failure["code"]) == ({}, "StateLocked", 409)


def test_a_summary_without_an_end_gets_one_before_what_explains_it() -> None:
    assert failure_document(error("Conflict", "It changed", "Twice,\n  today."))["message"] == "It changed. Twice, today."
    assert failure_document(error("Conflict", "It changed"))["message"] == "It changed"


@pytest.mark.parametrize("secret", ["correct  horse battery", "a1b2\nc3d4\ne5f6", "\ttabbed secret"])
def test_a_secret_is_found_before_its_blanks_are_made_one(secret: str) -> None:
    REDACTOR.remember(secret)
    message = failure_document(error("Unavailable", "The forge refused.", f"It said: {secret} is wrong."))["message"]
    assert message == "The forge refused. It said: [redacted] is wrong."


@pytest.mark.parametrize("code", sorted(set(REASONS) - {"FieldValueRequired", "NotSupported", "Duplicate"}))
def test_each_reason_keeps_its_http_code(code: str) -> None:
    """A reason that never leaves as an HTTP error of its own is a conflict."""
    failure = failure_document(error(code, "No."))
    assert (failure["reason"], failure["code"]) == (code, REASONS[code].http or 409)


@pytest.mark.parametrize("code", ["PluginCrashed", "OutputLost"])
def test_what_the_program_itself_lacks_is_an_internal_error(code: str) -> None:
    assert failure_document(error(code, "No."))["code"] == 500


@pytest.mark.parametrize("said", [warning("PriceOld", "It is old."), note("Moved", "It moved.")])
def test_only_an_error_is_a_failure(said: Diagnostic) -> None:
    assert "error" not in diagnostic_document(said)
    assert diagnostic_document(error(said.code, said.summary))["error"] == failure_document(error(said.code, said.summary))
