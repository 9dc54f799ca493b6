"""``1 workspace``, ``2 workspaces``."""

from __future__ import annotations


def counted(count: int, noun: str) -> str:
    """The count with its noun, which takes an s where the count isn't one."""
    return f"{count} {noun}" if count == 1 else f"{count} {noun}s"
