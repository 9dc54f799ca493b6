"""The first schema."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

from nodusctl.store.rules import TEXT, WHOLE, append_only, foundation, numbered

revision = "0001"
down_revision = None
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Make every table."""
    dialect = op.get_bind().dialect.name
    for statement in foundation() if dialect == "postgresql" else ():
        op.execute(statement)
    _desired_half()
    _outside_half()
    _ledger()
    _operations_and_locks()
    op.create_table("sealed", sa.Column("name", TEXT, primary_key=True), sa.Column("value", sa.LargeBinary, nullable=False))
    for table in ("journal", "intents", "attempts", "entries", "operations") if dialect == "postgresql" else ():
        for statement in numbered(table):
            op.execute(statement)
    for table in ("journal", "entries", "postings"):
        for statement in append_only(table, dialect):
            op.execute(statement)


def _text(name: str) -> sa.Column[str]:
    return sa.Column(name, TEXT, nullable=False)


def _number(name: str) -> sa.Column[int]:
    return sa.Column(name, WHOLE, nullable=False)


def _sequence() -> sa.Column[int]:
    return sa.Column("sequence", WHOLE, primary_key=True, autoincrement=True)


def _desired_half() -> None:
    op.create_table(
        "state",
        sa.Column("id", WHOLE, sa.CheckConstraint("id = 1", name=op.f("ck_one_state")), primary_key=True, autoincrement=False),
        _text("lineage"),
        _text("project"),
        _number("serial"),
        _number("observations"),
        _text("key_check"),
        _text("created_at"),
    )
    op.create_table(
        "records",
        sa.Column("uid", TEXT, primary_key=True),
        _text("kind"),
        _text("name"),
        _text("body"),
        sa.UniqueConstraint("kind", "name", name=op.f("uq_records_kind_name")),
    )
    op.create_table("names", sa.Column("uid", TEXT, primary_key=True), _text("kind"), _text("name"))
    op.create_table("statuses", sa.Column("uid", TEXT, primary_key=True), _text("body"))


def _outside_half() -> None:
    op.create_table("journal", _sequence(), *map(_text, ("kind", "object_uid", "attempt_uid", "body")), sqlite_autoincrement=True)
    op.create_index("ix_journal_object_uid", "journal", ["object_uid"])
    op.create_index("ix_journal_attempt_uid", "journal", ["attempt_uid"])
    op.create_table(
        "intents",
        _sequence(),
        *map(_text, ("id", "object_uid", "target_uid", "state", "body")),
        sa.UniqueConstraint("id", name=op.f("uq_intents_id")),
        sqlite_autoincrement=True,
    )
    op.create_index("ix_intents_state_object_uid", "intents", ["state", "object_uid"])
    op.create_table(
        "attempts",
        _sequence(),
        *map(_text, ("uid", "owner_uid", "body")),
        sa.UniqueConstraint("uid", name=op.f("uq_attempts_uid")),
        sqlite_autoincrement=True,
    )
    op.create_index("ix_attempts_owner_uid", "attempts", ["owner_uid"])


def _ledger() -> None:
    op.create_table(
        "entries",
        _sequence(),
        *map(_text, ("id", "object_uid", "attempt_uid", "body")),
        sa.UniqueConstraint("id", name=op.f("uq_entries_id")),
        sqlite_autoincrement=True,
    )
    op.create_index("ix_entries_object_uid", "entries", ["object_uid"])
    op.create_table(
        "postings",
        sa.Column("entry_id", TEXT, primary_key=True),
        sa.Column("position", WHOLE, primary_key=True),
        _text("object_uid"),
        _text("side"),
        _text("account"),
        sa.Column("amount_micro", sa.BigInteger, nullable=False),
    )
    op.create_index("ix_postings_sums", "postings", ["object_uid", "side", "amount_micro"])


def _operations_and_locks() -> None:
    op.create_table(
        "operations",
        _sequence(),
        *map(_text, ("id", "command", "by", "at")),
        _number("serial"),
        sa.Column("has_moved_serial", sa.Boolean, nullable=False),
        *map(_text, ("plan_hash", "plan_id", "addresses")),
        sa.UniqueConstraint("id", name=op.f("uq_operations_id")),
        sqlite_autoincrement=True,
    )
    op.create_index("ix_operations_plan_id", "operations", ["plan_id"])
    op.create_table(
        "claims",
        sa.Column("object_uid", TEXT, primary_key=True),
        _number("fence"),
        _text("step"),
        *_holder_columns(),
        *map(_text, ("started_at", "heartbeat_at", "expires_at")),
        sa.Column("is_held", sa.Boolean, nullable=False),
    )
    op.create_table(
        "plan_lock",
        sa.Column("place", WHOLE, sa.CheckConstraint("place = 1", name=op.f("ck_one_plan_lock")), primary_key=True, autoincrement=False),
        _text("id"),
        *_holder_columns(),
        *map(_text, ("started_at", "heartbeat_at")),
    )


def _holder_columns() -> tuple[sa.Column[str] | sa.Column[int], ...]:
    return (*map(_text, ("user", "host")), *map(_number, ("pid", "start_ticks")), *map(_text, ("boot_id", "command")))
