"""Command-line words that name kinds and objects, read as kubectl reads them: ``ws``, ``workspace/lab``, ``workspaces lab``, ``ws,vol``."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import timedelta
from typing import NoReturn

from nodusctl.base.diagnostics import error
from nodusctl.base.durations import parse_duration
from nodusctl.base.exits import ExitCode, UserError
from nodusctl.base.ids import Address
from nodusctl.engine.inspect_objects import Wanted
from nodusctl.resources.kinds import KindFacts, kind_named, nearest_kind


def usage_error(summary: str, detail: str = "", fix: str = "") -> NoReturn:
    """Ends the command with exit code 64."""
    raise UserError(error("Usage", summary, detail, fix), exit_code=ExitCode.USAGE)


def kind_of(word: str) -> KindFacts:
    """The kind a word names; a usage error with the nearest one otherwise."""
    facts = kind_named(word)
    if facts is None:
        near = nearest_kind(word)
        usage_error("There is no such kind", f"It says {word!r}." + (f" Did you mean {near}?" if near else ""), "nodusctl schema")
    return facts


def address_of(word: str) -> Address:
    """``KIND/NAME`` as an address; a bare NAME is a Workspace."""
    kind, slash, name = word.partition("/")
    if not slash:
        return Address("workspace", word)
    if not name:
        usage_error("A name is missing", f"It says {word!r}.", "write KIND/NAME, such as workspace/lab")
    return Address(kind_of(kind).singular, name)


def wanted_of(words: Sequence[str]) -> tuple[Wanted, ...]:
    """What ``get`` is asked for: ``K``, ``K,K``, ``K/N …`` or ``K N …``."""
    if not words:
        usage_error("Say what to get", fix="nodusctl get workspaces,volumes")
    if "/" in words[0]:
        return tuple(_named(word) for word in words)
    kinds = [_stored(kind_of(word)) for word in words[0].split(",") if word]
    if len(words) == 1:
        return tuple(Wanted(kind=kind) for kind in kinds)
    return tuple(Wanted(kind=kind, name=name) for kind in kinds for name in words[1:])


def duration_of(option: str, text: str) -> timedelta:
    """An option's Go duration; a usage error that says what is right."""
    try:
        return parse_duration(text)
    except ValueError as fault:
        usage_error(f"{option} is no duration", f"It says {text!r}; {fault}.")


def _named(word: str) -> Wanted:
    kind, slash, name = word.partition("/")
    if not (slash and name):
        usage_error("A name is missing", f"It says {word!r}.", "write KIND/NAME for every object, such as workspace/lab")
    return Wanted(kind=_stored(kind_of(kind)), name=name)


def _stored(facts: KindFacts) -> KindFacts:
    if facts.kind == "Offering":
        usage_error("Offerings are no objects of the state", "They are what providers sell right now.", "nodusctl offers")
    return facts
