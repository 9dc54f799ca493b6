"""Alembic's entry: runs revisions on the caller's connection, inside the caller's transaction. There is no offline mode."""

from __future__ import annotations

from alembic import context

from nodusctl.store.schema import METADATA

context.configure(connection=context.config.attributes["connection"], target_metadata=METADATA)
context.run_migrations()
