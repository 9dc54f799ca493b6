"""Reading a Secret's value where its file says it is, at the moment it is needed."""

from __future__ import annotations

from typing import Protocol

from nodusctl.resources.resource import ValueSource


class SecretSource(Protocol):
    """Environment variables, files and commands of the person at the keyboard."""

    def read(self, source: ValueSource) -> bytes:
        """The value's bytes; UserError (its text without the value) where it isn't there or can't be read."""
        ...
