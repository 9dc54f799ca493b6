"""Where the price book comes from."""

from __future__ import annotations

from typing import Protocol

from nodusctl.pricing.book import PriceBook


class PriceSource(Protocol):
    """One price book a command, read once."""

    def book(self) -> PriceBook:
        """The book; UserError with a Diagnostic per bad cell where a price file of the project can't be read."""
        ...
