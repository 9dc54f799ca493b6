"""What a team needs: copies of the state's key, one wrapped for each member. On PostgreSQL also who writes now, and rows numbered in order."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

from nodusctl.store.rules import TEXT

revision = "0004"
down_revision = "0003"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Make the table."""
    op.create_table(
        "key_copies",
        sa.Column("member", TEXT, primary_key=True),
        sa.Column("public_key", TEXT, nullable=False),
        sa.Column("wrapped", sa.LargeBinary, nullable=False),
        *(sa.Column(name, TEXT, nullable=False) for name in ("proof", "added_at", "added_by")),
    )
