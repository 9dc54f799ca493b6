"""A deterministic cloud for tests, docs, plans and learning: its world is a file people write, its doings lie in one SQLite database."""
