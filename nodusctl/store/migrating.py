"""Bringing a schema up: a fresh file gets the tables at once, an older one goes through its revisions.

Alembic costs 180 ms to import, so it is only imported when the version row isn't this version's. Both ways run inside the caller's
transaction: a killed upgrade leaves the old schema.
"""

from __future__ import annotations

from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

from sqlalchemy import insert, text

from nodusctl.store.revision import REVISION
from nodusctl.store.rules import current_row
from nodusctl.store.schema import METADATA, VERSION

if TYPE_CHECKING:
    from sqlalchemy import Connection

    from nodusctl.store.backups import Backups

SCRIPTS = Path(__file__).parent / "migrations"
_TABLES = {
    "sqlite": "SELECT name FROM sqlite_master WHERE type = 'table'",
    "postgresql": "SELECT tablename FROM pg_tables WHERE schemaname = current_schema()",
}


def create(connection: Connection) -> None:
    """All tables at the newest revision."""
    METADATA.create_all(connection, checkfirst=False)
    connection.execute(insert(VERSION).values(version_num=REVISION))
    _tell_writers(connection)


def tables_of(connection: Connection) -> frozenset[str]:
    """Names of the tables there are."""
    return frozenset(connection.execute(text(_TABLES[connection.dialect.name])).scalars())


def revision_of(connection: Connection) -> str:
    """The revision in the version row; empty where the row is missing."""
    return connection.execute(VERSION.select()).scalar() or ""


def is_known(revision: str) -> bool:
    """True where this version can bring the revision up."""
    from alembic.script import ScriptDirectory
    from alembic.util import CommandError

    try:
        return ScriptDirectory.from_config(_configuration(None)).get_revision(revision) is not None
    except CommandError:
        return False


def upgrade(connection: Connection, revision: str = "head") -> None:
    """Run the revisions that are missing, up to ``revision``."""
    from alembic import command

    command.upgrade(_configuration(connection), revision)
    _tell_writers(connection)


def upgrade_kept(connection: Connection, backups: Backups | None, at: datetime) -> None:
    """The same, once the state is kept as it is: an upgrade goes one way only."""
    from nodusctl.store import pulling

    if backups is not None:
        state = pulling.pull(connection, by="nodusctl", at=at)
        if state.identity.lineage:
            backups.keep(state, "before-upgrade")
    upgrade(connection)


def _tell_writers(connection: Connection) -> None:
    if connection.dialect.name == "postgresql":
        connection.execute(text(current_row(REVISION)))


def _configuration(connection: Connection | None) -> Any:
    from alembic.config import Config

    configuration = Config()
    configuration.set_main_option("script_location", str(SCRIPTS).replace("%", "%%"))
    configuration.attributes["connection"] = connection
    return configuration
