"""Base images a provider can make by itself: a capability of its class, so that it needs no instance, no host and no project.

Making one takes minutes; each step is told to a context manager that is entered for as long as the step takes.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Protocol, runtime_checkable

StepTold = Callable[[str], AbstractContextManager[None]]


@dataclass(frozen=True, slots=True, kw_only=True)
class ImageRecipe:
    """An image that can be made. ``name`` is what Workspaces call it; ``contents`` says in one sentence what is in it."""

    name: str
    contents: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ImageOrder:
    """One image to make.

    ``output`` is an absolute path: the image's file, which must not exist, or a folder, in which it gets a name made of its content.
    ``packages`` come on top of the recipe's. ``mirror`` is a package archive, "" for the recipe's own. ``with_kernel`` also writes kernel
    and initrd beside the image, for machines that boot without firmware. ``environment`` is this process's: PATH and proxies are read.
    """

    name: str
    output: str
    packages: tuple[str, ...] = ()
    mirror: str = ""
    with_kernel: bool = False
    environment: Mapping[str, str] = field(default_factory=lambda: MappingProxyType({}))


@dataclass(frozen=True, slots=True, kw_only=True)
class BuiltImage:
    """An image that was made. ``settings`` are the keys and values under its name in the provider's ``images:``.

    ``versions`` maps each package in it to its version.
    """

    name: str
    path: str
    sha256: str
    size_bytes: int
    settings: Mapping[str, str]
    versions: Mapping[str, str]


@runtime_checkable
class CanBuildImages(Protocol):
    """A provider class that makes base images on this computer."""

    @classmethod
    def image_recipes(cls) -> tuple[ImageRecipe, ...]:
        """What it can make."""
        ...

    @classmethod
    def build_image(cls, order: ImageOrder, step: StepTold) -> BuiltImage:
        """Make one. UserError where this computer lacks something, or a step fails; nothing is left then."""
        ...
