"""Exit codes, and the one exception that carries a person's mistake to the edge.

Exceptions a caller may see:

    UserError             a person's input or world is wrong; diagnostics and exit code say how
"""

from __future__ import annotations

from enum import IntEnum

from nodusctl.base.diagnostics import Diagnostic


class ExitCode(IntEnum):
    """What the process ends with; the names stand in the last line of ``--json``."""

    DONE = 0
    ERROR = 1
    CHANGES = 2
    DRIFT = 3
    BLOCKED = 10
    REFUSED = 11
    PRICE = 12
    LOCKED = 13
    PARTIAL = 14
    POLICY = 15
    USAGE = 64
    BUG = 70
    INTERRUPTED = 130
    TERMINATED = 143

    @property
    def label(self) -> str:
        """The lower-case name printed beside the code."""
        return self.name.lower()


class UserError(Exception):
    """Ends a command with diagnostics; raised where no value can be returned, caught once in the CLI."""

    def __init__(self, *diagnostics: Diagnostic, exit_code: ExitCode = ExitCode.ERROR) -> None:
        super().__init__(diagnostics[0].summary if diagnostics else "error")
        self.diagnostics = diagnostics
        self.exit_code = exit_code
