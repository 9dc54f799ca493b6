"""Passes of ``tick``: when the last ones were and what they saw."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0002"
down_revision = "0001"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Make the table."""
    op.create_table(
        "passes",
        sa.Column("sequence", sa.Integer, primary_key=True, autoincrement=True),
        *(sa.Column(name, sa.Text, nullable=False) for name in ("id", "started_at", "ended_at", "host", "seen", "failures", "told")),
        sqlite_autoincrement=True,
    )
