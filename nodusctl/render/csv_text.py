"""Comma-separated text after RFC 4180: a header line, quoting where a cell needs it, every line ended by CR LF."""

from __future__ import annotations

import csv
from collections.abc import Iterable, Sequence
from io import StringIO


def csv_text(heads: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """The whole table without its last LF, which whoever prints the text adds."""
    page = StringIO()
    writer = csv.writer(page, lineterminator="\r\n")
    writer.writerow(heads)
    writer.writerows(rows)
    return page.getvalue().removesuffix("\n")
