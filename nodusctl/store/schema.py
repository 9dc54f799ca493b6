"""The tables. Values that only we read are one JSON column (``body``); what is searched or summed has columns of its own.

Journal, ledger entries and postings are append-only: triggers refuse every UPDATE and DELETE, so not even we can rewrite the past.
A change here needs a revision under ``migrations/versions`` and a new ``REVISION``; a test compares the two.
"""

from __future__ import annotations

from sqlalchemy import (
    DDL,
    BigInteger,
    Boolean,
    CheckConstraint,
    Column,
    Index,
    Integer,
    LargeBinary,
    MetaData,
    String,
    Table,
    Text,
    UniqueConstraint,
    event,
)

REVISION = "0003"
"""The revision ``METADATA`` is at."""

METADATA = MetaData(
    naming_convention={
        "ix": "ix_%(table_name)s_%(column_0_N_name)s",
        "uq": "uq_%(table_name)s_%(column_0_N_name)s",
        "ck": "ck_%(constraint_name)s",
    }
)

VERSION = Table("alembic_version", METADATA, Column("version_num", String(32), primary_key=True))

STATE = Table(
    "state",
    METADATA,
    Column("id", Integer, CheckConstraint("id = 1", name="one_state"), primary_key=True),
    Column("lineage", Text, nullable=False),
    Column("project", Text, nullable=False),
    Column("serial", Integer, nullable=False),
    Column("observations", Integer, nullable=False),
    Column("key_check", Text, nullable=False),
    Column("created_at", Text, nullable=False),
)

RECORDS = Table(
    "records",
    METADATA,
    Column("uid", Text, primary_key=True),
    Column("kind", Text, nullable=False),
    Column("name", Text, nullable=False),
    Column("body", Text, nullable=False),
    UniqueConstraint("kind", "name"),
)

NAMES = Table(
    "names",
    METADATA,
    Column("uid", Text, primary_key=True),
    Column("kind", Text, nullable=False),
    Column("name", Text, nullable=False),
)

STATUSES = Table("statuses", METADATA, Column("uid", Text, primary_key=True), Column("body", Text, nullable=False))

JOURNAL = Table(
    "journal",
    METADATA,
    Column("sequence", Integer, primary_key=True, autoincrement=True),
    Column("kind", Text, nullable=False),
    Column("object_uid", Text, nullable=False),
    Column("attempt_uid", Text, nullable=False),
    Column("body", Text, nullable=False),
    Index(None, "object_uid"),
    Index(None, "attempt_uid"),
    sqlite_autoincrement=True,
)

INTENTS = Table(
    "intents",
    METADATA,
    Column("sequence", Integer, primary_key=True, autoincrement=True),
    Column("id", Text, nullable=False, unique=True),
    Column("object_uid", Text, nullable=False),
    Column("target_uid", Text, nullable=False),
    Column("state", Text, nullable=False),
    Column("body", Text, nullable=False),
    Index(None, "state", "object_uid"),
    sqlite_autoincrement=True,
)

ATTEMPTS = Table(
    "attempts",
    METADATA,
    Column("sequence", Integer, primary_key=True, autoincrement=True),
    Column("uid", Text, nullable=False, unique=True),
    Column("owner_uid", Text, nullable=False),
    Column("body", Text, nullable=False),
    Index(None, "owner_uid"),
    sqlite_autoincrement=True,
)

ENTRIES = Table(
    "entries",
    METADATA,
    Column("sequence", Integer, primary_key=True, autoincrement=True),
    Column("id", Text, nullable=False, unique=True),
    Column("object_uid", Text, nullable=False),
    Column("attempt_uid", Text, nullable=False),
    Column("body", Text, nullable=False),
    Index(None, "object_uid"),
    sqlite_autoincrement=True,
)

POSTINGS = Table(
    "postings",
    METADATA,
    Column("entry_id", Text, primary_key=True),
    Column("position", Integer, primary_key=True),
    Column("object_uid", Text, nullable=False),
    Column("side", Text, nullable=False),
    Column("month", Text, nullable=False),
    Column("account", Text, nullable=False),
    Column("amount_micro", BigInteger, nullable=False),
    Index("ix_postings_sums", "object_uid", "side", "month", "amount_micro"),
)

OPERATIONS = Table(
    "operations",
    METADATA,
    Column("sequence", Integer, primary_key=True, autoincrement=True),
    Column("id", Text, nullable=False, unique=True),
    Column("command", Text, nullable=False),
    Column("by", Text, nullable=False),
    Column("at", Text, nullable=False),
    Column("serial", Integer, nullable=False),
    Column("has_moved_serial", Boolean, nullable=False),
    Column("plan_hash", Text, nullable=False),
    Column("plan_id", Text, nullable=False),
    Column("addresses", Text, nullable=False),
    Index(None, "plan_id"),
    sqlite_autoincrement=True,
)


def _holder_columns() -> tuple[Column[str] | Column[int], ...]:
    return (
        Column("user", Text, nullable=False),
        Column("host", Text, nullable=False),
        Column("pid", Integer, nullable=False),
        Column("start_ticks", Integer, nullable=False),
        Column("boot_id", Text, nullable=False),
        Column("command", Text, nullable=False),
    )


CLAIMS = Table(
    "claims",
    METADATA,
    Column("object_uid", Text, primary_key=True),
    Column("fence", Integer, nullable=False),
    Column("step", Text, nullable=False),
    *_holder_columns(),
    Column("started_at", Text, nullable=False),
    Column("heartbeat_at", Text, nullable=False),
    Column("expires_at", Text, nullable=False),
    Column("is_held", Boolean, nullable=False),
)

PLAN_LOCK = Table(
    "plan_lock",
    METADATA,
    Column("place", Integer, CheckConstraint("place = 1", name="one_plan_lock"), primary_key=True),
    Column("id", Text, nullable=False),
    *_holder_columns(),
    Column("started_at", Text, nullable=False),
    Column("heartbeat_at", Text, nullable=False),
)

SEALED = Table("sealed", METADATA, Column("name", Text, primary_key=True), Column("value", LargeBinary, nullable=False))

PASSES = Table(
    "passes",
    METADATA,
    Column("sequence", Integer, primary_key=True, autoincrement=True),
    Column("id", Text, nullable=False),
    Column("started_at", Text, nullable=False),
    Column("ended_at", Text, nullable=False),
    Column("host", Text, nullable=False),
    Column("seen", Text, nullable=False),
    Column("failures", Text, nullable=False),
    Column("told", Text, nullable=False),
    sqlite_autoincrement=True,
)

APPEND_ONLY = (JOURNAL, ENTRIES, POSTINGS)


def append_only_triggers(table: str) -> tuple[str, ...]:
    """The statements that make a SQLite table refuse changes of what it holds."""
    return tuple(
        f"CREATE TRIGGER {table}_refuses_{verb.lower()} BEFORE {verb} ON {table} BEGIN SELECT RAISE(ABORT, '{table} is append-only'); END"
        for verb in ("UPDATE", "DELETE")
    )


for _table in APPEND_ONLY:
    for _statement in append_only_triggers(_table.name):
        event.listen(_table, "after_create", DDL(_statement).execute_if(dialect="sqlite"))  # type: ignore[no-untyped-call]
