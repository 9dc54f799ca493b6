"""A whole state taken out of where it is kept, and put in its place: for moving it, for keeping it safe, and for going back.

What is sealed stays sealed, so a pulled state holds no secret in clear; whoever opens it needs a key to it. Locks and claims belong to
processes and don't travel, but for the numbers that tell an old claim from a new one.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from typing import Any, NamedTuple, Protocol

Rows = Sequence[Mapping[str, Any]]


class LastRow(NamedTuple):
    """The newest row of a table that only grows: its number and its text; 0 and empty where there is none."""

    number: int
    body: str


NO_ROW = LastRow(0, "")


@dataclass(frozen=True, slots=True, kw_only=True)
class Identity:
    """Which state, and where in its history. An empty lineage: there is none. ``at_work`` names who works on its objects now."""

    lineage: str = ""
    project: str = ""
    serial: int = 0
    last_event: LastRow = NO_ROW
    last_entry: LastRow = NO_ROW
    at_work: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class PulledState:
    """Every row of every table by name, and how far each table has counted (``numbers``).

    ``revision`` is the schema's; ``pulled_at`` and ``pulled_by`` say when and by whom.
    """

    revision: str
    pulled_at: datetime
    pulled_by: str
    tables: Mapping[str, Rows] = field(repr=False)
    numbers: Mapping[str, int]

    @property
    def identity(self) -> Identity:
        """Which state it is."""
        head = next(iter(self.tables.get("state", ())), None)
        if head is None:
            return Identity()
        return Identity(
            lineage=head["lineage"],
            project=head["project"],
            serial=head["serial"],
            last_event=self._last("journal"),
            last_entry=self._last("entries"),
        )

    def body_of(self, table: str, number: int) -> str:
        """The text of one row; empty where it isn't there."""
        return next((row["body"] for row in self.tables.get(table, ()) if row["sequence"] == number), "")

    def _last(self, table: str) -> LastRow:
        newest = max(self.tables.get(table, ()), key=lambda row: int(row["sequence"]), default=None)
        return LastRow(newest["sequence"], newest["body"]) if newest is not None else NO_ROW


@dataclass(frozen=True, slots=True, kw_only=True)
class Replacement:
    """A state to put in the place of what is there.

    ``check`` is asked in the same transaction, and refuses by raising. ``serial`` makes the new serial out of the present one. ``code``
    and ``message`` are what the journal tells of it.
    """

    state: PulledState
    check: Callable[[Identity], None]
    serial: Callable[[int], int]
    command: str
    by: str
    at: datetime
    operation_id: str
    code: str
    message: str
    why: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Replaced:
    """What was done: the serial now, and where what was there before is kept (None where nothing was there)."""

    serial: int
    backup: Path | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Backup:
    """A kept state. ``why`` it was kept: by-hand, before-push, before-restore, before-upgrade."""

    name: str
    path: Path
    kept_at: datetime
    serial: int
    why: str
    size_bytes: int


class StateCopies(Protocol):
    """One state as a whole."""

    def identity(self) -> Identity:
        """Which state is there now."""
        ...

    def pull(self, by: str, at: datetime) -> PulledState:
        """All of it, as of one moment; without a lineage where there is no state."""
        ...

    def text_of(self, state: PulledState) -> str:
        """The file a pulled state is."""
        ...

    def read(self, path: Path, *, takes_edited: bool = False) -> PulledState:
        """The state in a file, brought up to this version's schema.

        UserError for what is no such file, was cut short or written by a newer version, holds rows that can't be read or books that don't
        add up; and for one that somebody edited, unless ``takes_edited``.
        """
        ...

    def replace(self, replacement: Replacement) -> Replaced:
        """Put a state in the place of what is there, which is kept first, all in one transaction."""
        ...

    def keep(self, why: str, by: str, at: datetime) -> Backup:
        """Keep the state as it is now."""
        ...

    def backups(self) -> tuple[Backup, ...]:
        """Kept states, newest first."""
        ...
