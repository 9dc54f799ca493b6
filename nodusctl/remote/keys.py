"""ed25519 keys in OpenSSH's form: fresh ones, and the one person key under the user's data folder."""

from __future__ import annotations

import base64
import binascii
import contextlib
import hashlib
import os
import tempfile
from pathlib import Path

from nodusctl.ports.reach import KeyPair

_PERSON_KEY = Path("ssh") / "id_ed25519"


class OpenSshKeys:
    """A ``KeySource`` that makes real keys."""

    def new_key(self, comment: str) -> KeyPair:
        from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
        from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat, PublicFormat

        key = Ed25519PrivateKey.generate()
        private = key.private_bytes(Encoding.PEM, PrivateFormat.OpenSSH, NoEncryption()).decode()
        public = key.public_key().public_bytes(Encoding.OpenSSH, PublicFormat.OpenSSH).decode()
        return KeyPair(private=private, public=f"{public} {comment}".rstrip())


def person_key(data_dir: str, comment: str = "nodusctl") -> tuple[KeyPair, str]:
    """The person's own key and the path of its private half; made on first use (mode 0600), the same one for every process that asks.

    OSError where the folder can't be written, ValueError where the file holds no ed25519 key.
    """
    path = Path(data_dir) / _PERSON_KEY
    if not path.exists():
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        _place_once(path, OpenSshKeys().new_key(comment).private)
    private = path.read_text(encoding="utf-8")
    pair = KeyPair(private=private, public=f"{public_of(private)} {comment}")
    _write_public(path.with_suffix(".pub"), pair.public)
    return pair, str(path)


def public_of(private: str) -> str:
    """The public line, without comment, of an OpenSSH private key; ValueError for anything else."""
    from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat, load_ssh_private_key

    key = load_ssh_private_key(private.encode(), password=None)
    return key.public_key().public_bytes(Encoding.OpenSSH, PublicFormat.OpenSSH).decode()


def fingerprint(public: str) -> str:
    """``SHA256:…`` of a public key line, as ssh-keygen prints it; ValueError for a line that isn't one."""
    fields = public.split()
    try:
        body = base64.b64decode(fields[1], validate=True)
    except (IndexError, binascii.Error) as fault:
        raise ValueError("a public key is one line: type, base64 and an optional comment") from fault
    return "SHA256:" + base64.b64encode(hashlib.sha256(body).digest()).decode().rstrip("=")


def _place_once(path: Path, text: str) -> None:
    """Whoever is first wins: a hard link never replaces a key that another process has placed meanwhile."""
    handle, temporary = tempfile.mkstemp(dir=path.parent, prefix=".new-")
    try:
        with os.fdopen(handle, "w", encoding="utf-8") as stream:
            stream.write(text)
            stream.flush()
            os.fsync(stream.fileno())
        with contextlib.suppress(FileExistsError):
            os.link(temporary, path)
    finally:
        Path(temporary).unlink()


def _write_public(path: Path, line: str) -> None:
    if not path.exists():
        with contextlib.suppress(FileExistsError), path.open("x", encoding="utf-8") as stream:
            stream.write(line + "\n")
