"""A libvirt daemon of a test's own, which may be killed: in namespaces where nobody else's daemon, network or process is seen.

Its sockets, settings and state lie in a folder of the test; its network, bridge and firewall are those of a network namespace. What is to
meet it, the command under test among it, runs inside (``words``). When the first process in there ends, the kernel ends all others.
"""

from __future__ import annotations

import shutil
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

from support import libvirt_host

URI = libvirt_host.URI
_LIMIT_SECONDS = 60.0
_PLACES = {
    "run": "/run/libvirt",
    "lib": "/var/lib/libvirt",
    "log": "/var/log/libvirt",
    "cache": "/var/cache/libvirt",
    "etc": "/etc/libvirt",
}
_APART = ("unshare", "--mount", "--net", "--pid", "--fork", "--kill-child", "--mount-proc", "--propagation", "private")
_QEMU = """user = "root"
group = "root"
dynamic_ownership = 0
remember_owner = 0
security_driver = "none"
namespaces = []
cgroup_controllers = []
"""
_LIBVIRTD = 'auth_unix_ro = "none"\nauth_unix_rw = "none"\n'
# The first process of the namespaces: it takes what others leave, and ends with the test, however that ends, for its stdin does.
_FIRST = """
import os, sys, threading, time
def bury():
    while True:
        try:
            os.wait()
        except ChildProcessError:
            time.sleep(0.2)
threading.Thread(target=bury, daemon=True).start()
print("here", flush=True)
sys.stdin.read()
os._exit(0)
"""
_ENTER = """set -e
ip link set lo up
while [ "$1" != -- ]; do mkdir -p "$2"; mount --bind "$1" "$2"; shift 2; done
shift
exec "$@"
"""


def why_not() -> str:
    """Why no namespaces can be made here, or "" where they can."""
    tried = subprocess.run([*_APART, "true"], capture_output=True, text=True, check=False)
    return f"a daemon of a test's own needs namespaces: {tried.stderr.strip()}" if tried.returncode else ""


@dataclass
class OwnLibvirt:
    """``folder`` is the daemon's own; it is made."""

    folder: Path
    _outer: subprocess.Popen[str] | None = field(default=None, init=False)
    _first: int = field(default=0, init=False)

    def open(self) -> OwnLibvirt:
        """Make the namespaces and start the daemon in them; AssertionError where that isn't possible here."""
        for part in _PLACES:
            (self.folder / part).mkdir(parents=True)
        (self.folder / "etc" / "qemu.conf").write_text(_QEMU)
        (self.folder / "etc" / "libvirtd.conf").write_text(_LIBVIRTD)
        known = Path("/var/cache/libvirt/qemu")
        if known.is_dir():  # what QEMU can do is probed in seconds, and is the same in here
            shutil.copytree(known, self.folder / "cache" / "qemu")
        binds = [text for part, place in _PLACES.items() for text in (str(self.folder / part), place)]
        words = [*_APART, "sh", "-c", _ENTER, "sh", *binds, "--", sys.executable, "-c", _FIRST]
        self._outer = subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        assert self._outer.stdout is not None and self._outer.stdout.readline() == "here\n", "no namespaces can be made here"
        self._first = int(Path(f"/proc/{self._outer.pid}/task/{self._outer.pid}/children").read_text().split()[0])
        self.run("/usr/sbin/virtlogd", "--daemon", "--pid-file", str(self.folder / "virtlogd.pid"))
        self.start()
        made = self.run("virsh", "-q", "-c", URI, "net-create", "/dev/stdin", stdin=libvirt_host.NETWORK_XML)
        assert made.returncode == 0, made.stderr
        return self

    def close(self) -> None:
        """End everything in there."""
        if self._outer is not None:
            self._outer.kill()
            self._outer.communicate()

    def start(self) -> None:
        """Start libvirtd, where it doesn't run, and wait until it answers."""
        if not self.is_up:
            self.run("/usr/sbin/libvirtd", "--daemon", "--pid-file", str(self._pid_file))
        self.eventually(lambda: self.run("virsh", "-q", "-c", URI, "uri").returncode == 0, "libvirtd answers")

    @property
    def _pid_file(self) -> Path:
        return self.folder / "run" / "libvirtd-of-the-test.pid"

    @property
    def daemon(self) -> int:
        """The daemon's pid, as it is seen inside."""
        return int(self._pid_file.read_text())

    @property
    def is_up(self) -> bool:
        """Whether libvirtd runs."""
        return self._pid_file.exists() and self.run("kill", "-0", str(self.daemon)).returncode == 0

    def kill(self) -> None:
        """End libvirtd with -9. Machines live on."""
        self.run("kill", "-9", str(self.daemon))
        self.eventually(lambda: not self.is_up, "libvirtd is gone")
        self._pid_file.unlink()

    def qemu(self, name: str) -> int:
        """The pid of a domain's QEMU, inside; 0 where it doesn't run."""
        pid = self.folder / "run" / "qemu" / f"{name}.pid"
        found = int(pid.read_text()) if pid.exists() else 0
        return found if found and self.run("kill", "-0", str(found)).returncode == 0 else 0

    def qemus(self) -> int:
        """How many machines run, whatever libvirt says."""
        return len(self.run("pgrep", "-f", "^/usr/bin/qemu-system").stdout.split())

    def words(self, *words: str, folder: Path | str = "/") -> list[str]:
        """A command that runs in there, in ``folder``."""
        return ["nsenter", "--target", str(self._first), "--mount", "--net", "--pid", "--", "env", "-C", str(folder), *words]

    def run(self, *words: str, stdin: str = "") -> subprocess.CompletedProcess[str]:
        """Run a command in there."""
        return subprocess.run(self.words(*words), input=stdin, capture_output=True, text=True, timeout=_LIMIT_SECONDS, check=False)

    def virsh(self, *words: str) -> str:
        """What virsh says of this daemon."""
        return self.run("virsh", "-q", "-c", URI, *words).stdout.strip()

    def eventually(self, look: Callable[[], object], what: str, limit_seconds: float = _LIMIT_SECONDS) -> None:
        """Ask until ``look`` is true."""
        until = time.monotonic() + limit_seconds
        while not look():
            assert time.monotonic() < until, f"not within {limit_seconds:g} s: {what}"
            time.sleep(0.1)
