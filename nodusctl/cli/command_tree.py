"""Every command with its options and arguments, as plain values: what completion and the command reference are made from.

Reading it from Typer imports every command, which takes most of a second; so completion keeps it as JSON in the user's cache folder, under
a name that changes with the program.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import asdict, dataclass
from enum import Enum
from pathlib import Path
from typing import Any

import nodusctl
from nodusctl.cli.registry import ENTRIES


@dataclass(frozen=True, slots=True, kw_only=True)
class Parameter:
    """An option (``names``) or an argument (none). ``metavar`` says what kind of value it takes; empty for a flag."""

    names: tuple[str, ...] = ()
    metavar: str = ""
    help: str = ""
    default: str = ""
    choices: tuple[str, ...] = ()
    is_required: bool = False
    is_many: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Command:
    """One command; ``path`` is what is typed after ``nodusctl``. A family has children and nothing else.

    ``help`` is its one line of the root help, ``description`` what its own help says.
    """

    path: tuple[str, ...]
    help: str
    description: str = ""
    options: tuple[Parameter, ...] = ()
    arguments: tuple[Parameter, ...] = ()
    children: tuple[str, ...] = ()


Tree = Mapping[tuple[str, ...], Command]


def read_tree() -> Tree:
    """All commands by path, from the Typer applications themselves; the root at ``()``."""
    import typer.main

    from nodusctl.cli.app import application

    root = typer.main.get_command(application)
    found: dict[tuple[str, ...], Command] = {(): Command(path=(), help="", options=_options(root), children=tuple(ENTRIES))}
    context = root.make_context("nodusctl", [], resilient_parsing=True)
    for name, entry in ENTRIES.items():
        command: Any = root.get_command(context, name)  # type: ignore[attr-defined]
        found.update(_below(command, (name,), entry.help))
    return found


def cached_tree(folder: Path) -> Tree:
    """The same from ``folder``, written there when it is missing; an unusable cache only costs time."""
    path = folder / f"commands-{_fingerprint()}.json"
    with suppress(OSError, ValueError, KeyError, TypeError):
        return {tuple(one["path"]): _command(one) for one in json.loads(path.read_text(encoding="utf-8"))}
    tree = read_tree()
    with suppress(OSError):
        folder.mkdir(parents=True, exist_ok=True)
        draft = path.with_suffix(f".{os.getpid()}")
        draft.write_text(json.dumps([asdict(one) for one in tree.values()]), encoding="utf-8")
        draft.replace(path)
    return tree


def _below(command: Any, path: tuple[str, ...], help_text: str) -> Iterator[tuple[tuple[str, ...], Command]]:
    children: Mapping[str, Any] = getattr(command, "commands", {})
    yield (
        path,
        Command(
            path=path,
            help=help_text or _help(command),
            description=_help(command),
            options=_options(command),
            arguments=_arguments(command),
            children=tuple(children),
        ),
    )
    for name, child in children.items():
        yield from _below(child, (*path, name), _help(child))


def _help(command: Any) -> str:
    return " ".join((command.help or "").split())


def _options(command: Any) -> tuple[Parameter, ...]:
    return tuple(
        Parameter(
            names=tuple(sorted(one.opts, key=len, reverse=True)),
            metavar="" if one.is_flag else (one.metavar or "VALUE"),
            help=one.help or "",
            default=_default(one),
            choices=_choices(one),
            is_many=bool(one.multiple),
        )
        for one in command.params
        if one.param_type_name == "option" and not getattr(one, "hidden", False)
    )


def _arguments(command: Any) -> tuple[Parameter, ...]:
    return tuple(_argument(one) for one in command.params if one.param_type_name == "argument")


def _argument(one: Any) -> Parameter:
    metavar = one.metavar or one.name.upper()
    return Parameter(metavar=metavar, help=one.help or "", choices=_choices(one), is_required=one.required, is_many=one.nargs != 1)


def _default(option: Any) -> str:
    value = option.default
    is_shown = not (option.is_flag or value is None or value == "" or callable(value))
    return str(getattr(value, "value", value)) if is_shown and getattr(option, "show_default", True) else ""


def _choices(parameter: Any) -> tuple[str, ...]:
    annotation = parameter.type_descriptor.annotation
    is_closed = isinstance(annotation, type) and issubclass(annotation, Enum)
    return tuple(str(one.value) for one in annotation) if is_closed else ()


def _command(raw: Mapping[str, Any]) -> Command:
    def parameters(name: str) -> tuple[Parameter, ...]:
        return tuple(Parameter(**{**one, "names": tuple(one["names"]), "choices": tuple(one["choices"])}) for one in raw[name])

    return Command(
        path=tuple(raw["path"]),
        help=raw["help"],
        description=raw["description"],
        options=parameters("options"),
        arguments=parameters("arguments"),
        children=tuple(raw["children"]),
    )


def _fingerprint() -> str:
    """Changes with the version and, where somebody works on the program itself, with its files."""
    folder = Path(__file__).parent
    files = sorted((*folder.glob("*.py"), *folder.glob("commands/**/*.py")))
    marks = [nodusctl.__version__, *(f"{one.name}:{one.stat().st_mtime_ns}" for one in files)]
    return hashlib.sha256("\n".join(marks).encode()).hexdigest()[:16]
