"""What the world's database holds, one frozen value a row. Times are microseconds since 1970 (``instants``).

The surprise: no first-boot document and no pushed secret is here, only digests of them, so that a world's file can be shown to anyone.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class MachineRow:
    """A machine. ``state`` is a MachineState value; ``running`` stays until a release is over.

    ``idle_seconds`` is its idle timeout, None for never; it counts from ``used_at``. Without an ``edge_at`` it ends itself in no way.
    """

    id: str
    account: str
    token: str
    request_digest: str
    name: str
    zone: str
    offer_id: str
    is_interruptible: int
    tags: str
    address: str
    state: str
    created_at: int
    visible_at: int
    boots_at: int
    edge_at: int | None
    reason: str = ""
    reason_detail: str = ""
    idle_seconds: int | None = None
    used_at: int | None = None
    running_at: int | None = None
    ended_at: int | None = None
    gone_at: int | None = None
    boot_number: int = 1
    is_quiet: int = 0
    is_unreachable: int = 0
    has_secrets: int = 0
    pushed_digest: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class DiskRow:
    """A disk. ``content`` is a JSON list with one mark for each session that could write to it."""

    id: str
    account: str
    token: str
    request_digest: str
    name: str
    zone: str
    size_bytes: int
    tags: str
    address: str
    state: str
    created_at: int
    visible_at: int
    content: str = "[]"
    attached_to: str = ""
    is_read_only: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class RevisionRow:
    """A revision. ``content`` is the disk's when the save began;"""

    id: str
    disk_id: str
    number: int
    token: str
    request_digest: str
    state: str
    content: str
    size_bytes: int
    ready_at: int
    committed_at: int | None = None
    reason: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class TokenRow:
    """What a client token of a call on an existing thing was used for; ``kind`` is machine or disk."""

    token: str
    operation: str
    request_digest: str
    kind: str
    subject: str


@dataclass(frozen=True, slots=True, kw_only=True)
class RuleRow:
    """A scripted fault and how often a call has matched it."""

    id: int
    operation: str
    match: str
    nth: int | None
    times_left: int | None
    effect: str
    seen: int = 0


Row = MachineRow | DiskRow | RevisionRow | TokenRow | RuleRow

TABLES: dict[type, str] = {
    MachineRow: "machine",
    DiskRow: "disk",
    RevisionRow: "revision",
    TokenRow: "token",
    RuleRow: "rule",
}

OF_TOKEN = "token = ? AND +account = ?"
"""Finds the machine or disk of a client token. The plus keeps SQLite to the index of tokens: nearly every row is of the one account."""

SCHEMA = """
CREATE TABLE clock (only INTEGER PRIMARY KEY CHECK (only = 1), now INTEGER NOT NULL);
CREATE TABLE counter (name TEXT PRIMARY KEY, value INTEGER NOT NULL) WITHOUT ROWID;
CREATE TABLE due (
    time INTEGER NOT NULL, rank INTEGER NOT NULL, subject TEXT NOT NULL,
    PRIMARY KEY (time, rank, subject)
) WITHOUT ROWID;
CREATE TABLE machine (
    id TEXT PRIMARY KEY, account TEXT NOT NULL, token TEXT NOT NULL, request_digest TEXT NOT NULL, name TEXT NOT NULL,
    zone TEXT NOT NULL, offer_id TEXT NOT NULL, is_interruptible INTEGER NOT NULL, tags TEXT NOT NULL, address TEXT NOT NULL,
    state TEXT NOT NULL, created_at INTEGER NOT NULL, visible_at INTEGER NOT NULL, boots_at INTEGER NOT NULL, edge_at INTEGER,
    reason TEXT NOT NULL, reason_detail TEXT NOT NULL, idle_seconds INTEGER, used_at INTEGER, running_at INTEGER, ended_at INTEGER,
    gone_at INTEGER, boot_number INTEGER NOT NULL,
    is_quiet INTEGER NOT NULL, is_unreachable INTEGER NOT NULL, has_secrets INTEGER NOT NULL, pushed_digest TEXT NOT NULL
) WITHOUT ROWID;
CREATE INDEX machine_token ON machine (token);
CREATE INDEX machine_state ON machine (account, state);
CREATE TABLE disk (
    id TEXT PRIMARY KEY, account TEXT NOT NULL, token TEXT NOT NULL, request_digest TEXT NOT NULL, name TEXT NOT NULL,
    zone TEXT NOT NULL, size_bytes INTEGER NOT NULL, tags TEXT NOT NULL, address TEXT NOT NULL, state TEXT NOT NULL,
    created_at INTEGER NOT NULL, visible_at INTEGER NOT NULL, content TEXT NOT NULL, attached_to TEXT NOT NULL,
    is_read_only INTEGER NOT NULL
) WITHOUT ROWID;
CREATE INDEX disk_token ON disk (token);
CREATE INDEX disk_attached ON disk (attached_to);
CREATE INDEX disk_state ON disk (account, state);
CREATE TABLE revision (
    id TEXT PRIMARY KEY, disk_id TEXT NOT NULL, number INTEGER NOT NULL, token TEXT NOT NULL, request_digest TEXT NOT NULL,
    state TEXT NOT NULL, content TEXT NOT NULL, size_bytes INTEGER NOT NULL, ready_at INTEGER NOT NULL, committed_at INTEGER,
    reason TEXT NOT NULL
) WITHOUT ROWID;
CREATE INDEX revision_token ON revision (token);
CREATE INDEX revision_disk ON revision (disk_id, number);
CREATE TABLE token (
    token TEXT PRIMARY KEY, operation TEXT NOT NULL, request_digest TEXT NOT NULL, kind TEXT NOT NULL, subject TEXT NOT NULL
) WITHOUT ROWID;
CREATE TABLE rule (
    id INTEGER PRIMARY KEY, operation TEXT NOT NULL, match TEXT NOT NULL, nth INTEGER, times_left INTEGER, effect TEXT NOT NULL,
    seen INTEGER NOT NULL
);
CREATE TABLE call (
    sequence INTEGER PRIMARY KEY, time INTEGER NOT NULL, operation TEXT NOT NULL, addresses TEXT NOT NULL, token TEXT NOT NULL,
    outcome TEXT NOT NULL
);
CREATE TABLE activity (machine_id TEXT NOT NULL, time INTEGER NOT NULL, kind TEXT NOT NULL, detail TEXT NOT NULL);
"""
