"""Label selectors as kubectl writes them: ``team=ml,env!=dev,owner,!legacy,tier in (a,b),tier notin (c)``."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping

from nodusctl.base.diagnostics import error
from nodusctl.base.exits import ExitCode, UserError

Selector = Callable[[Mapping[str, str]], bool]

_KEY = r"[A-Za-z0-9]([A-Za-z0-9_./-]*[A-Za-z0-9])?"
_VALUE = r"[A-Za-z0-9_.-]*"
_SET = re.compile(rf"(?P<key>{_KEY})\s+(?P<word>in|notin)\s*\((?P<values>[^()]*)\)\Z")
_EQUAL = re.compile(rf"(?P<key>{_KEY})\s*(?P<sign>==|=|!=)\s*(?P<value>{_VALUE})\Z")
_PRESENT = re.compile(rf"(?P<sign>!?)\s*(?P<key>{_KEY})\Z")
_COMMA = re.compile(r",(?![^()]*\))")


def parse_selector(text: str) -> Selector:
    """A test of labels; UserError (64) where the text is no selector. An empty text selects everything."""
    tests = [_requirement(part.strip()) for part in _COMMA.split(text)] if text.strip() else []
    return lambda labels: all(test(labels) for test in tests)


def _requirement(text: str) -> Selector:
    if found := _EQUAL.match(text):
        key, value, is_equal = found["key"], found["value"], found["sign"] != "!="
        return lambda labels: (labels.get(key) == value) == is_equal
    if found := _SET.match(text):
        name, wanted = found["key"], {value.strip() for value in found["values"].split(",")}
        is_in = found["word"] == "in"
        return lambda labels: (labels.get(name) in wanted) == is_in
    if found := _PRESENT.match(text):
        label, is_present = found["key"], not found["sign"]
        return lambda labels: (label in labels) == is_present
    fix = "write key=value, key!=value, key, !key, 'key in (a,b)' or 'key notin (a,b)'"
    raise UserError(error("Usage", "The selector can't be read", f"It says {text!r}.", fix), exit_code=ExitCode.USAGE)
