"""Objects as ``get`` prints them: a table for each kind, names, JSON, YAML or a JSONPath."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any

from nodusctl.base.ids import Address
from nodusctl.base.timestamps import parse_time
from nodusctl.render.object_columns import columns_of
from nodusctl.render.redacted import redacted
from nodusctl.render.spans import age_text
from nodusctl.render.style import Style
from nodusctl.render.tables import table

Documents = Sequence[tuple[Address, Mapping[str, Any]]]


def object_tables(documents: Documents, style: Style, *, now: datetime, is_wide: bool) -> str:
    """One table for each kind, in the order asked for; the kind is part of the name where there are several."""
    kinds = list(dict.fromkeys(address.kind for address, _ in documents))
    parts = []
    for kind in kinds:
        rows = [(address, document) for address, document in documents if address.kind == kind]
        parts.append(_one_table(kind, rows, style, now=now, is_wide=is_wide, names_kind=len(kinds) > 1))
    return "\n\n".join(parts)


def object_rows(documents: Documents, style: Style, *, now: datetime, is_wide: bool, with_heads: bool) -> str:
    """The tables, or their rows alone: for a watcher, whose heads already stand above."""
    shown = object_tables(documents, style, now=now, is_wide=is_wide)
    if with_heads or len({address.kind for address, _ in documents}) > 1:
        return shown
    return "\n".join(shown.splitlines()[1:])


def object_names(documents: Documents) -> str:
    """``kind/name``, one a line; nothing for an empty selection."""
    return "\n".join(str(address) for address, _ in documents)


def as_list(documents: Documents) -> dict[str, Any]:
    """A List with items, as kubectl has it."""
    return {"apiVersion": "v1", "kind": "List", "items": [dict(document) for _, document in documents]}


def as_json(document: Mapping[str, Any]) -> str:
    """Indented JSON with every string redacted."""
    return json.dumps(redacted(document), indent=2, ensure_ascii=False)


def _one_table(kind: str, documents: Documents, style: Style, *, now: datetime, is_wide: bool, names_kind: bool) -> str:
    columns = [column for column in columns_of(kind) if is_wide or not column.is_wide_only]
    rows = []
    for address, document in documents:
        name = str(address) if names_kind else address.name
        rows.append([name, *(column.cell(document) for column in columns), _age(document, now)])
    heads = ["NAME", *(column.head for column in columns), "AGE"]
    return table(heads, rows, style, right={column.head for column in columns if column.is_number})


def _age(document: Mapping[str, Any], now: datetime) -> str:
    created = document.get("metadata", {}).get("creationTimestamp")
    return age_text(now - parse_time(created)) if created else ""
