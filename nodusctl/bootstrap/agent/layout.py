"""Where things lie in a machine's folder, and how files are written there: whole or not at all.

What must not touch a disk (host key, secrets, environment) lies in the *vault*, a folder on tmpfs where there is one.
"""

from __future__ import annotations

import json
import os
import tempfile
import time
from typing import Any

VERSION = "1"


class Layout:
    """Paths of one machine, and its boot document as installed (``boot.json``)."""

    def __init__(self, folder: str) -> None:
        self.folder = os.path.abspath(folder)
        self._boot: dict[str, Any] = {}
        self.boot_file = self.path("boot.json")
        self.lock_file = self.path("run", "keeper.lock")
        self.keeper_file = self.path("run", "keeper.json")
        self.door_file = self.path("run", "door.json")
        self.sandbox_file = self.path("run", "sandbox.json")
        self.companions_file = self.path("run", "companions.json")
        self.edge_file = self.path("run", "edge.json")
        self.heartbeat_file = self.path("run", "heartbeat")
        self.activity_file = self.path("run", "activity.json")
        self.ready_file = self.path("run", "ready.json")
        self.idle_file = self.path("run", "idle.json")
        self.sample_file = self.path("run", "sample.json")
        self.end_request_file = self.path("run", "end-request.json")
        self.quiesced_file = self.path("run", "quiesced.json")
        self.end_note_file = self.path("run", "end-note.json")
        self.ended_file = self.path("run", "ended.json")
        self.log_file = self.path("run", "log")
        self.admitted_file = self.path("run", "authorized_keys")
        self.first_host_key_file = self.path("etc", "host_key")
        self.person_keys_file = self.path("etc", "authorized_keys")

    def path(self, *parts: str) -> str:
        """A path inside the machine's folder."""
        return os.path.join(self.folder, *parts)

    @property
    def boot(self) -> dict[str, Any]:
        """The boot document; it never changes after the machine was made."""
        self._boot = self._boot or read_json(self.boot_file)
        return self._boot

    @property
    def vault(self) -> str:
        """Where what must not touch a disk lies."""
        return str(self.boot["vault"])

    def vault_path(self, *parts: str) -> str:
        """A path inside the vault."""
        return os.path.join(self.vault, *parts)


def read_text(path: str) -> str:
    """A file's text, or "" where there is none."""
    try:
        with open(path, encoding="utf-8") as stream:
            return stream.read()
    except FileNotFoundError:
        return ""


def read_json(path: str) -> dict[str, Any]:
    """A file's JSON mapping, or an empty one where there is no file."""
    text = read_text(path)
    return dict(json.loads(text)) if text else {}


def write_text(path: str, text: str, mode: int = 0o600, *, is_synced: bool = True) -> None:
    """Replace a file whole: written beside it, synced, renamed.

    What is rewritten every few seconds, or says something of this boot only, isn't synced: that takes as long as starting sshd.
    """
    folder = os.path.dirname(path)
    handle, temporary = tempfile.mkstemp(dir=folder, prefix=".new-")
    try:
        with os.fdopen(handle, "w", encoding="utf-8") as stream:
            stream.write(text)
            stream.flush()
            os.fchmod(stream.fileno(), mode)
            if is_synced:
                os.fsync(stream.fileno())
        os.replace(temporary, path)
    except BaseException:
        os.unlink(temporary)
        raise


def write_json(path: str, value: dict[str, Any], *, is_synced: bool = True) -> None:
    """Replace a JSON file whole."""
    write_text(path, json.dumps(value, sort_keys=True), is_synced=is_synced)


def timestamp(moment: float | None = None) -> str:
    """A moment of the computer's clock as RFC 3339 UTC with microseconds."""
    seconds = time.time() if moment is None else moment
    whole = int(seconds)
    return time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(whole)) + f".{int((seconds - whole) * 1e6):06d}Z"
