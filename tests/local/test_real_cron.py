"""A real cron daemon, started here, and a real machine: a window opens and closes with nobody at the keyboard."""

from __future__ import annotations

import json
import subprocess
import sys
import time
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from support.local_project import SSHD_IS_HERE, LocalProject

sys.path.insert(0, str(Path(__file__).parents[2] / "scripts"))

from real_cron import RealCron, obstacle

WHY_NOT = obstacle() or ("" if SSHD_IS_HERE else "no sshd on this computer")
pytestmark = [pytest.mark.local, pytest.mark.slow, pytest.mark.skipif(bool(WHY_NOT), reason=WHY_NOT or "it can")]
LIMIT_SECONDS = 600
SET_UP = timedelta(seconds=60)


@pytest.fixture
def project(tmp_path: Path) -> Iterator[LocalProject]:
    made = LocalProject(tmp_path).write()
    yield made
    made.clear()


def with_window(project: LocalProject, begin: datetime) -> None:
    """A window of two minutes, and no lead."""
    settings, lab = project.project / "nodusctl.yaml", project.project / "lab.yaml"
    settings.write_text(settings.read_text() + "windowLead: 0s\n")
    window = f"{begin:%a %H:%M}-{begin + timedelta(minutes=2):%H:%M} UTC"
    lab.write_text(lab.read_text().replace("{name: lab}", f'{{name: lab, annotations: {{nodus.dev/windows: "{window}"}}}}', 1))


def seen_phases(project: LocalProject) -> list[str]:
    """Phases in order, watched from outside until it has run and stopped again."""
    seen: list[str] = []
    deadline = time.monotonic() + LIMIT_SECONDS
    while time.monotonic() < deadline:
        now = str(project.status().get("phase"))
        if not seen or seen[-1] != now:
            seen.append(now)
        if "Running" in seen and now == "Stopped":
            break
        time.sleep(2)
    return seen


def beside(project: LocalProject, cron: RealCron, *words: str) -> dict[str, object]:
    """The result of a ``nodusctl cron`` command that sees the daemon's spool."""
    ended = project.shell(cron.words(*project.words("--chdir", str(project.project), "cron", *words, "--json")), limit_seconds=300)
    assert ended.returncode == 0, ended.stdout + ended.stderr
    return next(one for one in map(json.loads, ended.stdout.splitlines()) if one["type"] == "result")


def crontab_of_root() -> bytes:
    return subprocess.run(["crontab", "-l"], check=False, capture_output=True).stdout


def test_a_window_opens_and_closes_by_itself(project: LocalProject) -> None:
    before = crontab_of_root()
    with RealCron(project.folder) as cron:
        begin = (datetime.now(UTC) + SET_UP).replace(second=0, microsecond=0) + timedelta(minutes=1)
        with_window(project, begin)
        project.done("apply", "--yes")
        assert project.status()["phase"] == "Stopped"
        beside(project, cron, "install", "--every", "1m")
        phases = seen_phases(project)
        shown = beside(project, cron, "show")
        assert [one["kind"] for one in beside(project, cron, "remove")["removed"]] == ["crontab"]  # type: ignore[attr-defined]
    assert (phases[0], phases[-1], "Running" in phases) == ("Stopped", "Stopped", True), phases
    status = project.status()
    assert status["stopReason"] == "Schedule"
    lines = map(json.loads, project.done("receipts", "lab", "--json").splitlines())
    assert len(next(line["receipts"] for line in lines if line["type"] == "result")) == 1
    ticks = shown["ticks"]
    assert len(ticks) >= 3, ticks  # type: ignore[arg-type]
    assert all(one["isGood"] for one in ticks), ticks  # type: ignore[attr-defined]
    assert crontab_of_root() == before
