"""JSON Schema (2020-12) of one line of ``--json``: every type of line, the plan whole. ``format`` in the version line is its version.

Within one format, types and fields are added and never change their meaning; a reader skips what it doesn't know. What a ``result`` holds
belongs to the command; that of commands that carry something out (apply, destroy, delete, start, stop) is described as ``outcomes``.
"""

from __future__ import annotations

from typing import Any

from nodusctl.base.diagnostics import Severity
from nodusctl.base.exits import ExitCode
from nodusctl.plan.actions import Verb
from nodusctl.plan.encoding_schema import ADDRESS, TIME, Definitions, Schema
from nodusctl.plan.plan import Plan
from nodusctl.plan.reasons import ReasonScope
from nodusctl.render.stream_format import FORMAT_VERSION
from nodusctl.resources.schema import DIALECT

_TEXT: Schema = {"type": "string"}
_COUNT: Schema = {"type": "integer", "minimum": 0}
_FLAG: Schema = {"type": "boolean"}
_HASH: Schema = {"type": "string", "pattern": "^[0-9a-f]{64}$"}


def stream_schema() -> Schema:
    """The whole schema."""
    definitions = Definitions()
    plan = _plan(definitions)
    lines = {
        "version": _line("version", "The first line.", nodusctl=_TEXT, format={"const": FORMAT_VERSION}),
        "diagnostic": _diagnostic(),
        "plan": plan,
        "progress": _line(
            "progress",
            "An object came to another step.",
            time=TIME,
            address=ADDRESS,
            phase=_TEXT,
            step=_TEXT,
            done=_FLAG,
            failed=_FLAG,
        ),
        "heartbeat": _line(
            "heartbeat",
            "Ten seconds passed without another line; what is waited for.",
            time=TIME,
            waiting={"type": "array", "items": {"$ref": "#/$defs/waiting"}},
        ),
        "result": _line("result", "What the command has to say; its fields are the command's."),
        "comment": _comment(),
        "verification": _line("verification", "What receipts --verify found."),
        "exit": _line(
            "exit", "The last line.", code={"enum": [int(code) for code in ExitCode]}, name={"enum": [c.label for c in ExitCode]}
        ),
    }
    return {
        "$schema": DIALECT,
        "$id": "https://nodus.dev/schemas/nodusctl/stream.json",
        "title": "One line of --json",
        "description": "The version line comes first, the exit line last. Money and times are text.",
        "oneOf": [{"$ref": f"#/$defs/{name}"} for name in lines],
        "$defs": {
            **lines,
            "failure": _failure(),
            "waiting": _waiting(),
            "outcomes": _outcomes(),
            **dict(sorted(definitions.found.items())),
        },
    }


def _line(name: str, description: str, /, **fields: Schema) -> Schema:
    return {
        "description": description,
        "type": "object",
        "required": ["type", *fields],
        "properties": {"type": {"const": name}, **fields},
    }


def _diagnostic() -> Schema:
    """Empty parts are left out of it."""
    always: dict[str, Schema] = {"severity": {"enum": [one.value for one in Severity]}, "code": _TEXT, "summary": _TEXT}
    line = _line("diagnostic", "An error, warning or note.", **always)
    place: Schema = {"type": "integer", "minimum": 1}
    line["properties"] |= dict.fromkeys(("detail", "fix", "field", "address", "file"), _TEXT) | {"line": place, "column": place}
    line["properties"]["error"] = {"$ref": "#/$defs/failure"}
    return line


def _failure() -> Schema:
    """What the wrapping line says, and HTTP answers say alike."""
    named = dict.fromkeys(("group", "kind", "name"), _TEXT)
    details: Schema = {"type": "object", "properties": {**named, "causes": _list_of(field=_TEXT, reason=_TEXT, message=_TEXT)}}
    always: dict[str, Schema] = {
        "kind": {"const": "Status"},
        "apiVersion": {"const": "v1"},
        "metadata": {"type": "object"},
        "status": {"const": "Failure"},
        "message": _TEXT,
        "reason": _TEXT,
        "code": {"type": "integer", "minimum": 400, "maximum": 599},
        "docs": _TEXT,
    }
    return {
        "description": "An error as metav1.Status, with fix and docs beside it.",
        "type": "object",
        "required": list(always),
        "properties": {**always, "details": details, "fix": _TEXT},
    }


def _comment() -> Schema:
    fields = {"format": _TEXT, "limit": _COUNT, "size": _COUNT, "changesLeftOut": _COUNT, "mark": _TEXT, "body": _TEXT}
    return _line("comment", "A pull-request comment, printed.", **fields)


def _plan(definitions: Definitions) -> Schema:
    """A plan as ``plan_document`` writes it: the plan's own fields, and what it adds to them."""
    definitions.of(Plan)
    found = definitions.found
    whole = found.pop("Plan")
    _extend(found["Action"], mark=_TEXT)
    _extend(found["CostLine"], hasLimit=_FLAG)
    found["CostLine"]["properties"] |= {
        "funnel": _list_of(constraint=_TEXT, remaining=_COUNT),
        "warnings": _list_of(code=_TEXT, message=_TEXT),
    }
    _extend(found["BlockingReason"], scope={"enum": [one.value for one in ReasonScope]})
    counts: Schema = {"type": "object", "required": [v.value for v in Verb], "properties": {v.value: _COUNT for v in Verb}}
    lists = ("actions", "costs", "reasons", "due", "burning", "runningOn", "timetables", "hints", "diagnostics")
    added: dict[str, Schema] = {"planHash": _HASH, "counts": counts, "hasChanges": _FLAG, "isBlocked": _FLAG, "stale": _FLAG}
    line = _line("plan", "A plan, whole.", **added)
    line["required"] += [name for name in (*whole["required"], *lists) if name not in line["required"]]
    line["properties"] |= whole["properties"] | {"staleReason": _TEXT}
    return line


def _extend(definition: Schema, **fields: Schema) -> None:
    """Fields that are there always, beside those of the value itself."""
    definition["required"] = [*definition["required"], *(name for name in fields if name not in definition["required"])]
    definition["properties"] |= fields


def _list_of(**fields: Schema) -> Schema:
    return {"type": "array", "items": {"type": "object", "required": list(fields), "properties": dict(fields)}}


def _waiting() -> Schema:
    """One object and its step, or work that is on no object."""
    return {
        "type": "object",
        "required": ["step"],
        "properties": {"address": ADDRESS, "phase": _TEXT, "step": _TEXT, "seconds": _COUNT},
    }


def _outcomes() -> Schema:
    objects: dict[str, Any] = {
        "address": ADDRESS,
        "phase": _TEXT,
        "ok": _FLAG,
        "code": _TEXT,
        "message": _TEXT,
        "removed": _FLAG,
        "openIntent": _FLAG,
    }
    left_out = {"code": _TEXT, "address": _TEXT, "message": _TEXT, "fix": _TEXT}
    return _line("result", "What became of each object.", objects=_list_of(**objects), leftOut=_list_of(**left_out))
