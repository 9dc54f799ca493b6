"""Whose public keys may log in to a Workspace: the SSHKeys it names, or every SSHKey of the state and this person's own."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from nodusctl.ports.journal import Journal
from nodusctl.state.records import Record

CLI_KEY = "cli"
"""The SSHKey name of the key the command line makes for its user; it needs no document."""


class PersonKeys:
    """``own_key`` gives this person's public key, made on first use. The SSHKeys are read once: a run doesn't change them under itself."""

    def __init__(self, journal: Journal, own_key: Callable[[], str]) -> None:
        self._journal, self._own_key = journal, own_key
        self._lines: Mapping[str, str] | None = None

    def __call__(self, record: Record) -> tuple[str, ...]:
        """Public key lines for ``record``, in a fixed order, each once."""
        known = self._known()
        named = tuple(str(name) for name in record.spec.get("sshKeys", ()))
        names = named or (*sorted(known), CLI_KEY)
        lines = (self._own_key() if name == CLI_KEY and CLI_KEY not in known else known.get(name, "") for name in names)
        return tuple(dict.fromkeys(line for line in lines if line))

    def _known(self) -> Mapping[str, str]:
        if self._lines is None:
            self._lines = {record.address.name: str(record.spec["publicKey"]) for record in self._journal.records("sshkey")}
        return self._lines
