"""The UTC month beside each posting, so that what a month's Budget counts is a sum of one index."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

from nodusctl.store.rules import TEXT, WHOLE, append_only

revision = "0003"
down_revision = "0002"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Make the table anew: a table that refuses changes can't be filled in place."""
    is_sqlite = op.get_bind().dialect.name == "sqlite"
    if is_sqlite:
        op.execute("DROP INDEX ix_postings_sums")
        op.rename_table("postings", "former_postings")
        for verb in ("update", "delete"):
            op.execute(f"DROP TRIGGER postings_refuses_{verb}")
    else:
        # No state on PostgreSQL is older than revision 0004, so there is nothing to carry over.
        op.drop_table("postings")
    op.create_table(
        "postings",
        sa.Column("entry_id", TEXT, primary_key=True),
        sa.Column("position", WHOLE, primary_key=True),
        *(sa.Column(name, TEXT, nullable=False) for name in ("object_uid", "side", "month", "account")),
        sa.Column("amount_micro", sa.BigInteger, nullable=False),
    )
    if is_sqlite:
        op.execute(
            "INSERT INTO postings (entry_id, position, object_uid, side, month, account, amount_micro) "
            "SELECT p.entry_id, p.position, p.object_uid, p.side, substr(json_extract(e.body, '$.time'), 1, 7), p.account, p.amount_micro "
            "FROM former_postings AS p JOIN entries AS e ON e.id = p.entry_id"
        )
        op.drop_table("former_postings")
    op.create_index("ix_postings_sums", "postings", ["object_uid", "side", "month", "amount_micro"])
    for statement in append_only("postings", op.get_bind().dialect.name):
        op.execute(statement)
