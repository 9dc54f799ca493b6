"""Debian's cron in the foreground, with a spool of its own: other people's crontabs, and the system's own jobs, are neither read nor run.

cron's folders are fixed in the program, so the daemon is given a mount namespace in which empty ones of ours lie over them; ``words`` puts
a command beside it. Where no namespace may be made (a plain container) root's own crontab is borrowed and given back byte for byte.
"""

from __future__ import annotations

import os
import shlex
import shutil
import subprocess
import time
from pathlib import Path

PATH = "/usr/sbin:/sbin:/usr/bin:/bin"
SPOOL, SYSTEM_JOBS, SYSTEM_TABLE, PID_FILE = "/var/spool/cron/crontabs", "/etc/cron.d", "/etc/crontab", "/run/crond.pid"
DAEMON_NAMES = frozenset({"cron", "crond"})


def obstacle() -> str:
    """Why no cron daemon can be started here; empty where one can."""
    if os.geteuid() != 0:
        return "only root may start a cron daemon: run it as root, or with sudo"
    missing = [name for name in ("cron", "crontab") if shutil.which(name, path=PATH) is None]
    return f"{' and '.join(missing)} not installed; run as root: apt-get install cron" if missing else ""


class RealCron:
    """One daemon, from ``__enter__`` to ``__exit__``. ``folder`` is where its own spool lies; it must be root's alone to write."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._daemon: subprocess.Popen[bytes] | None = None
        self._borrowed: bytes | None = None
        self._is_apart = False
        self._made_pid_file = False

    @property
    def pid(self) -> int:
        """The daemon's; 0 where one that was there already is used."""
        return self._daemon.pid if self._daemon is not None else 0

    @property
    def is_apart(self) -> bool:
        """True where it has a spool of its own."""
        return self._is_apart

    def words(self, *command: str) -> list[str]:
        """``command`` as it must be run to see the daemon's spool."""
        return ["nsenter", f"--target={self.pid}", "--mount", "--", *command] if self._is_apart else list(command)

    def __enter__(self) -> RealCron:
        self._made_pid_file = not Path(PID_FILE).exists()
        self._is_apart = _may_mount()
        if self._is_apart:
            self._start(["unshare", "--mount", "--", "sh", "-ec", f"{self._mounts()}exec cron -f"])
        else:
            self._borrowed = _crontab_now()
            if not _daemon_runs():
                self._start(["cron", "-f"])
        return self

    def __exit__(self, *ending: object) -> None:
        if self._borrowed is not None:
            words = ["crontab", "-"] if self._borrowed else ["crontab", "-r"]
            subprocess.run(words, input=self._borrowed, check=False, env={"PATH": PATH}, stderr=subprocess.DEVNULL)
        if self._daemon is not None:
            self._daemon.terminate()
            self._daemon.wait(10)
        if self._made_pid_file:
            Path(PID_FILE).unlink(missing_ok=True)

    def _mounts(self) -> str:
        own = self._folder / "cron"
        for name in ("spool", "jobs"):
            (own / name).mkdir(parents=True)
        shutil.chown(own / "spool", "root", "crontab")
        (own / "spool").chmod(0o1730)
        pairs = [(own / "spool", SPOOL), (own / "jobs", SYSTEM_JOBS), (own / "table", SYSTEM_TABLE)]
        if not self._made_pid_file:
            pairs.append((own / "pid", PID_FILE))
        for inner, _ in pairs[2:]:
            inner.touch(mode=0o644)
        present = [(inner, outer) for inner, outer in pairs if Path(outer).exists()]
        return "".join(f"mount --bind {shlex.quote(str(inner))} {outer}\n" for inner, outer in present)

    def _start(self, words: list[str]) -> None:
        self._daemon = subprocess.Popen(words, env={"PATH": PATH}, cwd="/", stdin=subprocess.DEVNULL)
        for _ in range(50):
            if self._daemon.poll() is not None:
                raise RuntimeError(f"cron ended at once, with exit code {self._daemon.returncode}")
            if _name_of(self._daemon.pid) in DAEMON_NAMES:
                return
            time.sleep(0.1)
        self._daemon.kill()
        raise RuntimeError("cron did not come up within 5 seconds")


def _may_mount() -> bool:
    words = ["unshare", "--mount", "--", "mount", "--bind", "/etc", "/etc"]
    return subprocess.run(words, check=False, capture_output=True, env={"PATH": PATH}).returncode == 0


def _crontab_now() -> bytes:
    """Root's crontab; empty for none."""
    ended = subprocess.run(["crontab", "-l"], check=False, capture_output=True, env={"PATH": PATH})
    return ended.stdout if ended.returncode == 0 else b""


def _daemon_runs() -> bool:
    return any(_name_of(int(one.name)) in DAEMON_NAMES for one in Path("/proc").glob("[0-9]*"))


def _name_of(pid: int) -> str:
    try:
        return Path(f"/proc/{pid}/comm").read_text(encoding="utf-8").strip()
    except OSError:
        return ""
