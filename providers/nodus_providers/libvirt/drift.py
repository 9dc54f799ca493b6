"""What somebody did to a machine of ours by hand: its definition edited or removed. Pure, but for packing text.

What we wrote is kept, packed, in the record in the domain's own metadata, so that comparing needs no file. It is written without the cards,
which are there for the start only, and without what isn't hardware.
"""

from __future__ import annotations

import base64
import binascii
import xml.etree.ElementTree as ET
import zlib

from nodus_providers.libvirt.definitions import edits
from nodus_providers.libvirt.hostdevs import without_hostdevs

_NOT_KEPT = ("metadata", "uuid", "name")


def packed(domain_xml: str) -> str:
    """What we define, as it is kept for comparing: about 1 KB of letters."""
    root = without_hostdevs(ET.fromstring(domain_xml))
    for tag in _NOT_KEPT:
        for one in root.findall(tag):
            root.remove(one)
    return base64.b64encode(zlib.compress(ET.tostring(root), 9)).decode("ascii")


def unpacked(text: str) -> str:
    """The XML again. ValueError for text that ``packed`` didn't make."""
    try:
        return zlib.decompress(base64.b64decode(text, validate=True)).decode("utf-8")
    except (binascii.Error, zlib.error) as fault:
        raise ValueError(f"not a kept definition: {fault}") from fault


def changes(wrote: str, inactive_xml: str, *, is_persistent: bool = True) -> tuple[tuple[str, str, str], ...]:
    """What differs from what we wrote: name, as it was made, as it is now.

    Args:
        wrote: as ``packed``; "" for a machine of an older version, of which only the missing definition is told.
        inactive_xml: the stored definition of now.
        is_persistent: False where somebody removed the definition of a machine that runs.
    """
    if not is_persistent:
        return (("definition", "stored", "removed"),)
    if not wrote:
        return ()
    return tuple((one.what, one.expected or "nothing", one.found or "nothing") for one in edits(unpacked(wrote), inactive_xml))
