"""``make demo``: the main job end to end on this computer, in a temporary project that leaves nothing behind.

First act, examples/quickstart: plan, apply, a command over ssh, a file, stop, the receipt and the saved revision, start again, the file.
Second act, examples/studio: doctor, JupyterLab with and without its token, a secret file of mode 0400, an allowed and a denied host. Each
act removes everything and proves by the pids the machine recorded that nothing of it still runs.
"""

from __future__ import annotations

import argparse
import json
import os
import secrets
import shlex
import shutil
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from urllib.error import HTTPError
from urllib.parse import urlsplit
from urllib.request import urlopen

REPOSITORY = Path(__file__).parent.parent
NODUSCTL = REPOSITORY / ".venv" / "bin" / "nodusctl"


class Stage:
    """A temporary project with a user's folders of its own, so that nothing of yours is read or changed."""

    def __init__(self, folder: Path, example: str, programs: Path) -> None:
        self.folder, self.project = folder, folder / example
        shutil.copytree(REPOSITORY / "examples" / example, self.project, ignore=shutil.ignore_patterns(".nodus"))
        self.environment = {**os.environ, "PYTHONUNBUFFERED": "1"}
        for name in ("DATA", "STATE", "CACHE", "CONFIG"):
            self.environment[f"XDG_{name}_HOME"] = str(folder / name.lower())
        for name in ("NODUSCTL_NOW", "NODUSCTL_STATE_KEY"):
            self.environment.pop(name, None)
        data = folder / "data" / "nodusctl"
        data.mkdir(parents=True, exist_ok=True)
        if programs.is_dir() and not (data / "programs").exists():
            (data / "programs").symlink_to(programs)

    def run(self, *words: str, may_end_with: tuple[int, ...] = (0,)) -> str:
        """Run one nodusctl command, shown as a person would type it; what it prints. Ends the demo where the command fails."""
        print(f"\n$ nodusctl {shlex.join(words)}", flush=True)
        ended = subprocess.run(
            [str(NODUSCTL), *words],
            cwd=self.project,
            env=self.environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,  # in the order a terminal would show
            text=True,
            check=False,
        )
        print(ended.stdout, end="", flush=True)
        if ended.returncode not in may_end_with:
            sys.exit(f"\nthe demo failed: exit code {ended.returncode}")
        return ended.stdout


def recorded_processes(folder: Path) -> dict[int, int]:
    """Pid to start time (clock ticks) of every process a machine's folder names."""
    found: dict[int, int] = {}
    for path in folder.rglob("*"):
        if path.is_file() and path.stat().st_size < 65_536:
            try:
                written = json.loads(path.read_text(encoding="utf-8"))
            except (ValueError, OSError):
                continue
            if isinstance(written, dict) and isinstance(written.get("pid"), int):
                found[written["pid"]] = int(written.get("start") or 0)
    return found


def still_running(recorded: dict[int, int], folder: Path) -> list[str]:
    """Recorded processes that live, and any other process that was started for this folder."""
    left = [f"pid {pid}" for pid, start in recorded.items() if _start_of(pid) == start]
    for process in Path("/proc").glob("[0-9]*"):
        try:
            about = (process / "cmdline").read_bytes() + (process / "environ").read_bytes()
        except OSError:
            continue
        if str(folder).encode() in about and int(process.name) not in {os.getpid(), os.getppid()}:
            left.append(f"pid {process.name}")
    return left


def _start_of(pid: int) -> int | None:
    try:
        fields = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8").rpartition(")")[2].split()
    except OSError:
        return None
    return None if fields[0] in "ZX" else int(fields[19])


def first_act(stage: Stage) -> None:
    """One Workspace with a home that outlives its machine."""
    folder = stage.folder
    stage.run("plan", "-o", "first.nodusplan")
    stage.run("apply", "first.nodusplan")
    stage.run("get", "workspaces,volumes")
    stage.run("ssh", "lab", "--", "echo 'written in the first session' > note.txt; echo hello from $(hostname); pwd; ls")
    recorded = recorded_processes(folder)
    stage.run("stop", "lab")
    stage.run("receipts", "lab")
    stage.run("get", "workspace/lab", "-o", "jsonpath=home revision {.status.home.revision}, saved {.status.home.savedTime}")
    stage.run("start", "lab")
    note = stage.run("ssh", "lab", "--", "cat note.txt")
    if "written in the first session" not in note:
        sys.exit("\nthe demo failed: the file is not there again")
    recorded |= recorded_processes(folder)
    stage.run("destroy", "workspace/lab", "volume/lab-home", "--yes")
    stage.run("get", "workspaces,volumes")
    prove_ended(recorded, folder)


def prove_ended(recorded: dict[int, int], folder: Path) -> None:
    """Say that nothing of the machines runs, or fail."""
    left = still_running(recorded, folder)
    if not recorded or left:
        sys.exit(f"\nthe demo failed: still running: {', '.join(left) or 'no process was recorded'}")
    print(f"\nAll {len(recorded)} recorded processes have ended.")


def second_act(stage: Stage) -> None:
    """Tools, secrets and walls, as far as this computer has them."""
    if not (REPOSITORY / ".venv" / "bin" / "jupyter-lab").exists():
        print("\nJupyterLab isn't installed here (pip install '.[local]'); the second act is left out.")
        return
    stage.run("doctor", may_end_with=(0, 1))
    with _mirror() as port, _named(stage, "mirror.example"):
        if "blocked[" in stage.run("plan", may_end_with=(0, 10)):
            print("\nThis computer can't do all of examples/studio (see above); the second act ends here.")
            return
        stage.run("apply", "--yes")
        recorded = recorded_processes(stage.folder)
        _show_jupyter(stage)
        mode = stage.run("ssh", "studio", "--", "stat -c '%a %n' /run/secrets/wandb/WANDB_API_KEY")
        if not _last_line(mode).startswith("400 "):
            sys.exit("\nthe demo failed: the secret file has another mode")
        allowed = stage.run("ssh", "studio", "--", _status_of(f"http://mirror.example:{port}/"))
        denied = stage.run("ssh", "studio", "--", _status_of(f"http://elsewhere.example:{port}/"))
        if (_last_line(allowed), _last_line(denied)) != ("200", "403"):
            sys.exit("\nthe demo failed: the allow list let out something else than is listed")
        recorded |= recorded_processes(stage.folder)
    stage.run("destroy", "workspace/studio", "volume/studio-home", "secret/wandb", "--yes")
    prove_ended(recorded, stage.folder)


def _status_of(url: str) -> str:
    """A command that prints the HTTP status of ``url``, on a machine that may have no curl."""
    return f"""python3 -c '
import urllib.request
try: print(urllib.request.urlopen("{url}", timeout=10).status)
except urllib.request.HTTPError as refused: print(refused.code)'"""


def _last_line(printed: str) -> str:
    """What the machine said; remarks stand above it."""
    return (printed.strip().splitlines() or [""])[-1]


@contextmanager
def _mirror() -> Iterator[int]:
    """A web server on this computer that stands for a package mirror; its port."""

    class Answering(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.send_response(200)
            self.end_headers()

        def log_message(self, *words: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Answering)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield server.server_port
    finally:
        server.shutdown()


@contextmanager
def _named(stage: Stage, host: str) -> Iterator[None]:
    """Let ``host`` lead to this computer, and give the Secret its value."""
    settings = stage.project / "nodusctl.yaml"
    text = settings.read_text(encoding="utf-8")
    settings.write_text(text.replace('"0.12"', '"0.12", egressAddresses: {' + host + ": 127.0.0.1}"), encoding="utf-8")
    stage.environment["WANDB_API_KEY"] = secrets.token_hex(16)
    yield


def _show_jupyter(stage: Stage) -> None:
    words = ["port-forward", "studio", "jupyter"]
    print(f"\n$ nodusctl {shlex.join(words)} &", flush=True)
    forward = subprocess.Popen([str(NODUSCTL), *words], cwd=stage.project, env=stage.environment, stdout=subprocess.PIPE, text=True)
    try:
        assert forward.stdout is not None
        address = urlsplit(forward.stdout.readline().strip())
        base = f"{address.scheme}://{address.netloc}/api/status"
        with_token, without = _status(f"{base}?{address.query}"), _status(base)
    finally:
        forward.terminate()
        forward.wait()
    print(f"GET {base} with the token: {with_token}, without: {without}")
    if (with_token, without) != (200, 403):
        sys.exit("\nthe demo failed: JupyterLab answered something else")


def _status(address: str) -> int:
    for _ in range(50):
        try:
            with urlopen(address, timeout=10) as answer:
                return int(answer.status)
        except HTTPError as refusal:
            return refusal.code
        except OSError:
            time.sleep(0.2)
    return 0


def main() -> None:
    """Play in a temporary folder and remove it; kept only where the demo fails, for a look."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--programs", type=Path, default=Path("/nonexistent"), help="where scripts/programs.sh unpacked sshd")
    folder = Path(tempfile.mkdtemp(prefix="nodusctl-demo-"))
    programs = parser.parse_args().programs
    quickstart, studio = Stage(folder, "quickstart", programs), Stage(folder, "studio", programs)
    try:
        first_act(quickstart)
        second_act(studio)
    except SystemExit:
        _take_down(quickstart)
        _take_down(studio)
        print(f"Its folder is {folder}", file=sys.stderr)
        raise
    shutil.rmtree(folder)
    print("The demo is over; it has left nothing behind.")


def _take_down(stage: Stage) -> None:
    """End what a failed demo has started."""
    words = ["destroy", "--yes"]
    subprocess.run([str(NODUSCTL), *words], cwd=stage.project, env=stage.environment, check=False)


if __name__ == "__main__":
    main()
