"""What tables do by themselves, in each database's own words: rows that can't be changed, numbers given in order, one writer at a time.

SQLite numbers rows (AUTOINCREMENT) and lets one process write at a time. PostgreSQL does neither as we need it: its sequences leave gaps
where a transaction fails, and its writers overlap. So there a trigger counts each table's rows, and every transaction that writes begins
by raising the one row of ``turns``. Whoever holds that row is the writer; the others wait for its commit.
"""

from __future__ import annotations

from sqlalchemy import BigInteger, Integer, Text

TEXT = Text().with_variant(Text(collation="C"), "postgresql")
"""Text that compares by its bytes: another order would sort records differently, and would find other names between two bounds."""
WHOLE = Integer().with_variant(BigInteger(), "postgresql")
"""A whole number of 64 bits."""


def append_only(table: str, dialect: str) -> tuple[str, ...]:
    """The statements that make ``table`` refuse changes of what it holds."""
    if dialect == "postgresql":
        return (
            f"CREATE TRIGGER {table}_refuses_change BEFORE UPDATE OR DELETE ON {table} FOR EACH ROW EXECUTE FUNCTION refuse_change()",
            f"CREATE TRIGGER {table}_refuses_truncate BEFORE TRUNCATE ON {table} FOR EACH STATEMENT EXECUTE FUNCTION refuse_change()",
        )
    return tuple(
        f"CREATE TRIGGER {table}_refuses_{verb.lower()} BEFORE {verb} ON {table} BEGIN SELECT RAISE(ABORT, '{table} is append-only'); END"
        for verb in ("UPDATE", "DELETE")
    )


def numbered(table: str) -> tuple[str, ...]:
    """The statements that make a PostgreSQL table number its rows without gaps, in place of the sequence SQLAlchemy gave it."""
    return (
        f"ALTER TABLE {table} ALTER COLUMN sequence DROP DEFAULT",
        f"DROP SEQUENCE IF EXISTS {table}_sequence_seq",
        f"INSERT INTO numbers (name, last) VALUES ('{table}', 0) ON CONFLICT (name) DO NOTHING",
        f"CREATE TRIGGER {table}_numbers BEFORE INSERT ON {table} FOR EACH ROW EXECUTE FUNCTION number_row()",
    )


def foundation() -> tuple[str, ...]:
    """What a PostgreSQL state needs before its first table: who writes, how far each table has counted, and the triggers' functions."""
    return (
        "CREATE TABLE turns (id INTEGER PRIMARY KEY CHECK (id = 1), commits BIGINT NOT NULL, revision TEXT NOT NULL)",
        'CREATE TABLE numbers (name TEXT COLLATE "C" PRIMARY KEY, last BIGINT NOT NULL)',
        "CREATE FUNCTION refuse_change() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN "
        "RAISE EXCEPTION USING MESSAGE = TG_TABLE_NAME || ' is append-only', ERRCODE = 'integrity_constraint_violation'; "
        "END $$",
        "CREATE FUNCTION number_row() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN "
        "IF NEW.sequence IS NULL THEN "
        "UPDATE numbers SET last = last + 1 WHERE name = TG_TABLE_NAME RETURNING last INTO NEW.sequence; "
        "ELSE UPDATE numbers SET last = GREATEST(last, NEW.sequence) WHERE name = TG_TABLE_NAME; "
        "END IF; RETURN NEW; END $$",
    )


def current_row(revision: str) -> str:
    """Says in ``turns`` which revision the tables have. A writer reads it with its turn: it is that of the commit before its own."""
    return f"INSERT INTO turns VALUES (1, 0, '{revision}') ON CONFLICT (id) DO UPDATE SET revision = excluded.revision"
