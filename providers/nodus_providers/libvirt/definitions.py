"""Whether a domain's definition still says what we wrote: only what we set is compared, against the inactive XML. Pure.

libvirt fills in what it was not told (addresses, aliases, a machine type with its version, units in KiB) and that is no difference. What
somebody adds is none either, but for cards: a hostdev in a definition of ours is always somebody's edit.
"""

from __future__ import annotations

import xml.etree.ElementTree as ET
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from nodus_providers.libvirt.holders import UNITS, DomainClaim
from nodus_providers.libvirt.pci import PciAddress

# Elements that are not edits of hardware: our own marks, and what changes with every look.
_NOT_COMPARED = frozenset({"metadata", "uuid", "title", "description"})
_SIZES = frozenset({"memory", "currentMemory", "maxMemory"})
# How the elements of a list are told apart: a path to what names one.
_NAMED_BY: Mapping[str, tuple[str, ...]] = {
    "disk": ("target/@dev",),
    "interface": ("mac/@address",),
    "filesystem": ("target/@dir",),
    "channel": ("target/@name", "target/@type"),
    "serial": ("target/@port",),
    "controller": ("@type", "@index"),
    "vcpupin": ("@vcpu",),
    "page": ("@size",),
    "feature": ("@name",),
    "timer": ("@name",),
    "boot": ("@dev",),
    "arg": ("@value",),
    "hostdev": ("source/address/@domain", "source/address/@bus", "source/address/@slot", "source/address/@function"),
}


@dataclass(frozen=True, slots=True)
class Edit:
    """One thing that isn't as we wrote it. ``what`` is a path a person can follow (``devices/disk[vda]/source/@file``)."""

    what: str
    expected: str
    found: str

    @property
    def shown(self) -> str:
        """``memory: 2097152 KiB, was 4194304 KiB``."""
        return f"{self.what}: {self.found or 'nothing'}, was {self.expected or 'nothing'}"


def edits(ours: str, inactive: str) -> tuple[Edit, ...]:
    """What differs between the XML we defined and the inactive XML of now. ValueError for text that isn't a domain."""
    try:
        wrote, stands = ET.fromstring(ours), ET.fromstring(inactive)
    except ET.ParseError as fault:
        raise ValueError(f"not a domain: {fault}") from fault
    return (*_compared(wrote, stands, ""), *_added_cards(wrote, stands))


def taken_cards(devices: Sequence[PciAddress], claims: Sequence[DomainClaim], own_uuid: str = "") -> tuple[tuple[PciAddress, str], ...]:
    """Cards of a machine of ours that somebody else's running domain has now: the address, and the holder."""
    foreign = [one for one in claims if one.is_active and one.uuid != own_uuid]
    return tuple((address, one.holder) for address in devices for one in foreign if address in one.devices)


def _compared(ours: ET.Element, theirs: ET.Element, path: str) -> Iterator[Edit]:
    tag = _local(ours)
    if tag in _SIZES and not list(ours):
        expected, found = _size(ours), _size(theirs)
        if expected != found:
            yield Edit(path, f"{expected // 1024} KiB", f"{found // 1024} KiB")
        return
    for name, value in sorted(ours.attrib.items()):
        found_value = theirs.get(name, "")
        if not _same(tag, name, value, found_value):
            yield Edit(f"{path}/@{name}" if path else f"@{name}", value, found_value)
    text, found_text = (ours.text or "").strip(), (theirs.text or "").strip()
    if text and not _is_same_word(text, found_text):
        yield Edit(path, text, found_text)
    yield from _children(ours, theirs, path)


def _children(ours: ET.Element, theirs: ET.Element, path: str) -> Iterator[Edit]:
    taken: set[int] = set()
    for child in ours:
        tag = _local(child)
        if _local(ours) == "domain" and tag in _NOT_COMPARED:
            continue
        same_tag = [one for one in theirs if _local(one) == tag and id(one) not in taken]
        match = _counterpart(child, same_tag)
        where = f"{path}/{_shown(child)}" if path else _shown(child)
        if match is None:
            if not _is_nothing(child):
                yield Edit(where, "present", "")
            continue
        taken.add(id(match))
        yield from _compared(child, match, where)


def _counterpart(child: ET.Element, candidates: Sequence[ET.Element]) -> ET.Element | None:
    """The element that is meant: of the same name where elements have names, and of those the first that says all we said."""
    own = [(key, value) for key in _NAMED_BY.get(_local(child), ()) if (value := _at(child, key))]
    named = [one for one in candidates if all(_is_same_word(value, _at(one, key)) for key, value in own)]
    return next((one for one in named if not any(_compared(child, one, ""))), named[0] if named else None)


def _added_cards(ours: ET.Element, theirs: ET.Element) -> Iterator[Edit]:
    wrote = {PciAddress.of_element(one) for one in ours.findall("devices/hostdev[@type='pci']/source/address")}
    for one in theirs.findall("devices/hostdev[@type='pci']/source/address"):
        address = PciAddress.of_element(one)
        if address not in wrote:
            yield Edit(f"devices/hostdev[{address}]", "", "present")


def _same(tag: str, name: str, ours: str, theirs: str) -> bool:
    rule = _LOOSE.get((tag, name))
    return rule(ours, theirs) if rule is not None else _is_same_word(ours, theirs)


def _is_same_word(ours: str, theirs: str) -> bool:
    """Equal as text, or as numbers: ``0``, ``0x0000`` and an attribute that isn't there are one."""
    if ours == theirs:
        return True
    try:
        return int(ours, 0) == int(theirs or "0", 0)
    except ValueError:
        return ours.lower() == theirs.lower() and ":" in ours


def _is_versioned(ours: str, theirs: str) -> bool:
    """``q35`` is written back as ``pc-q35-7.2``."""
    return ours == theirs or f"-{ours}-" in f"-{theirs}-" or theirs.startswith(f"{ours}-")


_LOOSE: Mapping[tuple[str, str], Callable[[str, str], bool]] = {
    ("type", "machine"): _is_versioned,
    # libvirt 9.10 and newer write the chosen files instead of the wish for automatic choice.
    ("os", "firmware"): lambda ours, theirs: theirs in {ours, ""},
}


def _is_nothing(element: ET.Element) -> bool:
    """An element that says no more than its absence: what we left empty, and a device of model none."""
    return not element.attrib and not list(element) and not (element.text or "").strip()


def _size(element: ET.Element) -> int:
    text = (element.text or "0").strip() or "0"
    return int(text) * UNITS.get(element.get("unit", "KiB"), 1024)


def _at(element: ET.Element, path: str) -> str:
    where, _, name = path.rpartition("@")
    found = element.find(where.rstrip("/")) if where else element
    return found.get(name, "") if found is not None else ""


def _shown(element: ET.Element) -> str:
    names = [value for key in _NAMED_BY.get(_local(element), ()) if (value := _at(element, key))]
    return f"{_local(element)}[{':'.join(names)}]" if names else _local(element)


def _local(element: ET.Element) -> str:
    return element.tag.rpartition("}")[2]
