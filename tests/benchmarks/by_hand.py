"""The programs of a local Workspace started by hand: the same words, environments and configuration, in an equal sandbox.

``Mould.of`` looks at a running Workspace: the sandbox's arguments, the command line and environment of its JupyterLab as the kernel has
them, and copies of its folders, sshd's configuration among them. What it then starts differs in folders and ports alone. Keys are there
before the clock runs, as for somebody who does it every morning.
"""

from __future__ import annotations

import contextlib
import json
import re
import shutil
import socket
import subprocess
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

_POLL_SECONDS = 0.02
_LIMIT_SECONDS = 120.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Mould:
    """``places`` leads from a folder of the Workspace to its copy; ``starts`` are words and environment by program."""

    sandbox: tuple[str, ...]
    places: tuple[tuple[str, str], ...]
    starts: dict[str, tuple[list[str], list[str]]]
    user: str
    person_key: Path
    folder: Path

    @staticmethod
    def of(machine: Path, person_key: Path, folder: Path) -> Mould:
        """Take the mould of a running machine, by its folder, into ``folder``."""
        boot = json.loads((machine / "boot.json").read_text())
        sandbox = boot.get("sandbox") or {}
        places = tuple(
            (str(one), str(folder / name)) for one, name in ((machine, "machine"), (boot["vault"], "vault"), (boot["home"], "home"))
        )
        for source, target in places:
            shutil.copytree(source, target, symlinks=True, ignore=shutil.ignore_patterns("gate", "tmp", "keeper.lock"))
        (folder / "machine" / "tmp").mkdir()
        starts = {"sshd": _sshd(boot, machine)}
        with contextlib.suppress(FileNotFoundError):
            for name, row in json.loads((machine / "run" / "tools.json").read_text()).items():
                starts[name] = (_listed(row["pid"], "cmdline"), _listed(row["pid"], "environ"))
        mould = Mould(
            sandbox=(sandbox["program"], *sandbox["arguments"]) if sandbox else (),
            places=places,
            starts=starts,
            user=boot["user"],
            person_key=person_key,
            folder=folder,
        )
        for part in ("sshd_config", "session"):
            path = folder / "machine" / "etc" / part
            path.write_text(mould.moved(path.read_text()))
        admitted = folder / "machine" / "run" / "authorized_keys"
        admitted.write_text(mould.moved(admitted.read_text()))
        return mould

    def moved(self, text: str) -> str:
        """``text`` with the copies' paths instead of the Workspace's."""
        for source, target in self.places:
            text = text.replace(source, target)
        return text

    def seconds(self) -> tuple[float, float]:
        """To the first command over ssh, and (where the Workspace has JupyterLab) to its first 200 after it."""
        port, jupyter_port = _free_port(), _free_port()
        config = self.folder / "machine" / "etc" / "sshd_config"
        config.write_text(re.sub(r"(?m)^Port \d+$", f"Port {port}", config.read_text()))
        login = self.login(port)
        began = time.perf_counter()
        with self._running("sshd", {}):
            _until(lambda: subprocess.run(login, check=False, capture_output=True, stdin=subprocess.DEVNULL).returncode == 0)
            to_ssh = time.perf_counter() - began
            if "jupyter-lab" not in self.starts:
                return to_ssh, 0.0
            token = (self.folder / "vault" / "jupyter-token").read_text()
            with self._running("jupyter-lab", {r"--port=\d+": f"--port={jupyter_port}"}):
                _until(lambda: _answers(jupyter_port, token))
                return to_ssh, time.perf_counter() - began

    def login(self, port: int) -> list[str]:
        """The words of a person's login with a pinned key, to the Workspace or to what is started by hand: both have the same keys."""
        host_key = subprocess.run(
            ["ssh-keygen", "-y", "-f", str(self.folder / "vault" / "host_key")], check=True, capture_output=True, text=True
        ).stdout
        (self.folder / "known").write_text(f"[127.0.0.1]:{port} {' '.join(host_key.split()[:2])}\n")
        words = ["ssh", "-F", "none", "-i", str(self.person_key), "-p", str(port), "-l", self.user, "-o", "StrictHostKeyChecking=yes"]
        return [*words, "-o", f"UserKnownHostsFile={self.folder / 'known'}", "-o", "IdentitiesOnly=yes", "127.0.0.1", "true"]

    @contextlib.contextmanager
    def _running(self, name: str, changes: dict[str, str]) -> Iterator[None]:
        words, environment = self.starts[name]
        for pattern, value in changes.items():
            words = [re.sub(pattern, value, word) for word in words]
        whole = [*self.sandbox, "/usr/bin/env", "-i", *environment, *words]
        log = (self.folder / "log").open("a")
        started = subprocess.Popen([self.moved(word) for word in whole], stdin=subprocess.DEVNULL, stdout=log, stderr=log, env={})
        log.close()
        try:
            yield
        finally:
            started.terminate()
            started.wait(30)


def _sshd(boot: dict[str, Any], machine: Path) -> tuple[list[str], list[str]]:
    """sshd writes a title over its own words, so they come from the boot document."""
    sshd = boot["sshd"]
    config = "/run/nodus/etc/sshd_config" if boot.get("sandbox") else str(machine / "etc" / "sshd_config")
    library = [f"LD_LIBRARY_PATH={sshd['library_path']}"] if sshd["library_path"] else []
    return [sshd["program"], "-D", "-e", "-f", config], ["PATH=/usr/sbin:/usr/bin:/sbin:/bin", *library]


def _listed(pid: int, name: str) -> list[str]:
    """The words or the environment of a process, as the kernel has them."""
    return [part.decode() for part in Path(f"/proc/{pid}/{name}").read_bytes().split(b"\0") if part]


def _until(happens: Callable[[], bool]) -> None:
    deadline = time.monotonic() + _LIMIT_SECONDS
    while not happens():
        if time.monotonic() > deadline:
            raise TimeoutError("it did not start; the benchmark means nothing")
        time.sleep(_POLL_SECONDS)


def _answers(port: int, token: str) -> bool:
    request = f"GET /api/status HTTP/1.1\r\nHost: 127.0.0.1\r\nAuthorization: token {token}\r\nConnection: close\r\n\r\n"
    with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", port), timeout=3) as connection:
        connection.sendall(request.encode())
        return connection.recv(64).startswith(b"HTTP/1.1 200")
    return False


def _free_port() -> int:
    with socket.socket() as probing:
        probing.bind(("127.0.0.1", 0))
        return int(probing.getsockname()[1])
