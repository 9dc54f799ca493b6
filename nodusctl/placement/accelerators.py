"""The accelerators we know, and what a person means by writing one.

A person writes a family (``H100``) or a variant of it (``H100-SXM``, ``A100-80GB``). Words are read as tokens, so that ``rtx 4090``,
``RTX-4090`` and ``NVIDIA GeForce RTX 4090`` are one card, while ``L4`` and ``L40S`` never meet.

The surprise: without a pin a variant stands for its whole family (seed: "Exact pins the exact variant instead of matching the family"),
but a memory size in it is always a floor, so ``A100-80GB`` never gets the 40 GB card.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import lru_cache

from nodusctl.base.nearest import nearest
from nodusctl.provider.offers import Accelerator

GIB = 1024**3

# family: (vendor, "form-GiB" of each variant). A form of "" means the card is sold in one form that nobody names.
_FAMILIES: dict[str, tuple[str, str]] = {
    "t4": ("nvidia", "-16"),
    "t4g": ("nvidia", "-16"),
    "p4": ("nvidia", "-8"),
    "p100": ("nvidia", "-16"),
    "k80": ("nvidia", "-12"),
    "v100": ("nvidia", "-16 sxm-16 sxm-32 pcie-16 pcie-32"),
    "a10": ("nvidia", "-24"),
    "a10g": ("nvidia", "-24"),
    "a16": ("nvidia", "-16"),
    "a30": ("nvidia", "-24"),
    "a40": ("nvidia", "-48"),
    "a100": ("nvidia", "sxm-40 sxm-80 pcie-40 pcie-80"),
    "a4000": ("nvidia", "-16"),
    "a5000": ("nvidia", "-24"),
    "a6000": ("nvidia", "-48"),
    "l4": ("nvidia", "-24"),
    "l40": ("nvidia", "-48"),
    "l40s": ("nvidia", "-48"),
    "h100": ("nvidia", "sxm-80 pcie-80 nvl-94"),
    "h200": ("nvidia", "sxm-141 nvl-141"),
    "gh200": ("nvidia", "-96"),
    "b200": ("nvidia", "sxm-180"),
    "b300": ("nvidia", "sxm-270"),
    "gb200": ("nvidia", "-186"),
    "rtx6000": ("nvidia", "-24"),
    "rtx6000ada": ("nvidia", "-48"),
    "rtxpro4500": ("nvidia", "-32"),
    "rtxpro6000": ("nvidia", "-96"),
    "rtx3060": ("nvidia", "-12"),
    "rtx3070": ("nvidia", "-8"),
    "rtx3080": ("nvidia", "-10"),
    "rtx3080ti": ("nvidia", "-12"),
    "rtx3090": ("nvidia", "-24"),
    "rtx3090ti": ("nvidia", "-24"),
    "rtx4060": ("nvidia", "-8"),
    "rtx4060ti": ("nvidia", "-16"),
    "rtx4070": ("nvidia", "-12"),
    "rtx4070ti": ("nvidia", "-12"),
    "rtx4080": ("nvidia", "-16"),
    "rtx4090": ("nvidia", "-24"),
    "rtx5060ti": ("nvidia", "-16"),
    "rtx5070": ("nvidia", "-12"),
    "rtx5070ti": ("nvidia", "-16"),
    "rtx5080": ("nvidia", "-16"),
    "rtx5090": ("nvidia", "-32"),
    "mi210": ("amd", "-64"),
    "mi250x": ("amd", "oam-128"),
    "mi300x": ("amd", "oam-192"),
    "mi325x": ("amd", "oam-256"),
    "mi355x": ("amd", "oam-288"),
    "v620": ("amd", "-32"),
    "inferentia": ("aws", "-8"),
    "inferentia2": ("aws", "-32"),
}
_NOISE = frozenset({"nvidia", "amd", "geforce", "tesla", "instinct", "quadro", "server", "edition"})
_FORM = re.compile(r"(sxm|pcie|nvl|oam)\d?\Z")
_MEMORY = re.compile(r"(\d+)(?:g|gb|gib|gi)\Z")


@dataclass(frozen=True, slots=True, kw_only=True)
class Named:
    """What one word means: a family, perhaps a form, perhaps a memory floor in GiB. ``is_pinned`` where it ended in ``!``."""

    family: str
    form: str = ""
    memory_gib: int = 0
    is_pinned: bool = False

    @property
    def is_variant(self) -> bool:
        """True where more than the family was said."""
        return bool(self.form or self.memory_gib)


@lru_cache(maxsize=1024)
def read_name(word: str) -> Named:
    """Read ``H100``, ``h100-sxm5!``, ``A100-80GB`` or an accelerator id; never fails (an unknown card is a family of its own)."""
    form, memory_gib, rest = "", 0, []
    for token in re.findall(r"[a-z0-9]+", word.lower()):
        if found := _FORM.fullmatch(token):
            form = found[1]
        elif found := _MEMORY.fullmatch(token):
            memory_gib = int(found[1])
        elif token not in _NOISE:
            rest.append(token)
    return Named(family="".join(rest), form=form, memory_gib=memory_gib, is_pinned=word.rstrip().endswith("!"))


def accelerator_id(family: str, form: str, memory_gib: int) -> str:
    """The catalog id: ``h100-sxm``; with the memory (``a100-sxm-80g``) only where form alone doesn't tell two variants apart."""
    base = f"{family}-{form}" if form else family
    sizes = {size for other, size in _variants(family) if other == form}
    return f"{base}-{memory_gib}g" if len(sizes | {memory_gib}) > 1 else base


def accelerator(family: str, form: str, memory_gib: int, vendor: str = "") -> Accelerator:
    """A catalog value for one GPU model; ``vendor`` is needed only for a card the catalog doesn't know."""
    known = _FAMILIES.get(family)
    return Accelerator(
        id=accelerator_id(family, form, memory_gib),
        family=family,
        vendor=known[0] if known else vendor,
        memory_bytes=memory_gib * GIB,
    )


def catalog() -> tuple[Accelerator, ...]:
    """Every accelerator we know, by family and variant."""
    return tuple(accelerator(family, form, size) for family in _FAMILIES for form, size in _variants(family))


def is_known(word: str) -> bool:
    """True if ``word`` names a family of the catalog and, where it names a form or size, a variant of it."""
    named = read_name(word)
    return any(named.form in ("", form) and named.memory_gib in (0, size) for form, size in _variants(named.family))


def nearest_name(word: str) -> str | None:
    """The catalog's nearest family or id to a word that isn't known."""
    names = {**dict.fromkeys(_FAMILIES), **dict.fromkeys(entry.id for entry in catalog())}
    return nearest(word.rstrip("!"), names)


def variants_of(family: str) -> tuple[Accelerator, ...]:
    """The variants of a family, empty where the catalog doesn't know it."""
    return tuple(accelerator(family, form, size) for form, size in _variants(family))


def matches(word: str, card: Accelerator, *, is_exact: bool = False) -> bool:
    """True if an offer's ``card`` satisfies what a person wrote.

    A family matches each of its variants and never another family. ``is_exact`` (or a trailing ``!``) pins the form and the size
    written; pinning a family with several variants pins nothing that exists, so it matches none of them.
    """
    wanted, offered = read_name(word), read_name(card.id)
    if wanted.family not in {offered.family, card.family}:
        return False
    if not (is_exact or wanted.is_pinned):
        return card.memory_bytes >= wanted.memory_gib * GIB
    if wanted.is_variant:
        return wanted.form in ("", offered.form) and wanted.memory_gib * GIB in (0, card.memory_bytes)
    return not offered.is_variant and len(_variants(wanted.family)) <= 1


def _variants(family: str) -> tuple[tuple[str, int], ...]:
    if family not in _FAMILIES:
        return ()
    pairs = (variant.rpartition("-") for variant in _FAMILIES[family][1].split())
    return tuple((form, int(size)) for form, _, size in pairs)
