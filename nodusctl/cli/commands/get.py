"""``nodusctl get K[/N]…``: objects as tables, names, JSON, YAML, a JSONPath or columns of one's own."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated

import typer

from nodusctl.base.exits import ExitCode
from nodusctl.cli.app import one_command
from nodusctl.cli.options import wiring_of
from nodusctl.cli.output.protocol import Output
from nodusctl.cli.output.slow import told_when_slow
from nodusctl.cli.words import usage_error, wanted_of
from nodusctl.engine.inspect_objects import Found, find_objects
from nodusctl.engine.inspect_selector import parse_selector
from nodusctl.render.custom_columns import columns_text, parse_columns
from nodusctl.render.jsonpath import evaluate
from nodusctl.render.object_lists import as_json, as_list, object_names, object_tables

_FORMS = "wide, json, yaml, name, jsonpath=… or custom-columns=HEAD:PATH,…"
_TEMPLATES = ("jsonpath=", "custom-columns=")


def get(
    context: typer.Context,
    *,
    what: Annotated[list[str], typer.Argument(metavar="KIND[/NAME]", help="ws, vol,sec, workspace/lab, or 'ws lab lab2'.")],
    form: Annotated[str, typer.Option("-o", "--output", metavar="FORM", help=f"{_FORMS}.")] = "",
    selector: Annotated[str, typer.Option("-l", "--selector", metavar="SEL", help="Labels: team=ml,env!=dev,'tier in (a,b)'.")] = "",
    watches: Annotated[
        bool, typer.Option("-w", "--watch", help="Then go on: print each object again when it changes, until Ctrl-C. Asks no provider.")
    ] = False,
) -> ExitCode:
    """List objects, or print them as JSON or YAML."""
    wanted = wanted_of(what)
    _check_form(form)
    wiring = wiring_of(context)
    output = wiring.output(is_json=False)
    if watches:
        from nodusctl.cli.watching import watch

        return watch(wanted, parse_selector(selector), form, wiring, output)
    project = wiring.project
    lead = project.file.settings.window_lead
    chosen, now = parse_selector(selector), wiring.clock.now()
    with told_when_slow(output, wiring.wall, "reading the state"):
        found = find_objects(wanted, chosen, journal=wiring.journal, project=project.name, now=now, lead=lead)
    is_single = len(wanted) == 1 and bool(wanted[0].name)
    if found.seen or form not in {"", "wide"}:
        _print(found, form, output, is_single=is_single, now=wiring.clock.now())
    elif not found.missing:
        output.remark("No objects found.")
    output.diagnose(found.missing)
    return ExitCode.ERROR if found.missing else ExitCode.DONE


def _print(found: Found, form: str, output: Output, *, is_single: bool, now: datetime) -> None:
    from nodusctl.documents.writing import dump_yaml
    from nodusctl.render.redacted import redacted

    documents = [(one.address, one.document) for one in found.seen]
    whole = documents[0][1] if is_single and documents else as_list(documents)
    if is_single and not documents:
        return
    if form == "json":
        output.result("result", lambda style: as_json(whole), lambda: whole)
    elif form == "yaml":
        output.result("result", lambda style: dump_yaml(redacted(whole)).rstrip("\n"), lambda: whole)
    elif form == "name":
        output.result("result", lambda style: object_names(documents), lambda: whole)
    elif form.startswith("jsonpath="):
        output.result("result", lambda style: evaluate(form.removeprefix("jsonpath="), whole), lambda: whole)
    elif form.startswith("custom-columns="):
        columns = parse_columns(form.removeprefix("custom-columns="))
        plain = [document for _, document in documents]
        output.result("result", lambda style: columns_text(columns, plain, style), lambda: whole)
    else:
        output.result("result", lambda style: object_tables(documents, style, now=now, is_wide=form == "wide"), lambda: whole)


def _check_form(form: str) -> None:
    if form and form not in {"wide", "json", "yaml", "name"} and not form.startswith(_TEMPLATES):
        usage_error("-o has no such form", f"It says {form!r}.", f"write {_FORMS}")
    if form.startswith("custom-columns="):
        parse_columns(form.removeprefix("custom-columns="))


app = one_command(get)
