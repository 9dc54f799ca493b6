"""One ssh login a host for as long as this process works with it, which scripts and libvirt's own connection share.

A handshake costs a slow host a second and more, and a plan asks it several things. The login is held by a pipe: its other end reads until
this process is gone, however it went, so nothing of it stays behind and no time limit is needed. Where no socket can be made, each
connection logs in for itself as before.
"""

from __future__ import annotations

import contextlib
import os
import selectors
import stat
import subprocess
import tempfile
import threading
import time
from collections.abc import Mapping
from pathlib import Path

from nodus_providers.libvirt.shell import HostError

_READY = b"nodus-ready\n"
_HOLD = f"echo {_READY.decode().strip()}; exec cat >/dev/null"
_LIMIT_SECONDS = 20.0
_LONGEST_PATH = 80
"""Of a socket's address, which has room for 104 bytes, less what ssh puts behind it while it makes it."""
_OWN_TROUBLE = ("ControlPath", "ControlSocket", "control socket", "unix_listener", "mux")


class SharedLogin:
    """One login. Safe between threads.

    ``words`` is the ssh command up to the host, ``to`` what follows: port, user and host. ``socket`` is where others join it.
    """

    def __init__(self, words: tuple[str, ...], to: tuple[str, ...], socket: Path) -> None:
        self._words, self._to, self._socket = words, to, socket
        self._lock = threading.Lock()
        self._ssh: subprocess.Popen[bytes] | None = None
        self._is_wanted = True
        self._failed_at, self._why = 0.0, ""

    def begin(self) -> None:
        """Log in unless that is done; others join by themselves from then on. HostError where the host can't be logged in to."""
        asked_at = time.monotonic()
        with self._lock:
            if self._failed_at >= asked_at:
                raise HostError(self._why)  # whoever waited for an attempt has its answer
            if not self._is_wanted or (self._ssh is not None and self._ssh.poll() is None):
                return
            self._end()
            with contextlib.suppress(FileNotFoundError):
                self._socket.unlink()  # of a process that had our number and was killed
            master = ("-o", "ControlMaster=yes", "-o", f"ControlPath={self._socket}")
            words = (*self._words, *master, "-T", *self._to, _HOLD)
            with tempfile.TemporaryFile() as errors:
                try:
                    # In a session of its own: Ctrl-C lets what is in flight finish, and this carries it.
                    ssh = subprocess.Popen(
                        words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=errors, cwd="/", start_new_session=True
                    )
                except OSError as fault:
                    raise HostError(f"ssh could not be run: {fault.strerror}") from fault
                self._ssh = ssh
                if _said_ready(ssh):
                    return
                self._end()
                errors.seek(0)
                said = errors.read().decode("utf-8", "replace").strip()
            if any(word in said for word in _OWN_TROUBLE):
                self._is_wanted = False
                return
            self._failed_at, self._why = time.monotonic(), said.splitlines()[-1] if said else "ssh could not connect"
            raise HostError(self._why)

    def _end(self) -> None:
        ssh, self._ssh = self._ssh, None
        if ssh is None:
            return
        ssh.kill()
        ssh.wait()
        for pipe in (ssh.stdin, ssh.stdout):
            if pipe is not None:
                with contextlib.suppress(OSError):
                    pipe.close()
        with contextlib.suppress(OSError):
            self._socket.unlink()


def socket_folder(environment: Mapping[str, str]) -> Path | None:
    """A folder for sockets that nobody else can reach into; None where there can be none."""
    base = Path(environment.get("XDG_RUNTIME_DIR") or tempfile.gettempdir())
    folder = base / f"nodusctl-{os.getuid()}"
    try:
        folder.mkdir(mode=0o700, exist_ok=True)
        found = folder.lstat()
    except OSError:
        return None
    is_private = stat.S_ISDIR(found.st_mode) and found.st_uid == os.getuid() and not stat.S_IMODE(found.st_mode) & 0o077
    is_plain = not set(str(folder)) & set("%\"'$` \\\n")
    return folder if is_private and is_plain and len(os.fsencode(folder)) <= _LONGEST_PATH - 24 else None


def _said_ready(ssh: subprocess.Popen[bytes]) -> bool:
    assert ssh.stdout is not None
    said, until = b"", time.monotonic() + _LIMIT_SECONDS
    with selectors.DefaultSelector() as waiting:
        waiting.register(ssh.stdout, selectors.EVENT_READ)
        while not said.endswith(_READY):
            if not waiting.select(max(0.0, until - time.monotonic())):
                return False
            part = os.read(ssh.stdout.fileno(), 4096)
            if not part:
                ssh.wait()
                return False
            said += part
    return True
