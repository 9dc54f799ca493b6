"""The tables. Values that only we read are one JSON column (``body``); what is searched or summed has columns of its own.

Journal, ledger entries and postings are append-only: triggers refuse every UPDATE and DELETE, so not even we can rewrite the past.
A change here needs a revision under ``migrations/versions`` and a new ``revision.REVISION``; tests compare the two, on SQLite and on
PostgreSQL.

The surprise: on PostgreSQL numbers are 64 bits wide and text compares by its bytes, as both do in SQLite anyhow. What tables do by
themselves there and here (``rules``) is written down by hand, because SQLAlchemy has no words for it.
"""

from __future__ import annotations

from sqlalchemy import (
    DDL,
    BigInteger,
    Boolean,
    CheckConstraint,
    Column,
    Index,
    LargeBinary,
    MetaData,
    String,
    Table,
    UniqueConstraint,
    event,
)

from nodusctl.store.rules import TEXT, WHOLE, append_only, foundation, numbered

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
    Column("id", WHOLE, CheckConstraint("id = 1", name="one_state"), primary_key=True, autoincrement=False),
    Column("lineage", TEXT, nullable=False),
    Column("project", TEXT, nullable=False),
    Column("serial", WHOLE, nullable=False),
    Column("observations", WHOLE, nullable=False),
    Column("key_check", TEXT, nullable=False),
    Column("created_at", TEXT, nullable=False),
)

RECORDS = Table(
    "records",
    METADATA,
    Column("uid", TEXT, primary_key=True),
    Column("kind", TEXT, nullable=False),
    Column("name", TEXT, nullable=False),
    Column("body", TEXT, nullable=False),
    UniqueConstraint("kind", "name"),
)

NAMES = Table(
    "names",
    METADATA,
    Column("uid", TEXT, primary_key=True),
    Column("kind", TEXT, nullable=False),
    Column("name", TEXT, nullable=False),
)

STATUSES = Table("statuses", METADATA, Column("uid", TEXT, primary_key=True), Column("body", TEXT, nullable=False))

JOURNAL = Table(
    "journal",
    METADATA,
    Column("sequence", WHOLE, primary_key=True, autoincrement=True),
    Column("kind", TEXT, nullable=False),
    Column("object_uid", TEXT, nullable=False),
    Column("attempt_uid", TEXT, nullable=False),
    Column("body", TEXT, nullable=False),
    Index(None, "object_uid"),
    Index(None, "attempt_uid"),
    sqlite_autoincrement=True,
)

INTENTS = Table(
    "intents",
    METADATA,
    Column("sequence", WHOLE, primary_key=True, autoincrement=True),
    Column("id", TEXT, nullable=False, unique=True),
    Column("object_uid", TEXT, nullable=False),
    Column("target_uid", TEXT, nullable=False),
    Column("state", TEXT, nullable=False),
    Column("body", TEXT, nullable=False),
    Index(None, "state", "object_uid"),
    sqlite_autoincrement=True,
)

ATTEMPTS = Table(
    "attempts",
    METADATA,
    Column("sequence", WHOLE, primary_key=True, autoincrement=True),
    Column("uid", TEXT, nullable=False, unique=True),
    Column("owner_uid", TEXT, nullable=False),
    Column("body", TEXT, nullable=False),
    Index(None, "owner_uid"),
    sqlite_autoincrement=True,
)

ENTRIES = Table(
    "entries",
    METADATA,
    Column("sequence", WHOLE, primary_key=True, autoincrement=True),
    Column("id", TEXT, nullable=False, unique=True),
    Column("object_uid", TEXT, nullable=False),
    Column("attempt_uid", TEXT, nullable=False),
    Column("body", TEXT, nullable=False),
    Index(None, "object_uid"),
    sqlite_autoincrement=True,
)

POSTINGS = Table(
    "postings",
    METADATA,
    Column("entry_id", TEXT, primary_key=True),
    Column("position", WHOLE, primary_key=True),
    Column("object_uid", TEXT, nullable=False),
    Column("side", TEXT, nullable=False),
    Column("month", TEXT, nullable=False),
    Column("account", TEXT, nullable=False),
    Column("amount_micro", BigInteger, nullable=False),
    Index("ix_postings_sums", "object_uid", "side", "month", "amount_micro"),
)

OPERATIONS = Table(
    "operations",
    METADATA,
    Column("sequence", WHOLE, primary_key=True, autoincrement=True),
    Column("id", TEXT, nullable=False, unique=True),
    Column("command", TEXT, nullable=False),
    Column("by", TEXT, nullable=False),
    Column("at", TEXT, nullable=False),
    Column("serial", WHOLE, nullable=False),
    Column("has_moved_serial", Boolean, nullable=False),
    Column("plan_hash", TEXT, nullable=False),
    Column("plan_id", TEXT, nullable=False),
    Column("addresses", TEXT, nullable=False),
    Index(None, "plan_id"),
    sqlite_autoincrement=True,
)


def _holder_columns() -> tuple[Column[str] | Column[int], ...]:
    return (
        Column("user", TEXT, nullable=False),
        Column("host", TEXT, nullable=False),
        Column("pid", WHOLE, nullable=False),
        Column("start_ticks", WHOLE, nullable=False),
        Column("boot_id", TEXT, nullable=False),
        Column("command", TEXT, nullable=False),
    )


CLAIMS = Table(
    "claims",
    METADATA,
    Column("object_uid", TEXT, primary_key=True),
    Column("fence", WHOLE, nullable=False),
    Column("step", TEXT, nullable=False),
    *_holder_columns(),
    Column("started_at", TEXT, nullable=False),
    Column("heartbeat_at", TEXT, nullable=False),
    Column("expires_at", TEXT, nullable=False),
    Column("is_held", Boolean, nullable=False),
)

PLAN_LOCK = Table(
    "plan_lock",
    METADATA,
    Column("place", WHOLE, CheckConstraint("place = 1", name="one_plan_lock"), primary_key=True, autoincrement=False),
    Column("id", TEXT, nullable=False),
    *_holder_columns(),
    Column("started_at", TEXT, nullable=False),
    Column("heartbeat_at", TEXT, nullable=False),
)

SEALED = Table("sealed", METADATA, Column("name", TEXT, primary_key=True), Column("value", LargeBinary, nullable=False))

PASSES = Table(
    "passes",
    METADATA,
    Column("sequence", WHOLE, primary_key=True, autoincrement=True),
    Column("id", TEXT, nullable=False),
    Column("started_at", TEXT, nullable=False),
    Column("ended_at", TEXT, nullable=False),
    Column("host", TEXT, nullable=False),
    Column("seen", TEXT, nullable=False),
    Column("failures", TEXT, nullable=False),
    Column("told", TEXT, nullable=False),
    sqlite_autoincrement=True,
)

KEY_COPIES = Table(
    "key_copies",
    METADATA,
    Column("member", TEXT, primary_key=True),
    Column("public_key", TEXT, nullable=False),
    Column("wrapped", LargeBinary, nullable=False),
    Column("proof", TEXT, nullable=False),
    Column("added_at", TEXT, nullable=False),
    Column("added_by", TEXT, nullable=False),
)

APPEND_ONLY = (JOURNAL, ENTRIES, POSTINGS)
NUMBERED = (JOURNAL, INTENTS, ATTEMPTS, ENTRIES, OPERATIONS, PASSES)
"""Tables whose rows are counted by ``sequence``, and no number is ever given twice."""


def _say(target: MetaData | Table, moment: str, dialect: str, *statements: str) -> None:
    for statement in statements:
        # A percent sign is DDL's own; none of ours has one.
        event.listen(target, moment, DDL(statement).execute_if(dialect=dialect))  # type: ignore[no-untyped-call]


_say(METADATA, "before_create", "postgresql", *foundation())
for _table in NUMBERED:
    _say(_table, "after_create", "postgresql", *numbered(_table.name))
for _table in APPEND_ONLY:
    for _dialect in ("sqlite", "postgresql"):
        _say(_table, "after_create", _dialect, *append_only(_table.name, _dialect))
