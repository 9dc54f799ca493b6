"""``image build`` and ``image list``: which provider makes an image, and whether what was asked for can be made at all.

The making itself is the provider's; nothing here touches the state, and no project is needed.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from nodusctl.base.diagnostics import Diagnostic, error
from nodusctl.base.exits import UserError
from nodusctl.base.nearest import nearest
from nodusctl.ports.providers import PluginFacts
from nodusctl.provider.contract import Provider
from nodusctl.provider.images import BuiltImage, CanBuildImages, ImageOrder, ImageRecipe, StepTold
from nodusctl.resources.defaults import WORKSPACE_IMAGES

# Debian policy 5.6.7: package names.
_PACKAGE = re.compile(r"[a-z0-9][a-z0-9+.-]+\Z")
_MIRROR = re.compile(r"https?://[^\s'\"\[\]@]+\Z")


class PluginClasses(Protocol):
    """Plugins as classes; no instance is opened."""

    def plugins(self) -> tuple[PluginFacts, ...]:
        """Every plugin this Python can see."""
        ...

    def plugin_class(self, type_name: str) -> type[Provider]:
        """The class behind a type name; UserError where it can't be imported."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Buildable:
    """A recipe, with the provider type that has it."""

    provider_type: str
    recipe: ImageRecipe


def buildable_images(plugins: PluginClasses) -> tuple[Buildable, ...]:
    """Every image that some plugin can make here, by name."""
    found = [
        Buildable(provider_type=name, recipe=recipe) for name, builder in _builders(plugins).items() for recipe in builder.image_recipes()
    ]
    return tuple(sorted(found, key=lambda one: (one.recipe.name, one.provider_type)))


def build_image(order: ImageOrder, *, plugins: PluginClasses, step: StepTold) -> BuiltImage:
    """Make an image. UserError: nobody can make it, an option is not valid, its file is there already, or a step failed."""
    faults = tuple(_faults_in(order))
    if faults:
        raise UserError(*faults)
    for builder in _builders(plugins).values():
        if order.name in {recipe.name for recipe in builder.image_recipes()}:
            return builder.build_image(order, step)
    raise UserError(_not_buildable(order.name, [one.recipe.name for one in buildable_images(plugins)]))


def _builders(plugins: PluginClasses) -> Mapping[str, CanBuildImages]:
    found: dict[str, CanBuildImages] = {}
    for one in plugins.plugins():
        builder: object = plugins.plugin_class(one.type) if one.is_loadable else None
        if isinstance(builder, CanBuildImages):
            found[one.type] = builder
    return found


def _faults_in(order: ImageOrder) -> list[Diagnostic]:
    faults = [
        error("Invalid", "A package name is not valid.", f"{name!r} can't be the name of a Debian package.", "Write one such as htop.")
        for name in order.packages
        if not _PACKAGE.match(name)
    ]
    if order.mirror and not _MIRROR.match(order.mirror):
        fix = "Write one such as http://deb.debian.org/debian"
        faults.append(error("Invalid", "A mirror's address is not valid.", "It is an http or https address, without a password.", fix))
    output = Path(order.output)
    if output.is_dir():
        return faults
    if output.exists() or output.is_symlink():
        detail = f"{output} may be the base of machines, which would break if it became another one."
        faults.append(error("AlreadyExists", "The image's file is there already.", detail, "Choose another --output, or give a folder."))
    elif not output.parent.is_dir():
        faults.append(
            error("NotFound", "The image's folder doesn't exist.", f"There is no {output.parent}.", f"Make it:\n  mkdir -p {output.parent}")
        )
    elif output.suffix != ".qcow2":
        faults.append(error("Invalid", "The image's file has another ending.", f"{output.name} is to hold a qcow2.", "End it in .qcow2."))
    return faults


def _not_buildable(name: str, known: list[str]) -> Diagnostic:
    near = nearest(name, known)
    if name in WORKSPACE_IMAGES:
        detail = f"{name} needs drivers, firmware and libraries of graphics cards, and Debian's main archive doesn't have them all."
        return error("Unsupported", "This image can't be made from Debian packages.", detail, _OWN)
    fix = f"Did you mean {near}?" if near else "List what can be made:\n  nodusctl image list"
    return error("ImageNotFound", "There is no recipe for this image.", f"Nothing here can make {name!r}.", fix)


_OWN = (
    "Make it with tools of your own, on top of the CPU image, and name its file under images:\n"
    "  nodusctl image build nodus/workspace-cpu --output DIR"
)
