"""The workflows for CI: they keep the published schemas of their forges, take no more than they need, and do what they say.

The scripts are run as a runner runs them, by bash in a clone, with the environment that a job of that kind has and nothing else.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from ruamel.yaml import YAML
from support.commands import LAB, SIMULATED, STATE_KEY, CommandLine

from nodusctl.base.exits import ExitCode
from nodusctl.engine.ci_workflow import WorkflowForge, workflow_for, workflow_text

ROOT = Path(__file__).parents[2]
GITHUB, GITLAB = workflow_text(WorkflowForge.GITHUB), workflow_text(WorkflowForge.GITLAB)
SCHEMAS = {WorkflowForge.GITHUB: "vendor.github-workflows", WorkflowForge.GITLAB: "vendor.gitlab-ci"}
BIN = Path(sys.executable).parent
SECRETS = {"NODUSCTL_STATE_KEY": STATE_KEY}


def parsed(text: str) -> Any:
    return YAML(typ="safe").load(text)


JOBS: Mapping[str, Any] = parsed(GITHUB)["jobs"]


# What they are


@pytest.mark.parametrize("place", [".", "envs/prod"])
@pytest.mark.parametrize("forge", list(WorkflowForge))
def test_they_keep_the_published_schema_of_their_forge(forge: WorkflowForge, place: str, tmp_path: Path) -> None:
    path = tmp_path / "workflow.yml"
    path.write_text(workflow_text(forge, place=place, branch="trunk"), encoding="utf-8")
    words = [sys.executable, "-m", "check_jsonschema", "--builtin-schema", SCHEMAS[forge], str(path)]
    ran = subprocess.run(words, capture_output=True, text=True, check=False)
    assert ran.returncode == 0, ran.stdout
    path.write_text(path.read_text().replace("timeout", "timeuot"), encoding="utf-8")
    assert subprocess.run(words, capture_output=True, check=False).returncode == 1, "the schema would tell a mistake"


@pytest.mark.parametrize("forge", list(WorkflowForge))
@pytest.mark.parametrize("place", [".", "envs/prod"])
def test_nothing_is_left_to_be_filled_in(forge: WorkflowForge, place: str) -> None:
    text = workflow_text(forge, place=place, branch="trunk")
    assert re.search(r"(?<![A-Z_])(PROJECT_FOLDER|DEFAULT_BRANCH|NODUSCTL_VERSION)(?![A-Z_])", text) is None


def test_a_fork_s_text_reaches_no_script() -> None:
    """An expression inside a script is pasted into it before bash reads it; a branch may be called ``$(anything)``."""
    for job in JOBS.values():
        for step in job["steps"]:
            assert "${{" not in step.get("run", "")


def test_a_pull_request_runs_with_the_least() -> None:
    document = parsed(GITHUB)
    assert document["permissions"] == {}
    assert "pull_request_target" not in GITHUB and "workflow_run" not in GITHUB
    assert {name: job["permissions"] for name, job in JOBS.items()} == {
        "plan": {"contents": "read"},
        "comment": {"contents": "read", "pull-requests": "write"},
        "plan-merged": {"contents": "read"},
        "apply": {"contents": "read"},
        "snapshot": {"contents": "read"},
    }
    assert "secrets." not in json.dumps([JOBS["plan"], JOBS["comment"]])
    assert "github.event.pull_request.head.repo.full_name == github.repository" in JOBS["comment"]["if"]
    for job in JOBS.values():
        (checkout,) = [step for step in job["steps"] if step.get("uses", "").startswith("actions/checkout@")]
        assert checkout["with"]["persist-credentials"] is False


def test_only_jobs_behind_an_environment_have_secrets_and_only_approval_applies() -> None:
    has_secrets = {name for name, job in JOBS.items() if "secrets." in json.dumps(job)}
    assert has_secrets == {name for name, job in JOBS.items() if "environment" in job} == {"plan-merged", "apply", "snapshot"}
    assert JOBS["apply"]["environment"] == "nodusctl-apply"
    assert JOBS["apply"]["concurrency"] == {"group": "nodusctl-apply", "cancel-in-progress": False}
    assert JOBS["apply"]["needs"] == "plan-merged"
    gitlab = parsed(GITLAB)
    (manual,) = [rule for rule in gitlab["apply"]["rules"] if rule["when"] == "manual"]
    assert manual == {"if": "$CI_COMMIT_BRANCH == $CI_DEFAULT_BRANCH", "when": "manual", "allow_failure": False}
    assert gitlab["apply"]["resource_group"] and gitlab["plan"]["interruptible"] is True


# What their scripts do


@dataclass
class Runner:
    """A clone on a runner: ``steps`` of a job with the environment it has, as a runner starts them."""

    folder: Path
    environment: Mapping[str, str] = field(default_factory=dict)

    def bash(self, script: str, **more: str) -> subprocess.CompletedProcess[str]:
        around = {"PATH": f"{BIN}:{os.environ['PATH']}", "HOME": str(self.folder.parent / "home"), **self.environment, **more}
        words = ["bash", "--noprofile", "--norc", "-eo", "pipefail", "-c", script]
        return subprocess.run(words, cwd=self.folder, env=around, capture_output=True, text=True, check=False, timeout=120)


def git(folder: Path, *words: str) -> str:
    identity = ["-c", "user.name=n", "-c", "user.email=n@example.com", "-c", "init.defaultBranch=main"]
    return subprocess.run(["git", *identity, *words], cwd=folder, check=True, capture_output=True, text=True).stdout.strip()


@dataclass(frozen=True)
class Team:
    """A repository with one applied project, and where its clones are made."""

    origin: Path
    work: Path
    folder: Path

    def clone(self, name: str, branch: str = "main") -> Path:
        path = self.folder / name
        git(self.folder, "clone", "-q", "--branch", branch, str(self.origin), name)
        return path

    def branch(self, name: str, text: str) -> None:
        """Push a branch whose spec reads ``text``."""
        git(self.work, "checkout", "-q", "-b", name, "main")
        (self.work / "ws.yaml").write_text(text, encoding="utf-8")
        git(self.work, "commit", "-qam", name)
        git(self.work, "push", "-q", "origin", name)

    def merge(self, name: str) -> None:
        git(self.work, "checkout", "-q", "main")
        git(self.work, "merge", "-q", "--no-ff", "-m", f"merge {name}", name)
        git(self.work, "push", "-q", "origin", "main")


@pytest.fixture
def team(tmp_path: Path) -> Iterator[Team]:
    """State and simulated cloud lie beside the clones, where every job that has the key reaches them."""
    shared = tmp_path / "shared"
    shared.mkdir()
    origin, work = tmp_path / "origin.git", tmp_path / "work"
    git(tmp_path, "init", "-q", "--bare", str(origin))
    git(tmp_path, "clone", "-q", str(origin), "work")
    state = f"state: sqlite:///{shared}/state.db\n"
    (work / "nodusctl.yaml").write_text(SIMULATED.replace("providers:", f"{state}providers:"), encoding="utf-8")
    (work / "ws.yaml").write_text(LAB, encoding="utf-8")
    (work / ".gitignore").write_text(".nodus/\n*.nodusplan\n.nodus.snapshot.json\n", encoding="utf-8")
    git(work, "checkout", "-q", "-b", "main")
    git(work, "add", ".")
    git(work, "commit", "-qm", "first")
    git(work, "push", "-q", "origin", "main")
    cli = CommandLine(work)
    assert cli("sim", "init", "--now", "2026-10-26T07:00:00Z").code is ExitCode.DONE
    assert cli("apply", "--yes").code is ExitCode.DONE
    yield Team(origin, work, tmp_path)


def script_of(job: str) -> str:
    """The script of the job's own step: the last that runs something."""
    return str([step["run"] for step in JOBS[job]["steps"] if "run" in step][-1])


def outputs_of(path: Path) -> dict[str, str]:
    return dict(line.split("=", 1) for line in path.read_text(encoding="utf-8").splitlines()) if path.exists() else {}


CHANGED = LAB.replace("idleTimeout: 1h", "idleTimeout: 2h")


def simulated_cloud_of(team: Team, clone: Path) -> None:
    """The simulated cloud lives in .nodus of a checkout; a real one is where everybody reaches it."""
    shutil.copytree(team.work / ".nodus", clone / ".nodus", dirs_exist_ok=True)


@pytest.mark.skipif(shutil.which("jq") is None, reason="jq, which GitHub's machines have, is not installed")
def test_github_from_a_fork_s_pull_request_to_what_was_approved(team: Team) -> None:
    # On main a snapshot is taken, with what can read.
    main = team.clone("snapshot")
    simulated_cloud_of(team, main)
    assert Runner(main, SECRETS).bash(script_of("snapshot")).returncode == 0
    # The pull request: neither state, key nor cloud is there.
    team.branch("longer", CHANGED)
    pull = team.clone("pull", "longer")
    shutil.copy(main / ".nodus.snapshot.json", pull)
    (pull / "plan.nodusplan").write_text("a plan that came with the branch")
    output, summary = team.folder / "output-pull", team.folder / "summary-pull"
    github = {"GITHUB_ACTIONS": "true", "GITHUB_STEP_SUMMARY": str(summary), "GITHUB_OUTPUT": str(output)}
    state_before = (team.folder / "shared" / "state.db").read_bytes()
    ran = Runner(pull, {**github, "BASE": "origin/main"}).bash(script_of("plan"))
    assert ran.returncode == 0, ran.stdout + ran.stderr
    assert outputs_of(output) == {"saved": "true"}
    assert "1 to change" in summary.read_text(encoding="utf-8")
    assert {"junit.xml", "nodusctl.sarif", "plan.nodusplan"} <= {path.name for path in pull.iterdir()}
    assert not (pull / ".nodus" / "sim").exists() and (team.folder / "shared" / "state.db").read_bytes() == state_before
    # The merge: planned where the state is.
    team.merge("longer")
    merged = team.clone("merged")
    simulated_cloud_of(team, merged)
    output = team.folder / "output-merged"
    github = {"GITHUB_ACTIONS": "true", "GITHUB_OUTPUT": str(output), "GITHUB_REF_NAME": "main"}
    ran = Runner(merged, {**SECRETS, **github}).bash(script_of("plan-merged"))
    assert ran.returncode == 0, ran.stdout + ran.stderr
    hash_ = outputs_of(output)["hash"]
    assert hash_ == CommandLine(pull)("show", "plan.nodusplan", "--json").out.split('"planHash": "')[1][:64], "the hash that was reviewed"
    # The approval: exactly this, or nothing.
    ran = Runner(merged, {**SECRETS, "GITHUB_REF_NAME": "main", "HASH": "0" * 64}).bash(script_of("apply"))
    assert ran.returncode == ExitCode.REFUSED
    ran = Runner(merged, {**SECRETS, "GITHUB_REF_NAME": "main", "HASH": hash_}).bash(script_of("apply"))
    assert ran.returncode == 0, ran.stdout + ran.stderr
    ran = Runner(merged, {**SECRETS, **github}).bash(script_of("plan-merged").replace("hash=", "again="))
    assert ran.returncode == 0 and "again" not in outputs_of(output), "what is applied leaves nothing to approve"


def test_github_without_a_snapshot_only_checks_the_files(team: Team) -> None:
    team.branch("broken", CHANGED.replace("idleTimeout", "idleTimout"))
    pull = team.clone("pull", "broken")
    output = team.folder / "output"
    ran = Runner(pull, {"GITHUB_ACTIONS": "true", "GITHUB_OUTPUT": str(output), "BASE": "origin/main"}).bash(script_of("plan"))
    assert ran.returncode == 1
    assert "::notice title=nodusctl::There is no snapshot" in ran.stdout
    assert "::error file=ws.yaml,line=9," in ran.stderr
    assert outputs_of(output) == {}, "there is no plan to comment on"


def test_github_a_blocked_plan_is_saved_for_the_comment_and_fails_the_job(team: Team) -> None:
    main = team.clone("snapshot")
    simulated_cloud_of(team, main)
    assert Runner(main, SECRETS).bash(script_of("snapshot")).returncode == 0
    team.branch("huge", LAB.replace("cpu: 4, memory: 16Gi", "cpu: 400"))
    pull = team.clone("pull", "huge")
    shutil.copy(main / ".nodus.snapshot.json", pull)
    output = team.folder / "output"
    ran = Runner(pull, {"GITHUB_ACTIONS": "true", "GITHUB_OUTPUT": str(output), "BASE": "origin/main"}).bash(script_of("plan"))
    assert ran.returncode == ExitCode.BLOCKED
    assert outputs_of(output) == {"saved": "true"}


CURL = """#!/bin/sh
# Stands in for the forge: the newest snapshot is a file, and there is none where SNAPSHOT is empty.
echo "$*" >> "$CURL_LOG"
while [ "$1" != --output ]; do shift; done
[ -n "$SNAPSHOT" ] && cp "$SNAPSHOT" "$2"
"""


def gitlab_script(job: str) -> str:
    return "\n".join(parsed(GITLAB)[job]["script"])


def test_gitlab_from_a_merge_request_to_what_was_approved(team: Team) -> None:
    tools = team.folder / "tools"
    tools.mkdir()
    (tools / "curl").write_text(CURL)
    (tools / "curl").chmod(0o755)
    path = {"PATH": f"{tools}:{BIN}:{os.environ['PATH']}"}
    main = team.clone("snapshot")
    simulated_cloud_of(team, main)
    assert Runner(main, {**SECRETS, "CI_PROJECT_DIR": str(main)}).bash(gitlab_script("snapshot")).returncode == 0
    team.branch("longer", CHANGED)
    request = {
        **path,
        "CURL_LOG": str(team.folder / "curl.log"),
        "SNAPSHOT": str(main / "nodus.snapshot.json"),
        "CI_API_V4_URL": "https://gitlab.example.com/api/v4",
        "CI_JOB_TOKEN": "job-token-of-this-job",
        "CI_MERGE_REQUEST_PROJECT_ID": "7",
        "CI_MERGE_REQUEST_TARGET_BRANCH_NAME": "main",
    }
    pull = team.clone("pull", "longer")
    ran = Runner(pull, request).bash(gitlab_script("plan"))
    assert ran.returncode == 0, ran.stdout + ran.stderr
    assert (pull / "plan.nodusplan").exists() and (pull / "junit.xml").exists()
    assert "projects/7/jobs/artifacts/main/raw/nodus.snapshot.json?job=snapshot" in (team.folder / "curl.log").read_text()
    bare = team.clone("bare", "longer")
    ran = Runner(bare, {**request, "SNAPSHOT": ""}).bash(gitlab_script("plan"))
    assert ran.returncode == 0 and "only checked" in ran.stdout and not (bare / "plan.nodusplan").exists()
    team.merge("longer")
    merged = team.clone("merged")
    simulated_cloud_of(team, merged)
    job = {**SECRETS, **path, "CI_COMMIT_BRANCH": "main"}
    ran = Runner(merged, job).bash(gitlab_script("plan-merged"))
    assert ran.returncode == 0, ran.stdout + ran.stderr
    made = outputs_of(merged / "plan.env")
    assert re.fullmatch("[0-9a-f]{64}", made["NODUSCTL_PLAN_HASH"])
    ran = Runner(merged, {**job, **made}).bash(gitlab_script("apply"))
    assert ran.returncode == 0, ran.stdout + ran.stderr
    assert Runner(merged, job).bash(gitlab_script("plan-merged")).returncode == 0
    assert outputs_of(merged / "plan.env") == {"NODUSCTL_PLAN_HASH": "none"}
    ran = Runner(merged, {**job, "NODUSCTL_PLAN_HASH": "none"}).bash(gitlab_script("apply"))
    assert (ran.returncode, ran.stdout) == (0, "There is nothing to apply.\n")


# What init makes of them


GITHUB_URL, GITLAB_URL = "url = git@github.com:a/b.git", "url = https://gitlab.com/a/b.git"


@dataclass(frozen=True, kw_only=True)
class Placed:
    """A repository and a folder in it; the file init writes, and a line of it."""

    url: str = GITHUB_URL
    head: str = "main"
    place: str = "."
    path: str = ".github/workflows/nodusctl.yml"
    said: str


@pytest.mark.parametrize(
    "one",
    [
        Placed(url="", said="branches: [main]"),
        Placed(head="master", said="branches: [master]"),
        Placed(head="a-feature", said="branches: [main]"),
        Placed(place="envs/prod", path=".github/workflows/nodusctl-envs-prod.yml", said="working-directory: envs/prod"),
        Placed(url=GITLAB_URL, place="envs/prod", path=".gitlab-ci.yml", said="    - cd envs/prod"),
    ],
    ids=str,
)
def test_init_writes_the_workflow_where_its_forge_looks(tmp_path: Path, one: Placed) -> None:
    (tmp_path / ".git").mkdir()
    (tmp_path / ".git" / "config").write_text(f'[remote "origin"]\n\t{one.url}\n')
    (tmp_path / ".git" / "HEAD").write_text(f"ref: refs/heads/{one.head}\n")
    folder = tmp_path / one.place
    folder.mkdir(parents=True, exist_ok=True)
    assert CommandLine(folder)("init").code is ExitCode.DONE
    assert one.said in (tmp_path / one.path).read_text(encoding="utf-8")
    ran = CommandLine(folder)("validate")
    assert ran.code is ExitCode.DONE and "Skipped" not in ran.err, "a workflow is no spec"


def test_a_forge_can_be_named_and_what_is_there_stays(tmp_path: Path) -> None:
    (tmp_path / ".gitlab-ci.yml").write_text("mine: {script: [true]}\n")
    ran = CommandLine(tmp_path)("init", "--forge", "gitlab")
    assert re.search(r"\.gitlab-ci\.yml: +already there", ran.out)
    assert (tmp_path / ".gitlab-ci.yml").read_text() == "mine: {script: [true]}\n"


def test_a_folder_no_workflow_can_hold_is_left_out_and_said(tmp_path: Path) -> None:
    (tmp_path / ".git").mkdir()
    folder = tmp_path / "my lab; rm -rf $HOME"
    folder.mkdir()
    assert workflow_for(folder) is None
    ran = CommandLine(folder)("init")
    assert ran.code is ExitCode.DONE and "left out" in ran.out
    assert not (tmp_path / ".github").exists()


def test_the_examples_are_what_init_writes() -> None:
    made = {"github-actions.yml": GITHUB, "gitlab-ci.yml": GITLAB}
    assert {name: (ROOT / "examples" / "ci" / name).read_text(encoding="utf-8") for name in made} == made


# Before a commit


def test_the_hooks_for_pre_commit_are_a_manifest_and_do_their_work(cli: CommandLine) -> None:
    path = ROOT / ".pre-commit-hooks.yaml"
    words = [sys.executable, "-m", "pre_commit", "validate-manifest", str(path)]
    assert subprocess.run(words, capture_output=True, check=False).returncode == 0
    hooks = {hook["id"]: hook for hook in parsed(path.read_text(encoding="utf-8"))}
    assert set(hooks) == {"nodusctl-validate", "nodusctl-fmt"}
    cli.write("ws.yaml", LAB.replace("idleTimeout", "idleTimout"))
    for hook in hooks.values():
        name = hook["entry"].split()[0]
        assert name == "nodusctl" and not hook["pass_filenames"]
        assert re.search(hook["files"], "dir/a.yaml") and not re.search(hook["files"], "a.md")
    assert cli(*hooks["nodusctl-validate"]["entry"].split()[1:]).code is ExitCode.ERROR
