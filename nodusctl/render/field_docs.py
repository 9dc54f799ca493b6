"""``explain FIELD`` as text and as JSON."""

from __future__ import annotations

from typing import Any

from nodusctl.render.style import Style
from nodusctl.render.tables import pairs, table
from nodusctl.resources.explain import FieldDoc


def field_text(doc: FieldDoc, style: Style) -> str:
    """Path, description, facts, and the fields below."""
    head = [f"{style.paint(doc.path, 'bold')}  <{doc.type}>{'  required' if doc.is_required else ''}", "", doc.description]
    facts = pairs([("Default", doc.default), ("Rule", doc.rule), ("May change", doc.mutability.value if doc.mutability else "")], indent=2)
    parts = ["\n".join(head)] + ([facts] if facts else [])
    if doc.fields:
        parts.append("Fields\n" + table(("NAME", "TYPE", "WHAT IT IS"), doc.fields, style, indent=2))
    return "\n\n".join(parts)


def field_document(doc: FieldDoc) -> dict[str, Any]:
    """The same as JSON."""
    return {
        "path": doc.path,
        "type": doc.type,
        "description": doc.description,
        "default": doc.default,
        "rule": doc.rule,
        "mutability": doc.mutability.value if doc.mutability else "",
        "required": doc.is_required,
        "fields": [{"name": name, "type": kind, "description": description} for name, kind, description in doc.fields],
    }
