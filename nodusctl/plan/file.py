"""A plan as a file: JSON with a format version and a digest over the whole of it. Text in, text out; no disk here.

The digest is taken over the canonical form; the text keeps the order in which fields were written, so that a saved plan reads as it did.

PlanFileError         the text is no plan this nodusctl may apply; ``fault`` says which of three ways
"""

from __future__ import annotations

import json
from enum import StrEnum
from typing import Any

from nodusctl.base.canonical import digest
from nodusctl.plan.encoding import as_json, from_json
from nodusctl.plan.hashing import plan_hash
from nodusctl.plan.plan import Plan

FORMAT = 1
SUFFIX = ".nodusplan"
_VERSION_KEY = "nodusplan"
_LOOKED_AT = 400


class PlanFault(StrEnum):
    """Ways a plan file is refused, in the order they are looked for."""

    UNREADABLE = "unreadable"
    NEWER_FORMAT = "newer-format"
    DIGEST_DIFFERS = "digest-differs"


class PlanFileError(Exception):
    """The text is no plan that may be shown or applied. ``detail`` is one whole sentence."""

    def __init__(self, fault: PlanFault, detail: str) -> None:
        super().__init__(detail)
        self.fault = fault
        self.detail = detail


def write_plan(plan: Plan) -> str:
    """The file's text, ending in a newline. Holds no secret value: an Action carries only keyed HMACs."""
    body = {_VERSION_KEY: FORMAT, "planHash": plan_hash(plan), "plan": as_json(plan)}
    return json.dumps({**body, "fileDigest": digest(body)}, separators=(",", ":"), ensure_ascii=False, allow_nan=False) + "\n"


def read_plan(text: str) -> Plan:
    """The plan in ``text``; PlanFileError where it is unreadable, of a newer format, or not as it was written."""
    body = _body_of(text)
    version = body[_VERSION_KEY]
    if version > FORMAT:
        detail = f"The file has plan format {version}; this nodusctl reads formats up to {FORMAT}."
        raise PlanFileError(PlanFault.NEWER_FORMAT, detail)
    if body.pop("fileDigest", None) != _digest_of(body):
        raise PlanFileError(PlanFault.DIGEST_DIFFERS, "The file was changed after it was written: its digest no longer fits.")
    try:
        return from_json(Plan, body.get("plan"))
    except ValueError as problem:
        raise PlanFileError(PlanFault.UNREADABLE, f"The file has a part that can't be read: {problem}.") from problem


def file_digest(text: str) -> str:
    """The digest a plan file carries; empty where it carries none."""
    try:
        found = _body_of(text).get("fileDigest", "")
    except PlanFileError:
        return ""
    return found if isinstance(found, str) else ""


def looks_like_plan(text: str) -> bool:
    """True if ``text`` is meant to be a plan file, damaged or not; a name alone never decides."""
    head = text.lstrip()[:_LOOKED_AT]
    return head.startswith("{") and f'"{_VERSION_KEY}"' in head


def _body_of(text: str) -> dict[str, Any]:
    try:
        body = json.loads(text)
    except (json.JSONDecodeError, RecursionError) as problem:
        raise PlanFileError(PlanFault.UNREADABLE, "The file is no complete JSON document.") from problem
    if not isinstance(body, dict) or type(body.get(_VERSION_KEY)) is not int:
        raise PlanFileError(PlanFault.UNREADABLE, "The file is no nodusctl plan.")
    return body


def _digest_of(body: dict[str, Any]) -> str:
    try:
        return digest(body)
    except TypeError:
        return ""
