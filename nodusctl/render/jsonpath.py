"""kubectl's JSONPath subset: text with ``{.a.b[0]}``, ``{['a']}``, ``{.items[*].name}``. What isn't there prints nothing."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from nodusctl.base.diagnostics import error
from nodusctl.base.exits import ExitCode, UserError

_BRACES = re.compile(r"\{([^{}]*)\}")
_STEP = re.compile(r"\.?(?:(?P<name>[A-Za-z0-9_/-]+)|\[(?P<index>-?\d+|\*)\]|\['(?P<quoted>[^']*)'\])|\.(?P<all>\*)")


def evaluate(template: str, document: object) -> str:
    """The template with each ``{…}`` replaced; UserError (64) for an expression outside the subset."""
    if "{" not in template:
        template = f"{{{template}}}"
    return _BRACES.sub(lambda found: _text(_select(found[1], document)), template).replace("\\n", "\n").replace("\\t", "\t")


def _select(expression: str, document: object) -> list[object]:
    rest = expression.strip().removeprefix("$").removeprefix("@")
    if len(rest) > 1 and rest[0] == rest[-1] == '"':
        return [rest[1:-1]]
    found: list[object] = [document]
    if rest in {"", "."}:
        return found
    position = 0
    while position < len(rest):
        step = _STEP.match(rest, position)
        if step is None:
            raise UserError(_unreadable(expression), exit_code=ExitCode.USAGE)
        found = [inner for one in found for inner in _inner(one, step)]
        position = step.end()
    return found


def _inner(value: object, step: re.Match[str]) -> Iterable[object]:
    name = step["name"] if step["name"] is not None else step["quoted"]
    if name is not None:
        return [value[name]] if isinstance(value, Mapping) and name in value else []
    if step["all"] or step["index"] == "*":
        return list(value.values()) if isinstance(value, Mapping) else _entries(value)
    entries, index = _entries(value), int(step["index"])
    return [entries[index]] if -len(entries) <= index < len(entries) else []


def _entries(value: object) -> Sequence[object]:
    return value if isinstance(value, (list, tuple)) else ()


def _text(found: Iterable[object]) -> str:
    return " ".join(_scalar(one) for one in found)


def _scalar(value: Any) -> str:
    if isinstance(value, str):
        return value
    return json.dumps(value, ensure_ascii=False)


def _unreadable(expression: str) -> Any:
    fix = "names, numbers and stars are understood: {.status.phase}, {.spec.tools[0]}, {.items[*].metadata.name}"
    return error("Usage", "The JSONPath can't be read", f"It says {{{expression}}}.", fix)
