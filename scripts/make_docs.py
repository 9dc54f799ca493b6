"""Writes the generated half of ``docs/``: the command reference, a page for each kind, and a page for each error code.

With ``--check`` nothing is written; the exit code says whether the pages are current, and whether every code has a text.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator
from pathlib import Path

from error_codes import codes
from error_texts import TEXTS, told_twice

from nodusctl.cli.command_tree import Command, Parameter, Tree, read_tree
from nodusctl.cli.registry import SECTIONS
from nodusctl.resources.errors import REASONS
from nodusctl.resources.kinds import KINDS, KindFacts
from nodusctl.resources.mutability import Mutability, rule_for
from nodusctl.resources.schema import default_json
from nodusctl.resources.shapes import FieldShape, fields_of

FOLDER = Path(__file__).parent.parent / "docs"
_HEAD = "<!-- Made by scripts/make_docs.py; run `make docs` after a change. -->\n"


def wanted() -> dict[Path, str]:
    """Every generated page by its path below docs/."""
    tree = read_tree()
    pages = {Path("commands.md"): "\n".join(_commands(tree)) + "\n"}
    pages[Path("kinds", "README.md")] = "\n".join(_kind_index()) + "\n"
    for facts in KINDS.values():
        pages[Path("kinds", f"{facts.singular}.md")] = "\n".join(_kind(facts)) + "\n"
    said = codes()
    pages[Path("errors", "README.md")] = "\n".join(_error_index(said)) + "\n"
    for code in TEXTS:
        pages[Path("errors", f"{code}.md")] = "\n".join(_error(code)) + "\n"
    return pages


def _commands(tree: Tree) -> Iterator[str]:
    yield _HEAD
    yield "# Commands\n"
    yield "`--chdir DIR` and `--color WHEN` may stand before or after every command. With `--json` a command prints one JSON object a line:"
    yield "version first, the exit code last.\n"
    for title, entries in SECTIONS:
        yield f"## {title}\n"
        for entry in entries:
            yield from _command(tree, tree[entry.name,])


def _command(tree: Tree, command: Command) -> Iterator[str]:
    if not command.children:
        yield from _leaf(command)
        return
    yield f"### nodusctl {' '.join(command.path)}\n"
    yield f"{_sentence(command.description or command.help)}\n"
    for child in command.children:
        yield from _command(tree, tree[*command.path, child])


def _leaf(command: Command) -> Iterator[str]:
    words = " ".join(("nodusctl", *command.path, *(_argument(one) for one in command.arguments)))
    yield f"### {words}\n"
    yield f"{_sentence(command.description or command.help)}\n"
    options = [one for one in command.options if one.names]
    described = [one for one in command.arguments if one.help]
    if options or described:
        yield "| | |\n|---|---|"
        for one in described:
            yield f"| `{_cell(one.metavar)}` | {_cell(one.help)} |"
        for one in options:
            yield f"| {_option(one)} | {_cell(one.help)}{_default(one)} |"
        yield ""


def _argument(one: Parameter) -> str:
    shown = one.metavar + ("…" if one.is_many else "")
    return shown if one.is_required else f"[{shown}]"


def _option(one: Parameter) -> str:
    value = f" {one.metavar}" if one.metavar else ""
    return _cell(", ".join(f"`{name}{value}`" for name in one.names))


def _default(one: Parameter) -> str:
    choices = f" One of {', '.join(one.choices)}." if one.choices else ""
    repeated = " Repeatable." if one.is_many and "epeatable" not in one.help else ""
    return choices + repeated + (f" Default: `{one.default}`." if one.default else "")


def _kind_index() -> Iterator[str]:
    yield _HEAD
    yield "# Kinds\n"
    yield "| kind | short | what it is |\n|---|---|---|"
    for facts in KINDS.values():
        yield f"| [{facts.kind}]({facts.singular}.md) | {', '.join(facts.short_names)} | {facts.description} |"


def _kind(facts: KindFacts) -> Iterator[str]:
    yield _HEAD
    yield f"# {facts.kind}\n"
    yield f"{facts.description}\n"
    scope = "Belongs to no project." if facts.is_org else "Belongs to a project."
    yield f"`apiVersion: nodus.dev/v1`, `kind: {facts.kind}`. {scope}{' Only the program writes it.' if facts.is_system else ''}\n"
    yield "Change says when a field may change: any time unless it says otherwise.\n"
    yield "## spec\n"
    yield from _fields("spec", facts.spec_model, facts.kind)
    yield "\n## status\n"
    yield "Written by the program; ignored in a file.\n"
    yield from _fields("status", facts.status_model, None)


def _fields(name: str, model: object, kind: str | None) -> Iterator[str]:
    from nodusctl.resources.explain import type_name

    rows = list(_walk(model, (name,)))
    if not rows:
        yield "No field."
        return
    yield "| field | type | default | what it is |\n|---|---|---|---|"
    for path, field in rows:
        default = default_json(field.default)
        shown = "required" if field.is_required else ("" if default is None else f"`{_cell(_plain(default))}`")
        rule = rule_for(kind, path) if kind is not None else None
        change = f" Change: {rule.value}." if rule is not None and rule is not Mutability.ANY else ""
        words = " ".join(part for part in (field.description, field.rule) if part) + change
        yield f"| `{'.'.join(path[1:])}` | {_cell(type_name(field))} | {shown} | {_cell(words)} |"


def _walk(model: object, path: tuple[str, ...], depth: int = 0) -> Iterator[tuple[tuple[str, ...], FieldShape]]:
    for name, field in fields_of(model).items():  # type: ignore[arg-type]
        yield (*path, name), field
        if field.inner is not None and depth < 4:
            yield from _walk(field.inner, (*path, name), depth + 1)


def _error_index(said: dict[str, tuple[str, ...]]) -> Iterator[str]:
    yield _HEAD
    yield "# Codes\n"
    yield "Every error, warning, note and blocking reason has a code in brackets. It stays the same whatever the words around it say.\n"
    yield "| code | meaning |\n|---|---|"
    for code in sorted(TEXTS):
        if code in said:
            yield f"| [{code}]({code}.md) | {_cell(_first_sentence(TEXTS[code][0]))} |"


def _error(code: str) -> Iterator[str]:
    meaning, fix = TEXTS[code]
    yield _HEAD
    yield f"# {code}\n"
    yield f"{meaning}\n"
    reason = REASONS.get(code)
    if reason is not None and reason.http:
        yield f"Over HTTP it is status {reason.http}.\n"
    yield "## What to do\n"
    yield from _with_commands(fix)


def _with_commands(text: str) -> Iterator[str]:
    """Indented lines as code blocks."""
    is_code = False
    for line in text.splitlines():
        if line.startswith("  ") != is_code:
            yield "```" if is_code else "\n```sh"
            is_code = not is_code
        yield line.removeprefix("  ") if is_code else line
    if is_code:
        yield "```"


def _first_sentence(text: str) -> str:
    return text.partition(". ")[0].rstrip(".") + "."


def _sentence(text: str) -> str:
    return text if text.endswith((".", "!", "?")) else f"{text}."


def _plain(value: object) -> str:
    return ", ".join(map(str, value)) if isinstance(value, list) else str(value).lower() if isinstance(value, bool) else str(value)


def _cell(text: str) -> str:
    return text.replace("|", "\\|").replace("\n", " ")


def _faults(pages: dict[Path, str], there: dict[Path, str]) -> Iterator[str]:
    said = codes()
    for code in sorted(said.keys() - TEXTS.keys()):
        yield f"the code {code} ({', '.join(said[code])}) has no text; add it to its family in scripts/error_texts/"
    for code in sorted(TEXTS.keys() - said.keys()):
        yield f"nothing says the code {code} any more; remove it from scripts/error_texts/"
    for code in told_twice():
        yield f"two families of scripts/error_texts/ have a text for the code {code}; remove one"
    stale = sorted(str(path) for path in pages.keys() | there.keys() if pages.get(path) != there.get(path))
    if stale:
        yield f"docs/ is not current ({', '.join(stale)}); run: make docs"


def main() -> int:
    """0 when all is current or written, and every code has a text."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--check", action="store_true", help="write nothing")
    only_checks = parser.parse_args().check
    pages = wanted()
    folders = [FOLDER / "errors", FOLDER / "kinds"]
    found = [FOLDER / "commands.md", *(path for folder in folders for path in folder.glob("*.md"))]
    there = {path.relative_to(FOLDER): path.read_text(encoding="utf-8") for path in found if path.is_file()}
    if not only_checks:
        for path in there.keys() - pages.keys():
            (FOLDER / path).unlink()
        for path, text in pages.items():
            (FOLDER / path).parent.mkdir(parents=True, exist_ok=True)
            (FOLDER / path).write_text(text, encoding="utf-8")
        there = pages
    faults = list(_faults(pages, there))
    print("\n".join(faults), file=sys.stderr, end="\n" if faults else "")
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
