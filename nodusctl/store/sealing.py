"""Sealed values: AES-256-GCM under one key per state, bound to the name each value has.

The key comes as text (the wiring reads ``NODUSCTL_STATE_KEY``) or from a 0600 file outside the project, made whole or not at all on
first need. Three keys are derived from it, for sealing, for fingerprints and for recognising it again, so none of them tells anything
about another.

The surprise: fingerprints depend on the key alone, not on the lineage, because a plan on no state must compute the same ones as the
apply that creates the state.
"""

from __future__ import annotations

import hashlib
import hmac
import os
import re
import secrets
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path

from nodusctl.base.redaction import REDACTOR
from nodusctl.store.faults import bad_key, missing_key, open_key_file, wrong_key

_HEX_KEY = re.compile(r"[0-9a-fA-F]{64}\Z")
_SHORTEST_KEY = 16
_NONCE_BYTES = 12


_OWN_KEYS = ("boot/", "boot-part/", "service-key/", "host-key/")


@dataclass(frozen=True, slots=True, kw_only=True)
class KeyMaterial:
    """Where the key is: ``text`` wins where it isn't empty; else the file at ``path``, which is made when a value is first sealed."""

    text: str = field(default="", repr=False)
    path: Path | None = None

    @property
    def source(self) -> str:
        """For messages."""
        return "NODUSCTL_STATE_KEY" if self.text else str(self.path)


@dataclass(frozen=True, slots=True)
class Seal:
    """A key in use."""

    source: str
    _root: bytes = field(repr=False)

    def close(self, name: str, value: str) -> bytes:
        """``value`` encrypted; opens under the same name only."""
        from cryptography.hazmat.primitives.ciphers.aead import AESGCM

        nonce = os.urandom(_NONCE_BYTES)
        return nonce + AESGCM(self._derived("seal")).encrypt(nonce, value.encode(), name.encode())

    def open(self, name: str, sealed: bytes) -> str:
        """The value in clear; UserError where the key or the name is another."""
        from cryptography.exceptions import InvalidTag
        from cryptography.hazmat.primitives.ciphers.aead import AESGCM

        nonce, body = sealed[:_NONCE_BYTES], sealed[_NONCE_BYTES:]
        try:
            return AESGCM(self._derived("seal")).decrypt(nonce, body, name.encode()).decode()
        except InvalidTag:
            raise wrong_key(self.source) from None

    def fingerprint(self, value: str) -> str:
        """64 hex digits of HMAC-SHA256."""
        return hmac.new(self._derived("fingerprint"), value.encode(), hashlib.sha256).hexdigest()

    @property
    def check(self) -> str:
        """What the state keeps to recognise its key; tells nothing about it."""
        return self._derived("check").hex()

    def _derived(self, use: str) -> bytes:
        return _derived(self._root, use)


@lru_cache(maxsize=16)
def _derived(root: bytes, use: str) -> bytes:
    return hmac.new(root, f"nodusctl state key, for: {use}".encode(), hashlib.sha256).digest()


class Vault:
    """The key of one state, found when first needed and held against the check the state keeps (empty: any key will do)."""

    def __init__(self, material: KeyMaterial, *, may_create: bool) -> None:
        self._material, self._may_create = material, may_create
        self._seal: Seal | None = None

    @property
    def used_check(self) -> str:
        """The check of the key this process has used; empty while it used none."""
        return self._seal.check if self._seal else ""

    def close(self, key_check: str, values: Mapping[str, str]) -> Mapping[str, bytes]:
        """``values`` sealed under their names, and known to the redactor from now on."""
        seal = self._needed(key_check)
        for name, value in values.items():
            _remember(name, value)
        return {name: seal.close(name, value) for name, value in values.items()}

    def open(self, key_check: str, name: str, sealed: bytes) -> str:
        """One value in clear, known to the redactor from now on."""
        value = self._needed(key_check).open(name, sealed)
        _remember(name, value)
        return value

    def fingerprint(self, key_check: str, value: str) -> str:
        """The keyed HMAC; empty for a reader without the key (a plan then says "value taken at apply")."""
        seal = self._found(key_check) if not self._may_create else self._needed(key_check)
        return seal.fingerprint(value) if seal else ""

    def _needed(self, key_check: str) -> Seal:
        seal = self._found(key_check)
        if seal is None:
            raise missing_key(self._material.path)
        return seal

    def _found(self, key_check: str) -> Seal | None:
        if self._seal is None:
            self._seal = find_seal(self._material, may_create=self._may_create and not key_check)
        if self._seal is not None and key_check and self._seal.check != key_check:
            raise wrong_key(self._material.source)
        return self._seal


def find_seal(material: KeyMaterial, *, may_create: bool) -> Seal | None:
    """The key, or None where there is none and none may be made; UserError for one that is too short or open to others."""
    if material.text:
        return Seal(material.source, _root_of(material.text.strip(), material.source))
    if material.path is None:
        return None
    if not material.path.exists():
        if not may_create:
            return None
        _make_key_file(material.path)
    return Seal(material.source, _root_of(_read_key_file(material.path), material.source))


def _root_of(text: str, source: str) -> bytes:
    if _HEX_KEY.match(text):
        return bytes.fromhex(text)
    if len(text) < _SHORTEST_KEY:
        raise bad_key(source)
    # A phrase a person chose is guessed offline from a stolen file, so each guess must cost something.
    return hashlib.scrypt(text.encode(), salt=b"nodusctl state key", n=2**14, r=8, p=1)


def _read_key_file(path: Path) -> str:
    mode = path.stat().st_mode & 0o777
    if mode & 0o077:
        raise open_key_file(path, mode)
    return path.read_text().strip()


def _make_key_file(path: Path) -> None:
    """Whole or not at all, and never over another process's: the first link wins and everybody reads that one."""
    path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    draft = path.with_name(f".{path.name}.{secrets.token_hex(8)}")
    descriptor = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    try:
        os.write(descriptor, secrets.token_hex(32).encode() + b"\n")
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
    try:
        os.link(draft, path)
    except FileExistsError:
        pass
    finally:
        draft.unlink()


def _remember(name: str, value: str) -> None:
    """Tell the redactor, but for keys we made ourselves: their form alone gives them away, and there is one for every machine."""
    if not name.startswith(_OWN_KEYS):
        REDACTOR.remember(value)
