"""A person's days with one real Workspace: files of an earlier revision come back, and a secret changes under a running session."""

from __future__ import annotations

import json
import shlex
from collections.abc import Iterator
from pathlib import Path

import pytest
from support.local_project import SSHD_IS_HERE, LocalProject

pytestmark = [pytest.mark.local, pytest.mark.slow, pytest.mark.skipif(not SSHD_IS_HERE, reason="no sshd on this computer")]

SECRET = "apiVersion: nodus.dev/v1\nkind: Secret\nmetadata: {name: wandb}\nspec: {valueFrom: {API_KEY: {file: ../key}}}\n"


@pytest.fixture
def project(tmp_path: Path) -> Iterator[LocalProject]:
    made = LocalProject(tmp_path).write()
    yield made
    made.clear()


def inside(project: LocalProject, script: str) -> str:
    """What a shell command in the Workspace prints."""
    return project.done("ssh", "lab", "--", script)


def revisions(project: LocalProject) -> dict[str, object]:
    lines = [json.loads(line) for line in project.done("home", "list", "lab", "--json").splitlines()]
    return next(line for line in lines if line["type"] == "result")


def set_secret(project: LocalProject, value: str) -> None:
    words = " ".join(shlex.quote(word) for word in project.words("secret", "set", "wandb", "API_KEY"))
    ended = project.shell(["sh", "-c", f"printf %s {shlex.quote(value)} | {words}"])
    assert ended.returncode == 0, ended.stderr


def test_the_file_of_revision_1_comes_back_and_revision_3_still_exists(project: LocalProject) -> None:
    project.done("apply", "--yes")
    inside(project, "echo first > work.txt; head -c 300000 /dev/zero > big; sync")
    project.done("stop", "lab")
    for text in ("second", "third"):
        project.done("start", "lab")
        inside(project, f"echo {text} > work.txt")
        project.done("stop", "lab")
    project.done("home", "restore", "lab", "--revision", "1", "--yes")
    seen = revisions(project)
    assert ([one["number"] for one in seen["revisions"]], seen["diskRevision"]) == ([1, 2, 3], 1)  # type: ignore[attr-defined]
    shelves = list((project.folder / "data").glob("nodusctl/local/here/disks/*/revisions"))
    assert len({(shelves[0] / str(number) / "tree" / "big").stat().st_ino for number in (1, 2, 3)}) == 1
    project.done("start", "lab")
    assert inside(project, "cat work.txt").strip() == "first"
    blocked = project.run("home", "restore", "lab", "--revision", "3", "--yes")
    assert (blocked.returncode, "nodusctl stop lab" in blocked.stdout) == (10, True)
    project.done("stop", "lab")
    assert revisions(project)["latest"] == 4
    assert "damaged" not in project.done("home", "verify", "lab")
    project.done("home", "restore", "lab", "--revision", "3", "--yes")
    project.done("start", "lab")
    assert inside(project, "cat work.txt").strip() == "third"


def test_a_secret_is_a_file_of_mode_0400_inside_and_a_refresh_changes_it_in_the_running_session(project: LocalProject) -> None:
    (project.folder / "key").write_text("one")
    (project.project / "secret.yaml").write_text(SECRET)
    lab = project.project / "lab.yaml"
    lab.write_text(lab.read_text().replace("  volume: lab-home\n", "  volume: lab-home\n  secrets: [wandb]\n"))
    project.done("apply", "--yes")
    look = 'stat -c %a "$NODUS_SECRETS/wandb/API_KEY"; cat "$NODUS_SECRETS/wandb/API_KEY"; echo; echo "$API_KEY"'
    assert inside(project, look).split() == ["400", "one", "one"]
    set_secret(project, "two")
    assert inside(project, look).split() == ["400", "one", "one"], "a version is pinned for the Attempt"
    project.done("refresh-secrets", "lab")
    assert inside(project, look).split() == ["400", "two", "two"]
    assert project.status()["phase"] == "Running"
    project.done("stop", "lab")
    kept = [path for path in (project.folder / "data").rglob("*") if path.is_file() and path.read_bytes() == b"two"]
    assert kept == []
