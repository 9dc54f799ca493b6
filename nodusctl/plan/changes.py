"""What changes in one field, and what that does to a person's day."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import Any


class ChangeClass(StrEnum):
    """The consequence printed beside each changed line (cli.md, "Output")."""

    FREE = "free"
    NEXT_START = "takes effect at the next start"
    REPRICES = "re-prices"
    STARTS = "starts a machine"
    ENDS_SESSION = "ends the session"
    RESTARTS = "restarts the session"
    ROLLS = "rolls the workers"
    REPLACES = "replaces the machine"
    DESTROYS = "destroys data"


@dataclass(frozen=True, slots=True, kw_only=True)
class FieldChange:
    """One field: dotted ``path`` from the object (``spec.idleTimeout``), JSON values before and after (None: absent)."""

    path: str
    before: Any
    after: Any
    change_class: ChangeClass
    note: str = ""
