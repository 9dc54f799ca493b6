"""The registry of kinds: names, short names, scope. Models are imported only when a kind's model is asked for."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from importlib import import_module
from types import MappingProxyType
from typing import TYPE_CHECKING

from nodusctl.base.nearest import nearest

if TYPE_CHECKING:
    from nodusctl.resources.fields import SpecModel, StatusModel

API_VERSION = "nodus.dev/v1"


@dataclass(frozen=True, slots=True, kw_only=True)
class KindFacts:
    """One kind. ``is_system`` means only the program writes it; ``is_org`` that it belongs to no project."""

    kind: str
    singular: str
    plural: str
    short_names: tuple[str, ...] = ()
    module: str
    is_system: bool = False
    is_org: bool = False
    description: str

    @property
    def spec_model(self) -> type[SpecModel]:
        """The pydantic model of ``spec``."""
        model: type[SpecModel] = getattr(import_module(f"nodusctl.resources.{self.module}"), f"{self.kind}Spec")
        return model

    @property
    def status_model(self) -> type[StatusModel]:
        """The pydantic model of ``status``."""
        model: type[StatusModel] = getattr(import_module(f"nodusctl.resources.{self.module}"), f"{self.kind}Status")
        return model


_ALL = (
    KindFacts(
        kind="Workspace",
        singular="workspace",
        plural="workspaces",
        short_names=("ws",),
        module="workspace",
        description="A person's machine for development, with tools, a home that outlives it, and limits on time and money.",
    ),
    KindFacts(
        kind="Function",
        singular="function",
        plural="functions",
        short_names=("fn",),
        module="function",
        description="A Python function that a pool of warm workers serves.",
    ),
    KindFacts(
        kind="Volume",
        singular="volume",
        plural="volumes",
        short_names=("vol",),
        module="volume",
        description="A disk whose content is kept in revisions.",
    ),
    KindFacts(
        kind="Secret",
        singular="secret",
        plural="secrets",
        short_names=("sec",),
        module="secret",
        description="Named values that are written and never shown.",
    ),
    KindFacts(
        kind="SSHKey",
        singular="sshkey",
        plural="sshkeys",
        short_names=("key",),
        module="sshkey",
        is_org=True,
        description="A public key that may log in to Workspaces.",
    ),
    KindFacts(
        kind="Budget",
        singular="budget",
        plural="budgets",
        short_names=("bud",),
        module="budget",
        is_org=True,
        description="A limit on what a scope may spend.",
    ),
    KindFacts(kind="Pool", singular="pool", plural="pools", module="pool", description="Machines of your own that work can be placed on."),
    KindFacts(kind="App", singular="app", plural="apps", module="app", description="Functions that are deployed together."),
    KindFacts(
        kind="Attempt",
        singular="attempt",
        plural="attempts",
        short_names=("att",),
        module="attempt",
        is_system=True,
        description="One period of capacity that filled one slot of an owner, with its receipt.",
    ),
    KindFacts(
        kind="Offering",
        singular="offering",
        plural="offerings",
        short_names=("off",),
        module="offering",
        is_system=True,
        is_org=True,
        description="A class of machine that can be had, with its price.",
    ),
)

KINDS: Mapping[str, KindFacts] = MappingProxyType({facts.kind: facts for facts in _ALL})
_BY_WORD = MappingProxyType(
    {word.lower(): facts for facts in _ALL for word in (facts.kind, facts.singular, facts.plural, *facts.short_names)}
)


def kind_named(text: str) -> KindFacts | None:
    """The kind that ``text`` names: kind, singular, plural or short name, in any case."""
    return _BY_WORD.get(text.lower())


def nearest_kind(text: str) -> str | None:
    """The kind whose name is closest to a misspelt one."""
    return nearest(text, KINDS)
