"""Passes beside a state that nobody else in this process needs yet: what an idle ``tick`` takes, with SQLite's own driver alone.

SQLAlchemy takes longer to load than an idle pass takes. Of records and statuses SQLite itself picks the few parts that decide, so ten
thousand specs and approvals are never made into values. Whatever is met but a file of this version's schema (an older one, a newer one,
another program's, a lock that nobody gives up) is left to the state opened in full, which mends it or says what is wrong.
"""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any, TypeVar

from nodusctl.base.ids import Address
from nodusctl.base.money import Money
from nodusctl.base.timestamps import format_time, parse_time
from nodusctl.lifecycle.news import SAVE_FAILED
from nodusctl.lifecycle.passing import SPEC_PARTS, Brief
from nodusctl.ports.passes import Glance, Passes, PassNote
from nodusctl.state.status import Phase, StorageStretch, WindowsStanding
from nodusctl.store.channels import open_kept, open_reader
from nodusctl.store.faults import newer_value
from nodusctl.store.freetext import without_secrets
from nodusctl.store.location import is_missing, path_of
from nodusctl.store.revision import PASSES_KEPT, REVISION

T = TypeVar("T")

_REVISION = "SELECT version_num FROM alembic_version"
_LINEAGE = "SELECT lineage FROM state"
_TOUCHED = "SELECT object_uid, target_uid FROM intents WHERE state = 'open'"
_OF_RECORD = ("deletion_requested_at", "annotations", *(f"spec.{name}" for name in SPEC_PARTS))
_OF_STATUS = ("phase", "start_is_asked", "handled_requests", "windows", "volume.storage")

_NO_STATUS: tuple[Any, ...] = (Phase.PENDING, False, {}, None, None)


def _parts(body: str, names: tuple[str, ...]) -> str:
    places = ", ".join(f"'$.{name}'" for name in names)
    return f"json_extract({body}, {places})"


_BRIEFS = (
    f"SELECT records.uid, kind, name, {_parts('records.body', _OF_RECORD)}, {_parts('statuses.body', _OF_STATUS)}"
    " FROM records LEFT JOIN statuses ON statuses.uid = records.uid ORDER BY kind, name"
)
_UNSAVED = f"SELECT EXISTS (SELECT 1 FROM statuses WHERE instr(body, '\"{SAVE_FAILED}\"'))"
_CAPPED = (
    "SELECT sum(amount_micro), json_extract(body, '$.spec.maxCostUSD') FROM postings JOIN records ON records.uid = object_uid"
    " WHERE side = 'charged' GROUP BY object_uid"
)
_ADD = "INSERT INTO passes (id, started_at, ended_at, host, seen, failures, told) VALUES (?, ?, ?, ?, ?, ?, ?)"
_FORGET = f"DELETE FROM passes WHERE sequence <= (SELECT sequence FROM passes ORDER BY sequence DESC LIMIT 1 OFFSET {PASSES_KEPT})"


def passes_beside(url: str, root: Path, opened: Callable[[], Passes]) -> Passes:
    """The passes of the state at ``url``; ``opened`` gives those of the same state opened in full, and is all there is but for a file."""
    return LightPasses(path_of(url, root), opened) if url.startswith("sqlite:") else opened()


class LightPasses:
    """Of the file at ``path``, each question with a connection of its own, in one transaction."""

    def __init__(self, path: Path, opened: Callable[[], Passes]) -> None:
        self._path, self._opened = path, opened

    def glance(self) -> Glance:
        if is_missing(self._path):
            return Glance()
        found = self._asked(open_reader, "BEGIN", _glance)
        return found if found is not None else self._opened().glance()

    def may_be_news(self) -> bool:
        found = self._asked(open_reader, "BEGIN", _may_be_news)
        return found if found is not None else self._opened().may_be_news()

    def note(self, one: PassNote) -> None:
        if self._asked(open_kept, "BEGIN IMMEDIATE", lambda driver: _noted(driver, one)) is None:
            self._opened().note(one)

    def latest(self, limit: int = 20) -> tuple[PassNote, ...]:
        return self._opened().latest(limit)

    def _asked(self, connect: Callable[[Path], sqlite3.Connection], begin: str, question: Callable[[sqlite3.Connection], T]) -> T | None:
        """The answer of one transaction, committed; None where this file is the other way's business."""
        try:
            with _transaction(connect(self._path), begin) as driver:
                return question(driver) if driver.execute(_REVISION).fetchall() == [(REVISION,)] else None
        except sqlite3.Error:
            return None


@contextmanager
def _transaction(driver: sqlite3.Connection, begin: str) -> Iterator[sqlite3.Connection]:
    with closing(driver), driver:
        driver.execute(begin)
        yield driver


def _glance(driver: sqlite3.Connection) -> Glance:
    head = driver.execute(_LINEAGE).fetchone()
    if head is None:
        return Glance()
    touched = frozenset(uid for row in driver.execute(_TOUCHED) for uid in row)
    return Glance(lineage=head[0], briefs=tuple(_brief(row, touched) for row in driver.execute(_BRIEFS)))


def _brief(row: tuple[Any, ...], touched: frozenset[str]) -> Brief:
    uid, kind, name, of_record, of_status = row
    going, annotations, *parts = json.loads(of_record)
    phase, start_is_asked, handled, windows, storage = json.loads(of_status) if of_status is not None else _NO_STATUS
    try:
        return Brief(
            uid=uid,
            address=Address(kind, name),
            phase=Phase(phase),
            spec={part: value for part, value in zip(SPEC_PARTS, parts, strict=True) if value is not None},
            annotations=annotations,
            handled_requests=handled,
            windows=_windows(windows) if windows is not None else None,
            storage=_storage(storage) if storage is not None else None,
            is_going=going is not None,
            start_is_asked=start_is_asked,
            has_open_intent=uid in touched,
        )
    except (ValueError, TypeError, KeyError):
        raise newer_value("ObjectStatus", "phase, windows, volume") from None


def _windows(parts: dict[str, Any]) -> WindowsStanding:
    return WindowsStanding(**{**parts, "through": parse_time(parts["through"]), "used": tuple(parts["used"])})


def _storage(parts: dict[str, Any]) -> StorageStretch:
    rate = parts["usd_per_gib_month"]
    return StorageStretch(
        since=parse_time(parts["since"]),
        size_bytes=parts["size_bytes"],
        usd_per_gib_month=Money.parse(rate) if rate is not None else None,
    )


def _may_be_news(driver: sqlite3.Connection) -> bool:
    """True where a status mentions a save that failed, or more was charged than a cap allows."""
    if driver.execute(_UNSAVED).fetchone()[0]:
        return True
    return any(isinstance(cap, str) and Money(charged) > Money.parse(cap) for charged, cap in driver.execute(_CAPPED))


def _noted(driver: sqlite3.Connection, one: PassNote) -> bool:
    one = without_secrets(one)
    lists = (json.dumps(list(words)) for words in (one.seen, one.failures, one.told))
    driver.execute(_ADD, (one.id, format_time(one.started_at), format_time(one.ended_at), one.host, *lists))
    driver.execute(_FORGET)
    return True
