"""The price book of a command: the shipped files, then the project's own, whose rows supersede them.

Shipped files are named by provider type, and only those of the types in use are read. ``data/index.csv`` holds the digest and the
newest price of each, so the version names all of them and doesn't depend on which providers a project has.

The surprise: a bad cell in a file of the project stops the command with every fault at once; the shipped files are checked by a test.
"""

from __future__ import annotations

import csv
import hashlib
import io
from collections.abc import Collection, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from functools import lru_cache
from pathlib import Path

from nodusctl.base.diagnostics import Diagnostic, Span, error
from nodusctl.base.exits import UserError
from nodusctl.pricing.book import PriceBook, PriceRow, book_version
from nodusctl.pricing.rows import parse_rows

SHIPPED = Path(__file__).parent / "data"
INDEX = "index.csv"


@dataclass(frozen=True, slots=True)
class ShippedFile:
    """A line of the index: a file, how many rows it has, the date of its newest price, and its SHA-256."""

    name: str
    rows: int
    newest: datetime
    digest: str

    @property
    def provider_type(self) -> str:
        """``aws`` for ``aws.csv``."""
        return self.name.removesuffix(".csv")


def shipped_files(folder: Path = SHIPPED) -> tuple[ShippedFile, ...]:
    """What ``index.csv`` lists."""
    lines = csv.DictReader(io.StringIO((folder / INDEX).read_text(encoding="utf-8")))
    return tuple(
        ShippedFile(line["file"], int(line["rows"]), datetime.fromisoformat(line["newest_price"]).replace(tzinfo=UTC), line["sha256"])
        for line in lines
    )


def load_price_book(provider_types: Collection[str] | None = None, project_files: Sequence[Path] = ()) -> PriceBook:
    """Read the book.

    Args:
        provider_types: read shipped rows of these provider types only (None: all, about 4,000 rows).
        project_files: CSV files in the shipped format, in order; the newest row for a shape and place wins, the last among equals.

    UserError with one Diagnostic per fault where a file of the project can't be read or holds a bad cell.
    """
    shipped = shipped_files()
    wanted = [one for one in shipped if provider_types is None or one.provider_type in provider_types]
    sources = [(one.name, (SHIPPED / one.name).read_text(encoding="utf-8")) for one in wanted]
    own, diagnostics = _read_own(project_files)
    parsed = [_parse(text, name) for name, text in (*sources, *own)]
    faults = [*diagnostics, *(fault for _, found in parsed for fault in found)]
    if faults:
        raise UserError(*faults)
    rows = [row for found, _ in parsed for row in found]
    dates = [*(one.newest for one in shipped), *(row.observed_at for row in rows if row.on_demand is not None)]
    digests = [*(one.digest for one in shipped), *(content_digest(text) for _, text in own)]
    return PriceBook.of(book_version(max(dates, default=None), digests), rows)


@dataclass
class CatalogPrices:
    """A PriceSource that reads once, at the first question."""

    provider_types: Collection[str] | None = None
    project_files: Sequence[Path] = ()
    _book: PriceBook | None = field(default=None, init=False, repr=False)

    def book(self) -> PriceBook:
        if self._book is None:
            self._book = load_price_book(self.provider_types, self.project_files)
        return self._book


def content_digest(text: str) -> str:
    """SHA-256 of a file's text, as in the index."""
    return hashlib.sha256(text.encode()).hexdigest()


def _read_own(paths: Sequence[Path]) -> tuple[list[tuple[str, str]], list[Diagnostic]]:
    read: list[tuple[str, str]] = []
    faults: list[Diagnostic] = []
    for path in paths:
        try:
            read.append((str(path), path.read_text(encoding="utf-8")))
        except (OSError, UnicodeDecodeError) as failure:
            reason = failure.strerror if isinstance(failure, OSError) and failure.strerror else "it isn't UTF-8 text"
            fix = "Check the path under prices in nodusctl.yaml."
            faults.append(error("NotFound", "A price file can't be read.", f"{path}: {reason}.", fix, span=Span(str(path), 1, 1)))
    return read, faults


@lru_cache(maxsize=32)
def _parse(text: str, name: str) -> tuple[tuple[PriceRow, ...], tuple[Diagnostic, ...]]:
    """Cached by content: two commands in one process (a test, a tick) parse a file once."""
    return parse_rows(text, name)
