"""The first-boot disk of a machine: an ISO 9660 image with label cidata, as cloud-init's NoCloud reads it.

It is named by what is in it, so a changed document is another disk and never written over one that is there.
"""

from __future__ import annotations

import hashlib
import io
import json


def seed_name(machine_id: str, host_name: str, boot: str) -> str:
    """The file's name: 16 hex digits of a digest over everything in it."""
    return f"seed-{hashlib.sha256(json.dumps([machine_id, host_name, boot]).encode()).hexdigest()[:16]}.iso"


def seed_image(machine_id: str, host_name: str, boot: str) -> bytes:
    """The image, with Rock Ridge and Joliet names. ``host_name`` is what the machine calls itself."""
    import pycdlib

    files = {"meta-data": f"instance-id: {machine_id}\nlocal-hostname: {host_name}\n", "user-data": boot}
    image = pycdlib.PyCdlib()
    image.new(interchange_level=3, joliet=3, rock_ridge="1.09", vol_ident="cidata")
    for name, text in files.items():
        content = text.encode()
        plain = name.upper().replace("-", "_")
        image.add_fp(io.BytesIO(content), len(content), f"/{plain}.;1", rr_name=name, joliet_path=f"/{name}")
    whole = io.BytesIO()
    image.write_fp(whole)
    image.close()
    return whole.getvalue()


def host_name_of(machine_name: str) -> str:
    """A host name out of a machine's name: at most 63 characters of letters, digits and dashes."""
    plain = "".join(char if char.isalnum() and char.isascii() else "-" for char in machine_name.lower())
    return plain.strip("-")[:63].rstrip("-") or "nodus"
