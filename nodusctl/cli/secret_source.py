"""Secret values where a file says they are: an environment variable, a file, or what a command prints. Read at the moment of need."""

from __future__ import annotations

import subprocess
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from nodusctl.base.diagnostics import error
from nodusctl.base.exits import UserError
from nodusctl.base.redaction import REDACTOR
from nodusctl.resources.resource import ValueSource


@dataclass(frozen=True, slots=True)
class PersonSecrets:
    """A SecretSource for the person at the keyboard; relative files and commands start in ``folder``."""

    environment: Mapping[str, str] = field(repr=False)
    folder: Path
    limit_seconds: float = 60

    def read(self, source: ValueSource) -> bytes:
        value = self._value(source)
        REDACTOR.remember(value.decode("utf-8", "replace"))
        return value

    def _value(self, source: ValueSource) -> bytes:
        if source.env:
            return self._from_environment(source.env)
        return self._from_file(source.file) if source.file else self._from_command(source.command)

    def _from_environment(self, name: str) -> bytes:
        value = self.environment.get(name)
        if value is None:
            raise _unreadable("An environment variable of a Secret isn't set", f"The variable is {name}.", f"export {name}=…")
        return value.encode()

    def _from_file(self, name: str) -> bytes:
        path = self.folder / name
        try:
            return path.read_bytes()
        except OSError as fault:
            raise _unreadable("A file of a Secret can't be read", f"{path}: {fault.strerror}.", "Check the path under valueFrom.") from None

    def _from_command(self, command: tuple[str, ...]) -> bytes:
        """Its output without the last line break; its words on stderr go to the person, not into a message.

        It gets no stdin: that is the person's answer to us. A program that asks something opens the terminal itself.
        """
        try:
            ended = subprocess.run(
                command,
                cwd=self.folder,
                env=dict(self.environment),
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                timeout=self.limit_seconds,
                check=False,
            )
        except (OSError, subprocess.TimeoutExpired) as fault:
            reason = fault.strerror if isinstance(fault, OSError) else f"it didn't end within {self.limit_seconds:g} s"
            raise _unreadable("A command of a Secret failed", f"{command[0]}: {reason}.", "Run it by hand.") from None
        if ended.returncode != 0:
            raise _unreadable("A command of a Secret failed", f"{command[0]} ended with status {ended.returncode}.", "Run it by hand.")
        return ended.stdout.removesuffix(b"\n").removesuffix(b"\r")


def _unreadable(summary: str, detail: str, fix: str) -> UserError:
    return UserError(error("Invalid", summary, detail, fix))
