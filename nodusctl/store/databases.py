"""Where a state is kept, as the journal, the claims and the passes see it: something to ask at one moment, and to change by one writer.

Whatever is passed to ``reading`` and ``changing`` may be run again, where a database far away was lost on the way: it must do nothing but
read and write through its connection.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager
from typing import TYPE_CHECKING, Protocol, TypeVar

if TYPE_CHECKING:
    from sqlalchemy import Connection

T = TypeVar("T")


class Database(Protocol):
    """One state's tables."""

    @property
    def is_read_only(self) -> bool:
        """True where every change is a RuntimeError."""
        ...

    @property
    def place(self) -> str:
        """Where it is, for people: a path, or a URL without its password."""
        ...

    def read(self) -> AbstractContextManager[Connection | None]:
        """A connection that sees one moment, for the length of the block; None where there is no state yet."""
        ...

    def reading(self, question: Callable[[Connection], T], when_missing: T) -> T:
        """The answer to ``question`` as of one moment."""
        ...

    def changing(self, act: Callable[[Connection], T], *, is_durable: bool = True) -> T:
        """What ``act`` returns once all it wrote is committed, while nobody else writes; makes the tables, or brings them up, first.

        Without ``is_durable`` a power cut may take the commit back. Where ``act`` raises nothing was written.
        """
        ...

    def version(self) -> int:
        """Changes when somebody else has committed, and not by our own commits."""
        ...

    def has_tables(self) -> bool:
        """False while nothing was ever written."""
        ...

    def close(self) -> None:
        """Give the connections back."""
        ...
