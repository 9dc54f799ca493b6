"""``image build`` and ``image list`` as text and as JSON. The lines for nodusctl.yaml stand as they are to be pasted."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from nodusctl.engine.imaging import Buildable
from nodusctl.provider.images import BuiltImage
from nodusctl.render.counting import counted
from nodusctl.render.style import Style
from nodusctl.render.tables import table


def built_text(built: BuiltImage) -> str:
    """The file, its digest, and the lines for the provider's settings."""
    return "\n".join(
        (
            f"{built.path}",
            f"{built.size_bytes / 2**20:.0f} MiB, {counted(len(built.versions), 'package')}, sha256 {built.sha256}",
            "",
            "In nodusctl.yaml, under the provider that starts machines on a host with this file:",
            *settings_lines(built),
        )
    )


def settings_lines(built: BuiltImage) -> tuple[str, ...]:
    """``images:`` as YAML. Values are paths and words that YAML reads as they are, or are quoted."""
    return ("    images:", f"      {built.name}:", *(f"        {key}: {_scalar(value)}" for key, value in built.settings.items()))


def built_document(built: BuiltImage) -> dict[str, Any]:
    """The same as JSON, with every package's version."""
    return {
        "name": built.name,
        "path": built.path,
        "sha256": built.sha256,
        "sizeBytes": built.size_bytes,
        "images": {built.name: dict(built.settings)},
        "packages": dict(sorted(built.versions.items())),
    }


def recipes_text(found: Sequence[Buildable], style: Style) -> str:
    """A table of what can be made."""
    if not found:
        return "No provider plugin here can make images."
    return table(("NAME", "PROVIDER", "CONTENTS"), [(one.recipe.name, one.provider_type, one.recipe.contents) for one in found], style)


def recipes_document(found: Sequence[Buildable]) -> dict[str, Any]:
    """The same as JSON."""
    return {"images": [{"name": one.recipe.name, "provider": one.provider_type, "contents": one.recipe.contents} for one in found]}


def _scalar(value: str) -> str:
    is_plain = value.isascii() and value.replace("/", "").replace("-", "").replace(".", "").replace("_", "").isalnum()
    # A digest of digits alone, or one such as 12e34, would be a number.
    is_text = is_plain and not value[0].isdigit() and value[0] not in "-."
    return value if is_text else '"' + value.replace("\\", "\\\\").replace('"', '\\"') + '"'
