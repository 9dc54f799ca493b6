"""A real PostgreSQL server of one's own: made in a folder, spoken to over a unix socket only, ended and removed with the tests.

It flushes nothing to disk, so that tests don't wait for it. As root it runs as another account, because the server refuses root.
"""

from __future__ import annotations

import os
import pwd
import secrets
import shutil
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

if TYPE_CHECKING:
    import psycopg

USER = "nodus"
_SETTINGS = {
    "listen_addresses": "",
    "fsync": "off",
    "full_page_writes": "off",
    "max_connections": "100",
    "shared_buffers": "32MB",
    "logging_collector": "off",
    "log_destination": "stderr",
    "timezone": "UTC",
}
_ROOM_BYTES = 512 * 1024 * 1024
_ACCOUNTS = ("postgres", "nobody")


@dataclass(frozen=True)
class Server:
    """A running server. ``folder`` holds its socket, its files and its log."""

    folder: Path
    programs: Path

    def url(self, database: str, *, user: str = USER, password: str = "", **parameters: str) -> str:
        """What stands under ``state:`` for one database."""
        named = user + (f":{quote(password, safe='')}" if password else "")
        asked = "&".join(f"{name}={quote(value, safe='')}" for name, value in {"host": str(self.folder), **parameters}.items())
        return f"postgresql://{named}@/{database}?{asked}"

    def new_state(self, **parameters: str) -> str:
        """The URL of a schema that nothing is in. Making a database would copy a thousand files."""
        schema = f"state_{secrets.token_hex(6)}"
        self.ask(f"CREATE SCHEMA {schema}")
        return self.url("postgres", options=f"-csearch_path={schema}", **parameters)

    def in_state(self, url: str) -> psycopg.Connection[tuple[Any, ...]]:
        """A connection to a state, to do there what nodusctl doesn't."""
        import psycopg

        return psycopg.connect(url, autocommit=True)

    def ask(self, statement: str, database: str = "postgres") -> list[tuple[object, ...]]:
        """Rows of one statement, run by the server's owner."""
        import psycopg

        with psycopg.connect(self.url(database), autocommit=True) as connection:
            cursor = connection.execute(statement.encode())
            return cursor.fetchall() if cursor.description is not None else []

    def restart(self, mode: str = "immediate") -> None:
        """End it (``immediate``: as a power cut would, ``fast``: as an administrator would) and start it again."""
        _control(self, "stop", "-m", mode)
        _start(self)


def programs_folder() -> Path | None:
    """Where the server's programs are: on PATH, or where Debian puts them; None where they aren't installed."""
    found = shutil.which("initdb")
    if found is not None and (Path(found).resolve().parent / "postgres").exists():
        return Path(found).resolve().parent
    unpacked = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "nodusctl" / "programs"
    for root in (Path("/"), unpacked):
        versions = sorted((root / "usr/lib/postgresql").glob("*/bin/initdb"), key=lambda path: int(path.parts[-3]))
        if versions:
            return versions[-1].parent
    return None


def why_not() -> str:
    """Why no server can be started here; empty where one can."""
    try:
        import psycopg  # noqa: F401
    except ImportError:
        return "psycopg is not installed: pip install 'nodusctl[postgres]'"
    if programs_folder() is None:
        return "PostgreSQL's server is not installed: apt-get install postgresql"
    if os.getuid() == 0 and (_account() is None or shutil.which("setpriv") is None):
        return "PostgreSQL refuses root, and there is no other account to run it as"
    return ""


@contextmanager
def a_server() -> Iterator[Server]:
    """A server for as long as the block lasts."""
    programs = programs_folder()
    assert programs is not None
    # In memory where that is possible. A socket's path may be 107 bytes long, so not under pytest's own folder.
    memory = Path("/dev/shm")
    has_room = os.access(memory, os.W_OK) and shutil.disk_usage(memory).free > _ROOM_BYTES
    folder = Path(tempfile.mkdtemp(prefix="nodus-pg-", dir=memory if has_room else None))
    server = Server(folder, programs)
    try:
        if os.getuid() == 0:
            account = _account()
            assert account is not None
            os.chown(folder, account.pw_uid, account.pw_gid)
        _run(server, "initdb", "-D", str(folder / "data"), "-U", USER, "-A", "trust", "-E", "UTF8", "--locale=C.UTF-8", "--no-sync", "-N")
        _start(server)
        try:
            yield server
        finally:
            _control(server, "stop", "-m", "immediate")
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _start(server: Server) -> None:
    settings = {**_SETTINGS, "unix_socket_directories": str(server.folder)}
    options = " ".join(f"-c {name}='{value}'" for name, value in settings.items())
    _control(server, "start", "-l", str(server.folder / "log"), "-o", options)


def _control(server: Server, *words: str) -> None:
    _run(server, "pg_ctl", "-D", str(server.folder / "data"), "-w", "-t", "60", *words)


def _run(server: Server, program: str, *words: str) -> None:
    command = [str(server.programs / program), *words]
    if os.getuid() == 0:
        account = _account()
        assert account is not None
        command = ["setpriv", f"--reuid={account.pw_uid}", f"--regid={account.pw_gid}", "--clear-groups", *command]
    # pg_ctl's server keeps the streams it was started with: a pipe would never end.
    with tempfile.TemporaryFile("w+") as said:
        done = subprocess.run(command, stdin=subprocess.DEVNULL, stdout=said, stderr=said, cwd=server.folder, timeout=120, check=False)
        said.seek(0)
        assert done.returncode == 0, f"{program}: {said.read()}"


def _account() -> pwd.struct_passwd | None:
    for name in _ACCOUNTS:
        try:
            return pwd.getpwnam(name)
        except KeyError:
            continue
    return None


def wait_until(happens: object, seconds: float = 30.0) -> None:
    """Until ``happens()`` is true; AssertionError where it isn't in time."""
    assert callable(happens)
    give_up_at = time.monotonic() + seconds
    while not happens():
        assert time.monotonic() < give_up_at, "it did not happen in time"
        time.sleep(0.02)
