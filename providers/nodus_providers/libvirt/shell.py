"""Short scripts run on a host: on this computer, or over ssh with the pinned key. Each under a time limit.

A script is POSIX sh; its arguments are positional and never part of its text, so nothing of a user's can become code. What goes to its
stdin and what it prints may be bytes.
"""

from __future__ import annotations

import shlex
import subprocess
from collections.abc import Callable, Sequence
from dataclasses import dataclass

_LIMIT_SECONDS = 30.0
_PATH = "PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin; export PATH LC_ALL=C; umask 027\n"
_SSH_FAILED = 255


class HostError(OSError):
    """A host could not be asked, or not in time: nobody can say what happened there."""


class ScriptError(OSError):
    """A script ran and failed; the text is what it said."""


@dataclass(frozen=True, slots=True)
class HostShell:
    """``transport`` is the ssh command with its options and the host; empty for this computer. ``before_each`` goes before each script."""

    transport: tuple[str, ...] = ()
    before_each: Callable[[], None] | None = None

    def run(self, script: str, *arguments: str, stdin: bytes = b"", limit_seconds: float = _LIMIT_SECONDS) -> str:
        """The script's output. ScriptError where it fails, HostError where it could not be run or didn't end."""
        words: Sequence[str] = ("sh", "-c", _PATH + script, "nodusctl", *arguments)
        if self.before_each is not None:
            self.before_each()
        if self.transport:
            words = (*self.transport, shlex.join(words))
        try:
            ended = subprocess.run(words, input=stdin, capture_output=True, timeout=limit_seconds, cwd="/", check=False)
        except subprocess.TimeoutExpired as fault:
            raise HostError(f"the host did not answer within {limit_seconds:g} s") from fault
        said = ended.stderr.decode("utf-8", "replace").strip()
        if self.transport and ended.returncode == _SSH_FAILED:
            raise HostError(said.splitlines()[-1] if said else "ssh could not connect")
        if ended.returncode:
            raise ScriptError(said.splitlines()[-1] if said else f"exit {ended.returncode}")
        return ended.stdout.decode("utf-8", "replace")
