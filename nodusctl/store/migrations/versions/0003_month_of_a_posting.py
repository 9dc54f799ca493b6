"""The UTC month beside each posting, so that what a month's Budget counts is a sum of one index."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

from nodusctl.store.schema import append_only_triggers

revision = "0003"
down_revision = "0002"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Make the table anew: a table that refuses changes can't be filled in place."""
    op.execute("DROP INDEX ix_postings_sums")
    op.rename_table("postings", "former_postings")
    for verb in ("update", "delete"):
        op.execute(f"DROP TRIGGER postings_refuses_{verb}")
    op.create_table(
        "postings",
        sa.Column("entry_id", sa.Text, primary_key=True),
        sa.Column("position", sa.Integer, primary_key=True),
        *(sa.Column(name, sa.Text, nullable=False) for name in ("object_uid", "side", "month", "account")),
        sa.Column("amount_micro", sa.BigInteger, nullable=False),
    )
    op.execute(
        "INSERT INTO postings (entry_id, position, object_uid, side, month, account, amount_micro) "
        "SELECT p.entry_id, p.position, p.object_uid, p.side, substr(json_extract(e.body, '$.time'), 1, 7), p.account, p.amount_micro "
        "FROM former_postings AS p JOIN entries AS e ON e.id = p.entry_id"
    )
    op.drop_table("former_postings")
    op.create_index("ix_postings_sums", "postings", ["object_uid", "side", "month", "amount_micro"])
    for statement in append_only_triggers("postings"):
        op.execute(statement)
