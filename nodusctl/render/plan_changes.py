"""The Actions of a plan, one block an object: mark, address, change class, and each changed field.

The mark says it, colour only repeats it: ``+`` create, ``~`` update, ``±`` restart or replace, ``-`` delete, ``=`` keep, ``>`` move,
``<=`` adopt, ``<<`` restore.
"""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping
from typing import Any

from nodusctl.base.ids import Address
from nodusctl.plan.actions import Action, Verb
from nodusctl.plan.changes import ChangeClass, FieldChange
from nodusctl.plan.costs import CostLine
from nodusctl.plan.reasons import BlockingReason
from nodusctl.render.style import Style

_MARKS = {
    Verb.CREATE: ("+", "green"),
    Verb.UPDATE: ("~", "yellow"),
    Verb.RESTART: ("±", "magenta"),
    Verb.DELETE: ("-", "red"),
    Verb.KEEP: ("=", "cyan"),
    Verb.MOVE: (">", "blue"),
    Verb.ADOPT: ("<=", "blue"),
    Verb.RESTORE: ("<<", "magenta"),
    Verb.PRUNE: ("-", "red"),
}
_REPLACING = frozenset({ChangeClass.REPLACES, ChangeClass.RESTARTS})
_GRAVE = frozenset({ChangeClass.DESTROYS, ChangeClass.ENDS_SESSION, ChangeClass.REPLACES, ChangeClass.RESTARTS})


_SAID = {Verb.KEEP: "  kept", Verb.RESTORE: "  restore", Verb.PRUNE: "  prune"}
"""Words beside the name where the mark alone says too little."""
_REMOVED = frozenset({Verb.DELETE, Verb.KEEP})
_WITH_RESTART = "takes effect with this restart"
"""What is said of a change that waits for the next start, where the plan restarts the object: this is that start."""

_REFUSED = "blocked"


def action_lines(action: Action, cost: CostLine | None, style: Style, refused: Collection[str] = ()) -> Iterator[str]:
    """The block of one Action, its first line unindented. ``refused`` are fields something blocks, which then have no consequence."""
    mark, colour = _MARKS[Verb.RESTART if action.change_class in _REPLACING else action.verb]
    name = f"{action.moved_from} -> {action.address}" if action.moved_from is not None else str(action.address)
    kept = _SAID.get(action.verb, "")
    head = f"{style.paint(f'{mark:<2}', colour, 'bold')} {style.paint(name, 'bold')}"
    yield f"{head}{kept}{_class(action.change_class, cost, style)}{style.paint(_place(action), 'dim')}"
    changes = tuple(_written(action)) if action.verb is Verb.CREATE else tuple(_changes(action, cost))
    width = max((len(path) for path, _, _ in changes), default=0)
    for path, what, told in changes:
        change_class = _REFUSED if told and any(path == field or path.startswith(f"{field}.") for field in refused) else told
        yield f"     {path:<{width}}  {what}" + (f"  {style.paint(f'[{change_class}]', 'dim')}" if change_class else "")
    for note in action.notes:
        yield f"     {style.paint('note:', 'bold')} {note}"


def mark_of(action: Action) -> str:
    """The plain mark of an Action."""
    return _MARKS[Verb.RESTART if action.change_class in _REPLACING else action.verb][0]


def refused_fields(reasons: Iterable[BlockingReason]) -> Mapping[Address | None, frozenset[str]]:
    """Fields that block, by object."""
    found: defaultdict[Address | None, set[str]] = defaultdict(set)
    for one in reasons:
        found[one.address].add(one.field)
    return {address: frozenset(fields) for address, fields in found.items()}


def costs_by_address(costs: tuple[CostLine, ...]) -> Mapping[Address, CostLine]:
    """Cost lines by object."""
    return {line.address: line for line in costs}


def shown_value(value: Any) -> str:
    """A field's value on one line."""
    match value:
        case None:
            return "(absent)"
        case bool():
            return "true" if value else "false"
        case str():
            return value if value and "\n" not in value else json.dumps(value, ensure_ascii=False)
        case int():
            return str(value)
        case list() | tuple() if all(isinstance(one, str) for one in value):
            return f"[{', '.join(value)}]"
    return json.dumps(_plain(value), ensure_ascii=False, sort_keys=True)


def _class(change_class: ChangeClass, cost: CostLine | None, style: Style) -> str:
    if change_class is ChangeClass.FREE:
        return ""
    text = f"  {_shown_class(change_class, cost)}"
    return style.paint(text, "red") if change_class in _GRAVE else style.paint(text, "yellow")


def _shown_class(change_class: ChangeClass, cost: CostLine | None) -> str:
    rate = cost.rate_usd_per_hour if cost is not None else None
    return f"{change_class.value}, {rate.shown}/h" if change_class is ChangeClass.STARTS and rate is not None else change_class.value


def _place(action: Action) -> str:
    """Where it is written; of what is no longer wanted, where it was."""
    if action.source and action.line:
        return f"  ({action.source}:{action.line})"
    return f"  (last applied from {action.source})" if action.source and action.verb in _REMOVED else ""


def _changes(action: Action, cost: CostLine | None) -> Iterator[tuple[str, str, str]]:
    for change in action.changes:
        yield _change(change, cost, waits=_WITH_RESTART if action.verb is Verb.RESTART else ChangeClass.NEXT_START.value)


def _change(change: FieldChange, cost: CostLine | None, *, waits: str) -> tuple[str, str, str]:
    """``waits`` is what is said of a change that takes effect at a start."""
    said = waits if change.note == ChangeClass.NEXT_START.value else change.note
    note = f"  ({said})" if said else ""
    return (
        change.path,
        f"{_shown_field(change.path, change.before)} -> {_shown_field(change.path, change.after)}{note}",
        waits if change.change_class is ChangeClass.NEXT_START else _shown_class(change.change_class, cost),
    )


def _written(action: Action) -> Iterator[tuple[str, str, str]]:
    """What the file of a new object writes, labels and annotations too; of a Secret only the names of its keys."""
    if action.address.kind == "secret":
        for group in ("data", "valueFrom"):
            for key in sorted((action.applied or {}).get(group) or ()):
                yield f"key {key}", "(value not shown)", ""
    else:
        for path, value in _leaves("spec", action.applied or {}):
            yield path, _shown_field(path, value), ""
    for path, texts in (("metadata.labels", action.labels), ("metadata.annotations", action.annotations)):
        yield from ((f"{path}[{key}]", shown_value(texts[key]), "") for key in sorted(texts))


def _shown_field(path: str, value: Any) -> str:
    """``spec.secrets`` by name and version, ``[wandb@3, hf]``; anything else as it is."""
    if path != "spec.secrets" or not isinstance(value, (list, tuple)):
        return shown_value(value)
    return f"[{', '.join(_mount(one) for one in value)}]"


def _mount(mount: Mapping[str, Any]) -> str:
    version = mount.get("version")
    return f"{mount.get('name', '')}@{version}" if version is not None else str(mount.get("name", ""))


def _leaves(path: str, value: Any) -> Iterator[tuple[str, Any]]:
    if not isinstance(value, Mapping) or not value:
        yield path, value
        return
    for key, inner in value.items():
        yield from _leaves(f"{path}.{key}", inner)


def _plain(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {key: _plain(inner) for key, inner in value.items()}
    return [_plain(inner) for inner in value] if isinstance(value, (list, tuple)) else value
