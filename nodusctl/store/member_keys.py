"""Key pairs of the people who share a state, and the state's key wrapped for one of them.

The wrapping is HPKE (RFC 9180: X25519, HKDF-SHA256, AES-256-GCM), bound to the state's key and to the member's name: a copy put under
another name, or kept from before a rotation, opens nothing. Both halves of a pair are one word of text that says which half it is, with
four bytes of a digest behind it, so that a letter lost in a chat is noticed when it is typed in and not when it is needed.
"""

from __future__ import annotations

import base64
import binascii
import hashlib
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from cryptography.hazmat.primitives import hpke

SECRET, PUBLIC = "nodus-secret-", "nodus-public-"
_KEY_BYTES, _CHECK_BYTES = 32, 4


def new_secret() -> str:
    """The secret half of a fresh pair, as text."""
    from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PrivateKey

    return _spelt(SECRET, X25519PrivateKey.generate().private_bytes_raw())


def is_secret(text: str) -> bool:
    """True where ``text`` means to be the secret half of a pair; whether it is one shows when it is used."""
    return text.strip().startswith(SECRET)


def public_of(secret: str) -> str:
    """The public half. ValueError for text that is no secret half, or lost a letter."""
    from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PrivateKey

    private = X25519PrivateKey.from_private_bytes(_read(SECRET, secret))
    return _spelt(PUBLIC, private.public_key().public_bytes_raw())


def checked_public(text: str) -> str:
    """``text`` without blanks around it. ValueError where it is no public half."""
    return _spelt(PUBLIC, _read(PUBLIC, text))


def wrapped(root: bytes, public: str, context: str) -> bytes:
    """``root`` so that only the holder of the secret half opens it, and only in the same ``context``."""
    from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PublicKey

    sealed: bytes = _suite().encrypt(root, X25519PublicKey.from_public_bytes(_read(PUBLIC, public)), info=context.encode())
    return sealed


def unwrapped(secret: str, sealed: bytes, context: str) -> bytes | None:
    """What was wrapped; None where another key or another context is needed."""
    from cryptography.exceptions import InvalidTag
    from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PrivateKey

    try:
        root: bytes = _suite().decrypt(sealed, X25519PrivateKey.from_private_bytes(_read(SECRET, secret)), info=context.encode())
    except (InvalidTag, ValueError):
        return None
    return root


def _suite() -> hpke.Suite:
    from cryptography.hazmat.primitives import hpke

    return hpke.Suite(hpke.KEM.X25519, hpke.KDF.HKDF_SHA256, hpke.AEAD.AES_256_GCM)


def _spelt(prefix: str, key: bytes) -> str:
    return prefix + base64.b32encode(key + _check(prefix, key)).decode().rstrip("=").lower()


def _read(prefix: str, text: str) -> bytes:
    word = text.strip()
    if not word.startswith(prefix):
        other = SECRET if prefix == PUBLIC else PUBLIC
        raise ValueError(
            f"it is a {'secret' if other == SECRET else 'public'} key" if word.startswith(other) else f"it begins with {prefix}"
        )
    letters = word.removeprefix(prefix).upper()
    try:
        spelt = base64.b32decode(letters + "=" * (-len(letters) % 8))
    except binascii.Error:
        raise ValueError("a letter of it is wrong or missing") from None
    key, check = spelt[:_KEY_BYTES], spelt[_KEY_BYTES:]
    if len(spelt) != _KEY_BYTES + _CHECK_BYTES or check != _check(prefix, key):
        raise ValueError("a letter of it is wrong or missing")
    return key


def _check(prefix: str, key: bytes) -> bytes:
    return hashlib.sha256(prefix.encode() + key).digest()[:_CHECK_BYTES]
