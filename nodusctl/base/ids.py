"""Identity: addresses for people, uids for machines, and where new uids come from."""

from __future__ import annotations

import uuid
from dataclasses import dataclass
from typing import Protocol


@dataclass(frozen=True, slots=True, order=True)
class Address:
    """What a person calls an object: ``workspace/lab``. ``kind`` is the lower-case singular."""

    kind: str
    name: str

    def __str__(self) -> str:
        return f"{self.kind}/{self.name}"

    @classmethod
    def parse(cls, text: str) -> Address:
        """Read ``kind/name``; ValueError says what is right."""
        kind, slash, name = text.partition("/")
        if not (kind and slash and name):
            raise ValueError("an address is kind/name, such as workspace/lab")
        return cls(kind.lower(), name)


class IdSource(Protocol):
    """Where new uids come from."""

    def new_uid(self) -> str:
        """A uid nobody has seen before."""
        ...


@dataclass(frozen=True, slots=True)
class RandomIds:
    """RFC 9562 version 4 uids."""

    def new_uid(self) -> str:
        return str(uuid.uuid4())


class CountedIds:
    """Uids that repeat from run to run, for plans/ and tests."""

    def __init__(self, seed: str = "nodusctl") -> None:
        self._seed, self._count = seed, 0

    def new_uid(self) -> str:
        self._count += 1
        return str(uuid.uuid5(uuid.NAMESPACE_URL, f"{self._seed}/{self._count}"))
