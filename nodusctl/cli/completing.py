"""What may stand where the cursor is: commands, options, and names from the local state. No provider is asked and nothing is written.

The scripts for the shells only pass the words on; everything is decided here, once for all three. The surprise: the words come before Typer
sees any, so a half-typed line needs no valid options.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from nodusctl.base.exits import ExitCode, UserError
from nodusctl.base.ids import Address
from nodusctl.cli.command_tree import Command, Parameter, Tree, cached_tree
from nodusctl.resources.kinds import KINDS, kind_named

if TYPE_CHECKING:
    from nodusctl.cli.wiring import Wiring

FILES, FOLDERS = ":files", ":folders"
"""First lines that tell the shell to offer file or folder names too."""
_STATE_KEY = re.compile(r"^state\s*:", re.MULTILINE)
_GLOBAL = (
    Parameter(names=("--chdir",), metavar="DIR", help="Look for the project there"),
    Parameter(names=("--color",), metavar="WHEN", help="auto, always or never"),
    Parameter(names=("--json-into",), metavar="FILE", help="Also write the lines of --json there"),
    Parameter(names=("--help",), help="What this command does"),
)
_WORDS = {
    "WHEN": ("auto", "always", "never"),
    "SHELL": ("bash", "zsh", "fish"),
    "FORM": ("wide", "json", "yaml", "name", "jsonpath=", "custom-columns="),
    "WHAT": ("object", "day", "offering", "label"),
}
_FILES = frozenset({"PATH", "FILE", "BACKUP|FILE", "PLAN|PATH", "PLAN"})
_OBJECTS = frozenset({"K/N", "KIND/NAME", "OLD", "NEW"})


@dataclass(frozen=True, slots=True)
class Names:
    """Where names come from, asked only when they are needed."""

    addresses: Callable[[], Sequence[Address]]
    providers: Callable[[], Sequence[str]]


@dataclass(frozen=True, slots=True)
class Candidate:
    """A word and, for shells that show one, what it is."""

    word: str
    about: str = ""


def say_candidates(words: Sequence[str], wiring: Wiring) -> ExitCode:
    """``__complete SHELL WORD…``: the last word is the one being typed. A line a candidate, with a tab and its description but for bash."""
    import platformdirs

    shell, typed = (words[0], list(words[1:])) if words else ("bash", [])
    tree = cached_tree(Path(platformdirs.user_cache_dir("nodusctl", appauthor=False)))
    names = Names(lambda: _addresses(wiring), lambda: _providers(wiring))
    try:
        found = list(candidates(tree, typed or [""], names))
    except (UserError, OSError):
        found = []
    lines = [one.word if shell == "bash" or not one.about else f"{one.word}\t{one.about}" for one in found]
    if lines:
        wiring.surroundings.stdout.write("\n".join(lines) + "\n")
    return ExitCode.DONE


def candidates(tree: Tree, words: Sequence[str], names: Names) -> Iterator[Candidate]:
    """Words that may stand in place of the last one and begin with it."""
    *before, current = words
    place = _walk(tree, before)
    for one in _offered(place, current, names):
        if one.word.startswith(current) or one.word in {FILES, FOLDERS}:
            yield one


@dataclass(frozen=True, slots=True, kw_only=True)
class _Place:
    """Where in the tree the cursor is: behind which command, inside which option's value, after which arguments."""

    tree: Tree
    command: Command
    waiting: Parameter | None
    given: tuple[str, ...]
    is_foreign: bool


def _walk(tree: Tree, words: Sequence[str]) -> _Place:
    command, waiting = tree[()], None
    given: list[str] = []
    for word in words:
        if waiting is not None:
            waiting = None
        elif word == "--":
            return _Place(tree=tree, command=command, waiting=None, given=tuple(given), is_foreign=True)
        elif word.startswith("-"):
            option = next((one for one in (*command.options, *_GLOBAL) if word in one.names), None)
            waiting = option if option is not None and option.metavar else None
        elif word in command.children and not given:
            command = tree[*command.path, word]
        else:
            given.append(word)
    return _Place(tree=tree, command=command, waiting=waiting, given=tuple(given), is_foreign=False)


def _offered(place: _Place, current: str, names: Names) -> Iterator[Candidate]:
    if place.is_foreign:
        yield Candidate(FILES)
    elif place.waiting is not None:
        yield from _values(place.waiting, current, (), names)
    elif current.startswith("-"):
        for option in dict.fromkeys((*place.command.options, *_GLOBAL)):
            yield from (Candidate(name, option.help) for name in option.names if name.startswith("--") or current == name)
    elif place.command.children and not place.given:
        yield from (Candidate(name, place.tree[*place.command.path, name].help) for name in place.command.children)
    elif (argument := _argument(place)) is not None:
        yield from _values(argument, current, place.given, names)


def _argument(place: _Place) -> Parameter | None:
    arguments = place.command.arguments
    if len(place.given) < len(arguments):
        return arguments[len(place.given)]
    return arguments[-1] if arguments and arguments[-1].is_many else None


def _values(parameter: Parameter, current: str, given: Sequence[str], names: Names) -> Iterable[Candidate]:
    metavar = parameter.metavar
    if parameter.choices or metavar in _WORDS:
        return [Candidate(word) for word in parameter.choices or _WORDS[metavar]]
    if metavar in _FILES:
        return [Candidate(FILES)]
    if metavar == "DIR":
        return [Candidate(FOLDERS)]
    if metavar == "KIND":
        return [Candidate(facts.singular, facts.description) for facts in KINDS.values()]
    if metavar in {"PROVIDER", "NAME"}:
        return [Candidate(name) for name in names.providers()]
    if metavar.startswith("WORKSPACE"):
        return [Candidate(one.name) for one in names.addresses() if one.kind == "workspace"]
    if metavar.startswith("KIND[/NAME]"):
        return _kind_or_object(current, given, names)
    if metavar == "FIELD|attempt/NAME":
        kinds = [Candidate(f"{facts.singular}.spec", facts.description) for facts in KINDS.values()]
        return [*kinds, *(Candidate(str(one)) for one in names.addresses() if one.kind == "attempt")]
    return _objects(current, names) if metavar in _OBJECTS else []


def _objects(current: str, names: Names) -> list[Candidate]:
    """``workspace/lab``; behind a short name such as ``ws/`` in that spelling."""
    typed, slash, _ = current.partition("/")
    facts = kind_named(typed) if slash else None
    if facts is not None:
        return [Candidate(f"{typed}/{one.name}") for one in names.addresses() if one.kind == facts.singular]
    return [Candidate(str(one)) for one in names.addresses() if one.kind != "attempt"]


def _kind_or_object(current: str, given: Sequence[str], names: Names) -> list[Candidate]:
    if given and "/" not in given[0]:
        kinds = {facts.singular for word in given[0].split(",") if (facts := kind_named(word)) is not None}
        return [Candidate(one.name) for one in names.addresses() if one.kind in kinds]
    if "/" in current or given:
        return _objects(current, names)
    spelt = [Candidate(word, facts.description) for facts in KINDS.values() for word in (facts.plural, *facts.short_names)]
    return [*spelt, *_objects(current, names)]


def _addresses(wiring: Wiring) -> Sequence[Address]:
    """From the state file alone. The project file is read as YAML only where it may name another state."""
    from nodusctl.documents.discovery import PROJECT_FILE
    from nodusctl.store.location import path_of
    from nodusctl.store.names import names_in

    start = wiring.start.resolve()
    folder = next((one for one in (start, *start.parents) if (one / PROJECT_FILE).is_file()), start)
    text = (folder / PROJECT_FILE).read_text(encoding="utf-8", errors="replace") if (folder / PROJECT_FILE).is_file() else ""
    if _STATE_KEY.search(text):
        url = wiring.project.state_url
        # A server is asked nothing while somebody types.
        return names_in(path_of(url, wiring.project.folder)) if url.startswith("sqlite:") else ()
    return names_in(folder / ".nodus" / "state.db")


def _providers(wiring: Wiring) -> Sequence[str]:
    return [one.name for one in wiring.project.file.providers]
