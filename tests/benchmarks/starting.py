"""How long a Workspace takes to its first ssh and to JupyterLab's first 200, beside the same programs started by hand in the same run.

Both sides may use the whole computer. ``start`` runs in this process, as it does under a ticker or a server: starting Python is measured by
itself, in ``start_up``. It ends when every tool has answered. Best of three, because a busy computer is slow at everything.
"""

from __future__ import annotations

import contextlib
import importlib.util
import os
import secrets
import shutil
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent.parent))

from support.local_project import LocalProject

from nodusctl.base.exits import ExitCode

Command = Callable[..., ExitCode]

SSHD = shutil.which("sshd", path="/usr/sbin:/sbin:/usr/bin:" + os.environ.get("PATH", ""))
JUPYTER = str(Path(sys.executable).parent / "jupyter-lab")
_POLL_SECONDS = 0.02
_LIMIT_SECONDS = 120.0


def can_start() -> bool:
    """True where both programs are here."""
    return SSHD is not None and importlib.util.find_spec("jupyterlab") is not None


def by_hand(folder: Path) -> tuple[float, float]:
    """Seconds to the first command over ssh, and to JupyterLab's first 200 after it: keys, sshd, ssh, jupyter-lab, as typed."""
    folder.mkdir(mode=0o700)
    began = time.perf_counter()
    with _sshd(folder) as port:
        login = ["ssh", "-F", "none", "-i", str(folder / "me"), "-p", str(port), "-o", "StrictHostKeyChecking=yes"]
        login += ["-o", f"UserKnownHostsFile={folder / 'known'}", "-o", "IdentitiesOnly=yes", "127.0.0.1", "true"]
        _until(lambda: subprocess.run(login, check=False, capture_output=True).returncode == 0)
        to_ssh = time.perf_counter() - began
        with _jupyter(folder) as (jupyter_port, token):
            _until(lambda: _answers(jupyter_port, token))
            return to_ssh, time.perf_counter() - began


def _until(happens: Callable[[], bool]) -> None:
    deadline = time.monotonic() + _LIMIT_SECONDS
    while not happens():
        if time.monotonic() > deadline:
            raise TimeoutError("it did not start; the benchmark means nothing")
        time.sleep(_POLL_SECONDS)


@contextlib.contextmanager
def _sshd(folder: Path) -> Iterator[int]:
    for name in ("host", "me"):
        subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", str(folder / name)], check=True)
    port = _free_port()
    host_key = (folder / "host.pub").read_text().split()[:2]
    (folder / "known").write_text(f"[127.0.0.1]:{port} {' '.join(host_key)}\n")
    lines = [f"ListenAddress 127.0.0.1\nPort {port}\nHostKey {folder / 'host'}\nAuthorizedKeysFile {folder / 'me.pub'}"]
    lines += [f"PidFile none\nStrictModes no\nUsePAM {'yes' if os.geteuid() == 0 else 'no'}\nPermitRootLogin prohibit-password\n"]
    (folder / "sshd_config").write_text("\n".join(lines))
    assert SSHD is not None
    with _running([SSHD, "-D", "-e", "-f", str(folder / "sshd_config")]):
        yield port


@contextlib.contextmanager
def _jupyter(folder: Path) -> Iterator[tuple[int, str]]:
    port, token = _free_port(), secrets.token_hex(24)
    words = [JUPYTER, "--no-browser", "--ip=127.0.0.1", f"--port={port}", "--ServerApp.port_retries=0"]
    words += [f"--ServerApp.root_dir={folder}", *(["--allow-root"] if os.geteuid() == 0 else [])]
    environment = {**os.environ, "JUPYTER_TOKEN": token, "HOME": str(folder), "JUPYTER_RUNTIME_DIR": str(folder / "runtime")}
    with _running(words, environment):
        yield port, token


@contextlib.contextmanager
def _running(words: list[str], environment: dict[str, str] | None = None) -> Iterator[None]:
    started = subprocess.Popen(words, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, env=environment)
    try:
        yield
    finally:
        started.terminate()
        started.wait(30)


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


def as_workspace(folder: Path, tools: str, command: Command) -> float:
    """Seconds of ``start`` in this process, until every one of ``tools`` has answered."""
    project = LocalProject(folder, tools=tools).write()
    text = (project.project / "lab.yaml").read_text(encoding="utf-8")
    (project.project / "lab.yaml").write_text(
        text.replace("cpu: 1, memory: 512Mi", f"cpu: {os.cpu_count()}, memory: 1Gi"), encoding="utf-8"
    )
    before = {name: os.environ.get(name) for name in project.environment if name.startswith("XDG_")}
    os.environ.update({name: value for name, value in project.environment.items() if name.startswith("XDG_")})
    try:
        for words in (("apply", "--yes"), ("stop", "lab")):
            _must(command, project.project, *words)
        began = time.perf_counter()
        _must(command, project.project, "start", "lab")
        return time.perf_counter() - began
    finally:
        command(project.project, "destroy", "workspace/lab", "--yes")
        for name, value in before.items():
            os.environ.pop(name)
            if value is not None:
                os.environ[name] = value


def _must(command: Command, folder: Path, *words: str) -> None:
    if command(folder, *words) is not ExitCode.DONE:
        raise RuntimeError(f"{' '.join(words)} did not finish; the benchmark means nothing")


def starting(line: Callable[[str, float, float, str], None], command: Command, scratch: Path, times: int = 3) -> None:
    """``line`` gets what was measured, seconds, the limit (15 % or one second above by hand) and words beside it."""
    if not can_start():
        print("Workspace starts are not measured: sshd and jupyterlab are needed", flush=True)
        return
    hand = [by_hand(scratch / f"by-hand-{number}") for number in range(times)]
    for what, tools, best in (
        ("ssh", "SSH", min(one[0] for one in hand)),
        ("JupyterLab's 200", "SSH, Jupyter", min(one[1] for one in hand)),
    ):
        took = min(as_workspace(scratch / f"{number}-{len(tools)}", tools, command) for number in range(times))
        limit = max(best * 1.15, best + 1.0)
        line(f"Workspace start to {what}", took, limit, f"by hand {best * 1000:.0f} ms, {took - best:+.2f} s")
