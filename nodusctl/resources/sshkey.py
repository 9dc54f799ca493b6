"""SSHKey: a public key that may log in. Weak keys are refused when they are written, not when somebody is locked out."""

from __future__ import annotations

import base64
import binascii
import hashlib
from typing import Annotated

from pydantic import AfterValidator

from nodusctl.resources.fields import REQUIRED, SpecModel, StatusModel, refuse, spec_field
from nodusctl.resources.scalars import Count, Text

MIN_RSA_BITS = 3072
_TYPES = frozenset({"ssh-ed25519", "ecdsa-sha2-nistp256", "ecdsa-sha2-nistp384", "ecdsa-sha2-nistp521", "ssh-rsa"})
_ACCEPTED = "ssh-ed25519, ecdsa-sha2-nistp256/384/521 and ssh-rsa of at least 3072 bits are accepted"


def _wire_fields(blob: bytes) -> list[bytes]:
    """The length-prefixed fields of an SSH public key blob (RFC 4253 section 6.6); ValueError if they don't fit."""
    fields, position = [], 0
    while position < len(blob):
        size = int.from_bytes(blob[position : position + 4])
        field = blob[position + 4 : position + 4 + size]
        if len(field) != size or position + 4 > len(blob):
            raise ValueError("a field of the key is cut off")
        fields.append(field)
        position += 4 + size
    return fields


def check_public_key(text: str) -> str:
    """One public key line, checked whole: type, base64, inner type, strength. Returned without outer spaces."""
    line = text.strip()
    if "PRIVATE KEY" in line:
        raise refuse(
            "Invalid",
            "This is a private key.",
            "A private key never belongs in a file of a project.",
            "Write the one line of the .pub file beside it.",
        )
    parts = line.split(None, 2)
    if len(parts) < 2 or "\n" in line:
        raise refuse(
            "Invalid", "A public key is not readable.", "It is one line: type, base64, comment.", "Write the one line of a .pub file."
        )
    if parts[0] not in _TYPES:
        raise refuse(
            "NotSupported",
            "The type of a public key is not accepted.",
            f"{parts[0][:40]!r} was written; {_ACCEPTED}.",
            "ssh-keygen -t ed25519",
        )
    try:
        fields = _wire_fields(base64.b64decode(parts[1], validate=True))
    except (ValueError, binascii.Error):
        raise refuse(
            "Invalid", "A public key is not readable.", "Its base64 part is damaged.", "Copy the one line of the .pub file again."
        ) from None
    if not _is_whole(parts[0], fields):
        raise refuse(
            "Invalid",
            "A public key is not readable.",
            "Its base64 part does not hold a key of the type before it.",
            "Copy the one line of the .pub file again.",
        )
    if parts[0] == "ssh-rsa" and (bits := int.from_bytes(fields[2]).bit_length()) < MIN_RSA_BITS:
        raise refuse(
            "Invalid", "An RSA key is too short.", f"It has {bits} bits; at least {MIN_RSA_BITS} are needed.", "ssh-keygen -t ed25519"
        )
    return line


def _is_whole(key_type: str, fields: list[bytes]) -> bool:
    if not fields or fields[0] != key_type.encode():
        return False
    if key_type == "ssh-ed25519":
        return len(fields) == 2 and len(fields[1]) == 32
    if key_type == "ssh-rsa":
        return len(fields) == 3
    return len(fields) == 3 and fields[1] == key_type.rpartition("-")[2].encode() and fields[2][:1] == b"\x04"


def fingerprint(public_key: str) -> str:
    """The fingerprint ``ssh-keygen -l`` prints: ``SHA256:`` and unpadded base64."""
    blob = base64.b64decode(public_key.split()[1])
    return "SHA256:" + base64.b64encode(hashlib.sha256(blob).digest()).decode().rstrip("=")


class SSHKeySpec(SpecModel):
    """What is written."""

    public_key: Annotated[Text, AfterValidator(check_public_key)] = spec_field(
        "The one line of a .pub file.", REQUIRED, rule="ssh-ed25519, ecdsa, or ssh-rsa of at least 3072 bits."
    )


class SSHKeyStatus(StatusModel):
    """What was derived."""

    fingerprint: str | None = spec_field("SHA256 fingerprint, as ssh-keygen prints it.")
    observed_generation: Count | None = spec_field("The generation of the spec this status reflects.")
