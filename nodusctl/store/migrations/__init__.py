"""Alembic's revisions of the state's schema; run by ``store.migrating`` on the connection it hands over."""
