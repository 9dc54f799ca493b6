"""``nodusctl explain FIELD`` and ``nodusctl explain attempt/NAME``."""

from __future__ import annotations

from typing import Annotated

import typer

from nodusctl.base.exits import ExitCode, UserError
from nodusctl.cli.app import one_command
from nodusctl.cli.options import JsonOption, wiring_of
from nodusctl.cli.wiring import Wiring


def explain(
    context: typer.Context,
    *,
    what: Annotated[str, typer.Argument(metavar="FIELD|attempt/NAME", help="workspace.spec.idleTimeout, or attempt/lab-1.")],
    is_json: JsonOption = False,
) -> ExitCode:
    """A field's documentation: type, default, rule, when it may change. Or why an attempt got its machine."""
    wiring = wiring_of(context)
    kind, slash, name = what.partition("/")
    if slash and kind.lower() in {"attempt", "attempts", "att"}:
        return _explain_attempt(name, wiring, is_json=is_json)
    return _explain_field(what, wiring, is_json=is_json)


def _explain_field(path: str, wiring: Wiring, *, is_json: bool) -> ExitCode:
    from nodusctl.base.diagnostics import Diagnostic
    from nodusctl.render.field_docs import field_document, field_text
    from nodusctl.resources.explain import explain as look_up

    found = look_up(path)
    if isinstance(found, Diagnostic):
        raise UserError(found)
    wiring.output(is_json=is_json).result("result", lambda style: field_text(found, style), lambda: field_document(found))
    return ExitCode.DONE


def _explain_attempt(name: str, wiring: Wiring, *, is_json: bool) -> ExitCode:
    from nodusctl.engine.inspect_one import explain_attempt
    from nodusctl.engine.plan_files import kept_plan
    from nodusctl.render.attempt_explanations import attempt_facts_document, attempt_text

    now = wiring.clock.now()
    folder = wiring.project.state_folder
    facts = explain_attempt(name, journal=wiring.journal, now=now, kept_plan=lambda digest: kept_plan(digest, state_folder=folder))
    output = wiring.output(is_json=is_json)
    output.result("result", lambda style: attempt_text(facts, style), lambda: attempt_facts_document(facts))
    return ExitCode.DONE


app = one_command(explain)
