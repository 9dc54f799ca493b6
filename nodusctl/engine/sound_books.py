"""Rows of the books for whoever sums them: a damaged one ends the command, because a sum that leaves one out would look right."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TypeVar

from nodusctl.base.diagnostics import error
from nodusctl.base.exits import UserError
from nodusctl.ports.books import Damaged

T = TypeVar("T")


def sound(rows: Iterable[T | Damaged]) -> Iterator[T]:
    """The rows one by one; UserError (LedgerUnsound) at the first that can't be read."""
    for row in rows:
        if isinstance(row, Damaged):
            detail = f"{row.what}: {row.why}."
            fix = "Look at all of it, then restore a copy of the state:\n  nodusctl receipts --verify"
            raise UserError(error("LedgerUnsound", "A row of the ledger can't be read", detail, fix))
        yield row
