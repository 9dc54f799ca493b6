"""Passes of ``tick``: when the last ones were and what they saw."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

from nodusctl.store.rules import TEXT, WHOLE, numbered

revision = "0002"
down_revision = "0001"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Make the table."""
    op.create_table(
        "passes",
        sa.Column("sequence", WHOLE, primary_key=True, autoincrement=True),
        *(sa.Column(name, TEXT, nullable=False) for name in ("id", "started_at", "ended_at", "host", "seen", "failures", "told")),
        sqlite_autoincrement=True,
    )
    for statement in numbered("passes") if op.get_bind().dialect.name == "postgresql" else ():
        op.execute(statement)
