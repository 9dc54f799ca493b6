"""Which codes the program can say, read from its source: every ``error("X", …)``, ``warning``, ``note``, ``trouble`` and ``code="X"``.

Read and not listed by hand, so that a code without a page is found on the day it is written.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

from nodusctl.resources.errors import REASONS

ROOT = Path(__file__).parent.parent
SOURCES = ("nodusctl", "providers/nodus_providers")
_SAYING = frozenset({"error", "warning", "note", "trouble"})
_CODED = frozenset({"BlockingReason", "EstimateWarning", "GiveUp", "Remarked", "Diagnostic", "Refused", "Fault"})


def codes() -> dict[str, tuple[str, ...]]:
    """Each code with the modules that say it; a registered reason that nobody says yet has none."""
    found: dict[str, set[str]] = {code: set() for code in REASONS}
    for source in SOURCES:
        for path in sorted((ROOT / source).rglob("*.py")):
            if "/testing/" in path.as_posix():
                continue
            module = path.relative_to(ROOT).with_suffix("").as_posix().replace("/", ".")
            for code in _codes_in(ast.parse(path.read_text(encoding="utf-8"))):
                found.setdefault(code, set()).add(module)
    return {code: tuple(sorted(modules)) for code, modules in sorted(found.items())}


def _codes_in(tree: ast.AST) -> Iterator[str]:
    for node in ast.walk(tree):
        if not isinstance(node, ast.Call):
            continue
        name = node.func.id if isinstance(node.func, ast.Name) else getattr(node.func, "attr", "")
        if name in _SAYING and node.args:
            yield from _texts(node.args[0])
        if name in _CODED or name in _SAYING:
            yield from (code for keyword in node.keywords if keyword.arg == "code" for code in _texts(keyword.value))


def _texts(node: ast.expr) -> Iterator[str]:
    """A constant, or both arms of a choice."""
    if isinstance(node, ast.Constant) and isinstance(node.value, str) and node.value[:1].isupper():
        yield node.value
    elif isinstance(node, ast.IfExp):
        yield from _texts(node.body)
        yield from _texts(node.orelse)
