"""Diagnostics as GitHub's workflow commands, so that they stand beside the lines of a pull request; and text that can't be one.

A runner reads every line of stdout and stderr: one that begins with ``::`` (blanks before it don't count), and ``##[`` anywhere in a line,
is a command to it (docs.github.com "Workflow commands", actions/runner ``ActionCommand``). What a stranger's pull request or a provider
wrote must never be one: it could set outputs of a step, or turn later commands off.
"""

from __future__ import annotations

import re

from nodusctl.base.diagnostics import Diagnostic, Severity
from nodusctl.base.redaction import clean

_COMMANDS = {Severity.ERROR: "error", Severity.WARNING: "warning", Severity.NOTE: "notice"}
_BEGINS = re.compile(r"((?:^|\r)\s*)::", re.MULTILINE)
_GAP = "\u200b"


def annotation(diagnostic: Diagnostic, file: str = "") -> str:
    """One line. ``file`` is the place's file relative to the repository; empty where the diagnostic has no place."""
    place = {"file": file, "line": str(diagnostic.span.line), "col": str(diagnostic.span.column)} if diagnostic.span and file else {}
    properties = {**place, "title": f"{diagnostic.code}: {diagnostic.summary}"}
    said = ",".join(f"{name}={_property(clean(text))}" for name, text in properties.items())
    return f"::{_COMMANDS[diagnostic.severity]} {said}::{_value(clean(_message(diagnostic)))}"


def harmless(text: str) -> str:
    """``text`` without a line a runner would take for a command: an invisible character parts the colons. JSON keeps its meaning."""
    parted = _BEGINS.sub(rf"\1:{_GAP}:", text) if "::" in text else text
    return harmless_json(parted) if text.startswith(("{", "[")) else parted.replace("##[", f"#{_GAP}#[")


def harmless_json(text: str) -> str:
    """JSON that means the same; its lines begin with a brace or a quote, so only ``##[`` could be a command."""
    return text.replace("##[", "\\u0023#[")


def _message(diagnostic: Diagnostic) -> str:
    """Never empty: GitHub shows no annotation without a message."""
    about = " ".join(part for part in (diagnostic.address, diagnostic.field) if part)
    fix = f"fix: {diagnostic.fix}" if diagnostic.fix else ""
    return "\n".join(part for part in (about, diagnostic.detail, fix) if part) or diagnostic.summary


def _value(text: str) -> str:
    return text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def _property(text: str) -> str:
    return _value(text).replace(":", "%3A").replace(",", "%2C")
