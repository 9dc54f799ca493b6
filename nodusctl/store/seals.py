"""A state's key in use: AES-256-GCM bound to the name each value has, fingerprints, and copies of the key for members.

Several keys are derived from it, for sealing, for fingerprints, for recognising it again and for vouching for members, so none of them
tells anything about another.
"""

from __future__ import annotations

import hashlib
import hmac
import os
import re
from collections.abc import Iterable
from dataclasses import dataclass, field
from functools import lru_cache

from nodusctl.store import member_keys
from nodusctl.store.key_faults import bad_key, wrong_key

_HEX_KEY = re.compile(r"[0-9a-fA-F]{64}\Z")
_SHORTEST_KEY = 16
_NONCE_BYTES, ROOT_BYTES = 12, 32


@dataclass(frozen=True, slots=True, kw_only=True)
class KeyCopy:
    """The state's key, wrapped for one member. ``proof`` can only be made by somebody who has the key: nobody else adds a member."""

    member: str
    public_key: str
    wrapped: bytes = field(repr=False)
    proof: str = field(repr=False)
    added_at: str
    added_by: str


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

    def copy_for(self, member: str, public_key: str, *, added_at: str, added_by: str) -> KeyCopy:
        """The key wrapped for a member."""
        wrapped = member_keys.wrapped(self._root, public_key, _context(self.check, member))
        return KeyCopy(
            member=member,
            public_key=public_key,
            wrapped=wrapped,
            proof=self._proof(member, public_key),
            added_at=added_at,
            added_by=added_by,
        )

    def vouches_for(self, copy: KeyCopy) -> bool:
        """True where somebody who had this key made the copy, for this member and this public key."""
        return hmac.compare_digest(copy.proof, self._proof(copy.member, copy.public_key))

    def _proof(self, member: str, public_key: str) -> str:
        words = f"{len(member)}:{member}{public_key}"
        return hmac.new(self._derived("members"), words.encode(), hashlib.sha256).hexdigest()

    def _derived(self, use: str) -> bytes:
        return _derived(self._root, use)


@lru_cache(maxsize=32)
def _derived(root: bytes, use: str) -> bytes:
    return hmac.new(root, f"nodusctl state key, for: {use}".encode(), hashlib.sha256).digest()


def _context(check: str, member: str) -> str:
    return f"nodusctl state key copy {check} {member}"


def seal_of_text(text: str, source: str) -> Seal:
    """The key that 64 hex digits are, or that follows from a phrase. UserError for one that is too short."""
    if _HEX_KEY.match(text):
        return Seal(source, bytes.fromhex(text))
    if len(text) < _SHORTEST_KEY:
        raise bad_key(source)
    # A phrase a person chose is guessed offline from a stolen file, so each guess must cost something.
    return Seal(source, hashlib.scrypt(text.encode(), salt=b"nodusctl state key", n=2**14, r=8, p=1))


def new_seal(source: str) -> Seal:
    """A key nobody has yet."""
    return Seal(source, os.urandom(ROOT_BYTES))


def seal_from_copies(secret: str, source: str, check: str, copies: Iterable[KeyCopy]) -> Seal | None:
    """The state's key out of the copy for this member; None where there is none for them, or it is of another key."""
    public = member_keys.public_of(secret)
    for copy in copies:
        root = member_keys.unwrapped(secret, copy.wrapped, _context(check, copy.member)) if copy.public_key == public else None
        if root is not None and (seal := Seal(source, root)).check == check:
            return seal
    return None
