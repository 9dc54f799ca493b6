"""Sealed values: encrypted under one key per state, found where this person keeps theirs.

A state of one person has its key in ``NODUSCTL_STATE_KEY`` or in a file, made on first need. A state of a team holds its key itself,
wrapped once for each member, and what a person has is the secret half of their own pair (``member_keys``). Which of the two a state is,
the state says: one that holds copies is a team's.

The surprise: fingerprints depend on the key alone, not on the lineage, because a plan on no state must compute the same ones as the
apply that creates the state.
"""

from __future__ import annotations

import secrets
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from nodusctl.base.redaction import REDACTOR
from nodusctl.store import member_keys
from nodusctl.store.key_faults import bad_member_key, member_key_alone, missing_key, no_member, wrong_key
from nodusctl.store.key_places import KeyFile, KeyPlace, KeyringEntry
from nodusctl.store.seals import KeyCopy, Seal, seal_from_copies, seal_of_text

VARIABLE = "NODUSCTL_STATE_KEY"
_OWN_KEYS = ("boot/", "boot-part/", "service-key/", "host-key/")


@dataclass(frozen=True, slots=True, kw_only=True)
class KeyMaterial:
    """Where keys are: ``text`` wins where it isn't empty, then what lies at ``path``, made when a value is first sealed.

    ``member_path`` is this person's half of a pair, for states of a team. With ``uses_keyring`` both lie in the desktop's keyring instead.
    """

    text: str = field(default="", repr=False)
    path: Path | None = None
    member_path: Path | None = None
    uses_keyring: bool = False

    @property
    def source(self) -> str:
        """For messages."""
        if self.text:
            return VARIABLE
        place = self.place
        return place.shown if place is not None else "nowhere"

    @property
    def place(self) -> KeyPlace | None:
        """Where the key of a state of one person lies, or would be made."""
        if self.uses_keyring:
            return KeyringEntry("state key")
        return KeyFile(self.path) if self.path is not None else None

    @property
    def member_place(self) -> KeyPlace | None:
        """Where this person's half of a pair lies, or would be made."""
        if self.uses_keyring:
            return KeyringEntry("member key")
        return KeyFile(self.member_path) if self.member_path is not None else None

    def found(self) -> Iterator[tuple[str, str]]:
        """Every key there is, with its source, the strongest first."""
        if self.text.strip():
            yield self.text.strip(), VARIABLE
        for place in (self.place, self.member_place):
            if place is not None and (text := place.read()):
                yield text, place.shown


@dataclass(frozen=True, slots=True)
class Ring:
    """How a state recognises its key (``check``, empty while any will do), and the copies it holds of it, read when needed."""

    check: str = ""
    copies: Callable[[], tuple[KeyCopy, ...]] = tuple


NO_RING = Ring()
"""That of a state that doesn't exist yet."""


class Vault:
    """The key of one state, found when first needed and again where somebody has made a new one since."""

    def __init__(self, material: KeyMaterial, *, may_create: bool) -> None:
        self.material, self._may_create = material, may_create
        self._seal: Seal | None = None

    @property
    def used_check(self) -> str:
        """The check of the key this process has used; empty while it used none."""
        return self._seal.check if self._seal else ""

    def close(self, ring: Ring, values: Mapping[str, str]) -> Mapping[str, bytes]:
        """``values`` sealed under their names, and known to the redactor from now on."""
        seal = self.seal(ring)
        for name, value in values.items():
            _remember(name, value)
        return {name: seal.close(name, value) for name, value in values.items()}

    def open(self, ring: Ring, name: str, sealed: bytes) -> str:
        """One value in clear, known to the redactor from now on."""
        value = self.seal(ring).open(name, sealed)
        _remember(name, value)
        return value

    def fingerprint(self, ring: Ring, value: str) -> str:
        """The keyed HMAC; empty for a reader without the key (a plan then says "value taken at apply")."""
        seal = self._found(ring) if not self._may_create else self.seal(ring)
        return seal.fingerprint(value) if seal else ""

    def seal(self, ring: Ring) -> Seal:
        """The state's key; UserError where this person doesn't have it."""
        seal = self._found(ring)
        if seal is None:
            raise missing_key(self.material.path, is_team=bool(ring.copies()))
        return seal

    def take_up(self, seal: Seal) -> None:
        """Go on with a key that was made a moment ago."""
        self._seal = seal

    def _found(self, ring: Ring) -> Seal | None:
        if self._seal is None or (ring.check and self._seal.check != ring.check):
            copies = ring.copies() if ring.check else ()
            seal = find_member_seal(self.material, ring.check, copies) if copies else self._find_single(ring)
            self._seal = seal
        return self._seal

    def _find_single(self, ring: Ring) -> Seal | None:
        seal = find_seal(self.material, may_create=self._may_create and not ring.check)
        if seal is not None and ring.check and seal.check != ring.check:
            raise wrong_key(self.material.source)
        return seal


def find_seal(material: KeyMaterial, *, may_create: bool) -> Seal | None:
    """The key of a state of one person, or None where there is none and none may be made; UserError for one that can't be it."""
    place = material.place
    text = material.text.strip() or (place.read() if place is not None else "")
    if not text and may_create and place is not None:
        text = place.keep(secrets.token_hex(32))
    if member_keys.is_secret(text):
        if may_create:
            raise member_key_alone(material.source)
        return None
    if not text:
        return None
    return seal_of_text(text, material.source)


def find_member_seal(material: KeyMaterial, check: str, copies: tuple[KeyCopy, ...]) -> Seal | None:
    """The key of a team's state, by any key this person has; None where they have none. UserError where none of theirs opens it."""
    public = ""
    for text, source in material.found():
        if member_keys.is_secret(text):
            try:
                seal, public = seal_from_copies(text, source, check, copies), public or member_keys.public_of(text)
            except ValueError as problem:
                raise bad_member_key(source, str(problem)) from None
        else:
            whole = seal_of_text(text, source)
            seal = whole if whole.check == check else None
        if seal is not None:
            return seal
    if public:
        raise no_member(public)
    return None


def _remember(name: str, value: str) -> None:
    """Tell the redactor, but for keys we made ourselves: their form alone gives them away, and there is one for every machine."""
    if not name.startswith(_OWN_KEYS):
        REDACTOR.remember(value)
