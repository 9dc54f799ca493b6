"""Where keys of this person lie: a file that only they can read, or the keyring of their desktop.

A key is made whole or not at all, and never over another process's: the first one wins and everybody reads that one. The keyring is an
extra; cron has none.
"""

from __future__ import annotations

import os
import secrets
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from nodusctl.store.key_faults import keyring_missing, keyring_refused, open_key_file

_SERVICE = "nodusctl"


class KeyPlace(Protocol):
    """One place for one key."""

    @property
    def shown(self) -> str:
        """For messages."""
        ...

    def read(self) -> str:
        """The key's text; empty where there is none. UserError where others could read it too."""
        ...

    def keep(self, text: str) -> str:
        """Keep ``text`` where there is no key yet; the key that lies there then."""
        ...


@dataclass(frozen=True, slots=True)
class KeyFile:
    """A 0600 file outside every project."""

    path: Path

    @property
    def shown(self) -> str:
        return str(self.path)

    def read(self) -> str:
        if not self.path.exists():
            return ""
        mode = self.path.stat().st_mode & 0o777
        if mode & 0o077:
            raise open_key_file(self.path, mode)
        return self.path.read_text().strip()

    def keep(self, text: str) -> str:
        self.path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        draft = self.path.with_name(f".{self.path.name}.{secrets.token_hex(8)}")
        descriptor = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        try:
            os.write(descriptor, text.encode() + b"\n")
            os.fsync(descriptor)
        finally:
            os.close(descriptor)
        try:
            os.link(draft, self.path)
        except FileExistsError:
            pass
        finally:
            draft.unlink()
        return self.read()


@dataclass(frozen=True, slots=True)
class KeyringEntry:
    """An entry of the keyring that the desktop opens when its person logs in."""

    name: str

    @property
    def shown(self) -> str:
        return f"the keyring ({_SERVICE}, {self.name})"

    def read(self) -> str:
        try:
            import keyring
            from keyring.errors import KeyringError
        except ImportError:
            raise keyring_missing() from None
        try:
            return (keyring.get_password(_SERVICE, self.name) or "").strip()
        except KeyringError as problem:
            raise keyring_refused(str(problem)) from None

    def keep(self, text: str) -> str:
        found = self.read()
        if found:
            return found
        import keyring
        from keyring.errors import KeyringError

        try:
            keyring.set_password(_SERVICE, self.name, text)
        except KeyringError as problem:
            raise keyring_refused(str(problem)) from None
        return self.read()
