"""``get -w``: the state is read again whenever it moved, and what changed is printed. No provider is asked; Ctrl-C ends it (130).

The state counts its own changes, so a quiet second costs one small read. A removed object is printed once more, as Deleted.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

from nodusctl.base.exits import ExitCode
from nodusctl.base.ids import Address
from nodusctl.cli.output.protocol import Output
from nodusctl.cli.wiring import Wiring
from nodusctl.documents.writing import dump_yaml
from nodusctl.engine.inspect_objects import Seen, Wanted, find_objects
from nodusctl.engine.inspect_selector import Selector
from nodusctl.render.custom_columns import columns_text, parse_columns
from nodusctl.render.jsonpath import evaluate
from nodusctl.render.object_lists import Documents, as_json, object_names, object_rows
from nodusctl.render.redacted import redacted
from nodusctl.render.style import Style

PERIOD_SECONDS = 1.0


def watch(
    wanted: Sequence[Wanted], selector: Selector, form: str, wiring: Wiring, output: Output, *, rounds: int | None = None
) -> ExitCode:
    """Print what there is, then what changes. ``rounds`` ends it after so many looks; None never."""
    shown: dict[Address, Seen] = {}
    mark: object = None
    looked = 0
    while rounds is None or looked < rounds:
        if looked:
            wiring.wall.sleep(PERIOD_SECONDS)
        looked += 1
        journal = wiring.reading.journal if wiring.reading.journal.exists() else wiring.reopen_reading().journal
        facts = journal.facts()
        now_mark = (facts.get("serial"), facts.get("observations"), facts.get("events"), facts.get("entries"))
        if now_mark == mark:
            continue
        is_first, mark = mark is None, now_mark
        now = wiring.clock.now()
        lead = wiring.project.file.settings.window_lead
        seen = find_objects(wanted, selector, journal=journal, project=wiring.project.name, now=now, lead=lead).seen
        found = {one.address: one for one in seen}
        changed = [one for address, one in found.items() if address not in shown or shown[address].document != one.document]
        gone = [_deleted(one) for address, one in shown.items() if address not in found]
        if changed or gone:
            _print([*changed, *gone], form, output, now=now, with_heads=is_first or not shown)
        shown = found
    return ExitCode.DONE


def _deleted(one: Seen) -> Seen:
    status = {**one.document.get("status", {}), "phase": "Deleted"}
    return Seen(address=one.address, document={**one.document, "status": status}, stored=one.stored)


def _print(seen: Sequence[Seen], form: str, output: Output, *, now: datetime, with_heads: bool) -> None:
    documents = [(one.address, one.document) for one in seen]
    output.result("result", lambda style: _text(documents, form, style, now=now, with_heads=with_heads), dict)


def _text(documents: Documents, form: str, style: Style, *, now: datetime, with_heads: bool) -> str:
    plain = [document for _, document in documents]
    if form == "json":
        return "\n".join(as_json(document) for document in plain)
    if form == "yaml":
        return "---\n".join(dump_yaml(redacted(document)) for document in plain).rstrip("\n")
    if form == "name":
        return object_names(documents)
    if form.startswith("jsonpath="):
        return "\n".join(evaluate(form.removeprefix("jsonpath="), document) for document in plain)
    if form.startswith("custom-columns="):
        shown = columns_text(parse_columns(form.removeprefix("custom-columns=")), plain, style)
        return shown if with_heads else "\n".join(shown.splitlines()[1:])
    return object_rows(documents, style, now=now, is_wide=form == "wide", with_heads=with_heads)
