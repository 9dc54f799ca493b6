"""``make demo``: the main job end to end on this computer, in a temporary project that leaves nothing behind.

Plans and applies examples/quickstart, runs a command over ssh, writes a file, stops, shows the receipt and the saved revision, starts
again, shows the file, removes everything, and proves by the pids the machine recorded that nothing of it still runs.
"""

from __future__ import annotations

import argparse
import json
import os
import shlex
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

REPOSITORY = Path(__file__).parent.parent
NODUSCTL = REPOSITORY / ".venv" / "bin" / "nodusctl"


class Stage:
    """A temporary project with a user's folders of its own, so that nothing of yours is read or changed."""

    def __init__(self, folder: Path, programs: Path) -> None:
        self.project = folder / "quickstart"
        shutil.copytree(REPOSITORY / "examples" / "quickstart", self.project, ignore=shutil.ignore_patterns(".nodus"))
        self.environment = {**os.environ}
        for name in ("DATA", "STATE", "CACHE", "CONFIG"):
            self.environment[f"XDG_{name}_HOME"] = str(folder / name.lower())
        for name in ("NODUSCTL_NOW", "NODUSCTL_STATE_KEY"):
            self.environment.pop(name, None)
        data = folder / "data" / "nodusctl"
        data.mkdir(parents=True)
        if programs.is_dir():
            (data / "programs").symlink_to(programs)

    def run(self, *words: str) -> str:
        """Run one nodusctl command, shown as a person would type it; its stdout. Ends the demo where the command fails."""
        print(f"\n$ nodusctl {shlex.join(words)}", flush=True)
        ended = subprocess.run(
            [str(NODUSCTL), *words], cwd=self.project, env=self.environment, stdout=subprocess.PIPE, text=True, check=False
        )
        print(ended.stdout, end="", flush=True)
        if ended.returncode != 0:
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


def play(stage: Stage, folder: Path) -> None:
    """The whole story."""
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
    left = still_running(recorded, folder)
    if not recorded or left:
        sys.exit(f"\nthe demo failed: still running: {', '.join(left) or 'no process was recorded'}")
    print(f"\nAll {len(recorded)} recorded processes have ended. The demo is over; it has left nothing behind.")


def main() -> None:
    """Play in a temporary folder and remove it; kept only where the demo fails, for a look."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--programs", type=Path, default=Path("/nonexistent"), help="where scripts/programs.sh unpacked sshd")
    folder = Path(tempfile.mkdtemp(prefix="nodusctl-demo-"))
    stage = Stage(folder, parser.parse_args().programs)
    try:
        play(stage, folder)
    except SystemExit:
        _take_down(stage)
        print(f"Its folder is {folder}", file=sys.stderr)
        raise
    shutil.rmtree(folder)


def _take_down(stage: Stage) -> None:
    """End what a failed demo has started."""
    words = ["destroy", "workspace/lab", "--yes"]
    subprocess.run([str(NODUSCTL), *words], cwd=stage.project, env=stage.environment, check=False)


if __name__ == "__main__":
    main()
