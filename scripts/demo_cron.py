"""``make demo-cron``: a real cron daemon starts a Workspace on this computer and stops it again, with nobody at the keyboard.

A window of two minutes begins at the next minute or so; cron ticks once a minute. Everything lies in a temporary folder, cron's own spool
too (see real_cron.py), and nothing is left: the crontab's line is taken out, the daemon ended by its pid, the machine proved gone.
"""

from __future__ import annotations

import argparse
import shutil
import subprocess
import sys
import tempfile
import time
from datetime import UTC, datetime, timedelta
from pathlib import Path

from demo import NODUSCTL, Stage, prove_ended, recorded_processes
from real_cron import RealCron, obstacle

LIMIT_SECONDS = 330
_SET_UP = timedelta(seconds=30)


def next_window(now: datetime, length: timedelta = timedelta(minutes=2)) -> tuple[datetime, datetime]:
    """From the first full minute that leaves time to set everything up."""
    begin = (now + _SET_UP).replace(second=0, microsecond=0) + timedelta(minutes=1)
    return begin, begin + length


def window_text(begin: datetime, end: datetime) -> str:
    """As an annotation says it."""
    return f"{begin:%a %H:%M}-{end:%H:%M} UTC"


def write_window(project: Path, window: str) -> None:
    """Give the example's Workspace the window, and the project no lead."""
    settings, lab = project / "nodusctl.yaml", project / "lab.yaml"
    settings.write_text(settings.read_text(encoding="utf-8") + "windowLead: 0s\n", encoding="utf-8")
    text = lab.read_text(encoding="utf-8")
    lab.write_text(text.replace("  name: lab\n", f'  name: lab\n  annotations: {{nodus.dev/windows: "{window}"}}\n', 1), encoding="utf-8")


def phase_of(stage: Stage) -> str:
    """Where the Workspace stands, asked as a script would."""
    words = [str(NODUSCTL), "get", "workspace/lab", "-o", "jsonpath={.status.phase} {.status.stopReason}"]
    ended = subprocess.run(words, cwd=stage.project, env=stage.environment, capture_output=True, text=True, check=False)
    return ended.stdout.strip()


def watch(stage: Stage, deadline: float) -> dict[int, int]:
    """Print each change until it has run and stopped again; the processes that ran."""
    seen, recorded, has_run = "", dict[int, int](), False
    while time.monotonic() < deadline:
        now = phase_of(stage)
        if now != seen:
            print(f"{datetime.now(UTC):%H:%M:%S}  workspace/lab {now}", flush=True)
            seen = now
        if now.startswith("Running") and not has_run:
            has_run = True
            stage.run("ssh", "lab", "--", "echo started by cron at $(date -u +%T)")
            recorded = recorded_processes(stage.folder)
        if has_run and now.startswith("Stopped"):
            return recorded
        time.sleep(2)
    sys.exit(f"\nthe demo failed: after {LIMIT_SECONDS} s the Workspace is {seen}")


def play(stage: Stage, cron: RealCron) -> None:
    """Apply, install, watch, and show what cron has done."""
    begin, end = next_window(datetime.now(UTC))
    write_window(stage.project, window_text(begin, end))
    print(f"A cron daemon runs (pid {cron.pid}), {'with a spool of its own' if cron.is_apart else 'on the crontab of root'}.")
    print(f"The window is {begin:%H:%M} to {end:%H:%M} UTC; it is {datetime.now(UTC):%H:%M:%S}.")
    stage.run("apply", "--yes")
    beside(stage, cron, "cron", "install", "--every", "1m")
    recorded = watch(stage, time.monotonic() + LIMIT_SECONDS)
    stage.run("receipts", "lab")
    beside(stage, cron, "cron", "show")
    beside(stage, cron, "cron", "remove")
    stage.run("destroy", "workspace/lab", "volume/lab-home", "--yes")
    prove_ended(recorded, stage.folder)


def beside(stage: Stage, cron: RealCron, *words: str) -> None:
    """A command that must see the daemon's spool."""
    print(f"\n$ nodusctl {' '.join(words)}", flush=True)
    command = cron.words(str(NODUSCTL), "--chdir", str(stage.project), *words)
    if subprocess.run(command, env=stage.environment, check=False).returncode:
        sys.exit("\nthe demo failed: the command above did")


def main() -> None:
    """Play in a temporary folder and remove it; kept only where the demo fails, for a look."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--programs", type=Path, default=Path("/nonexistent"), help="where scripts/programs.sh unpacked sshd")
    programs = parser.parse_args().programs
    why_not = obstacle()
    if why_not:
        print(f"This demo starts a cron daemon, and {why_not}.", file=sys.stderr)
        sys.exit(1)
    folder = Path(tempfile.mkdtemp(prefix="nodusctl-demo-cron-"))
    stage = Stage(folder, "quickstart", programs)
    try:
        with RealCron(folder) as cron:
            play(stage, cron)
    except BaseException:
        subprocess.run([str(NODUSCTL), "destroy", "--yes"], cwd=stage.project, env=stage.environment, check=False)
        print(f"Its folder is {folder}", file=sys.stderr)
        raise
    shutil.rmtree(folder)
    print("The demo is over; the daemon has ended, and nothing was left behind.")


if __name__ == "__main__":
    main()
