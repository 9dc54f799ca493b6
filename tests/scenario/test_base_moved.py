"""Two branches from one base: what was merged meanwhile is base's work, not something missing (case 22)."""

from __future__ import annotations

import os
import subprocess
from dataclasses import dataclass, field, replace
from pathlib import Path

import pytest
from support.commands import NOW, SIMULATED, CommandLine, Ran

from nodusctl.base.exits import ExitCode

A = """apiVersion: nodus.dev/v1
kind: Workspace
metadata: {name: a}
spec:
  image: nodus/workspace-cpu
  resources: {cpu: 4, memory: 16Gi}
  ephemeral: true
  idleTimeout: 1h
"""
B = A.replace("name: a", "name: b")


@dataclass
class Clone:
    """Somebody's clone, whose remote is origin. Its state is shared between branches, as a team's is."""

    cli: CommandLine
    environment: dict[str, str] = field(default_factory=dict)

    @property
    def folder(self) -> Path:
        return self.cli.folder

    def git(self, *words: str) -> str:
        return _git(self.folder, *words)

    def commit(self, message: str, **files: str | None) -> str:
        """Write files (``a`` is a.yaml), None removes one; the commit's id."""
        for name, text in files.items():
            path = self.folder / f"{name}.yaml"
            if text is None:
                path.unlink()
            else:
                path.write_text(text)
        self.git("add", "--all")
        self.git("commit", "--message", message)
        return self.git("rev-parse", "HEAD")

    def merge_into_main(self, branch: str) -> None:
        self.git("switch", "main")
        self.git("merge", "--no-ff", "--message", f"Merge {branch}", branch)
        self.git("push", "origin", "main")

    def plan(self, *words: str) -> Ran:
        return self.cli("plan", *words)


def _git(folder: Path, *words: str) -> str:
    person = {
        "GIT_AUTHOR_NAME": "Ada",
        "GIT_AUTHOR_EMAIL": "ada@example",
        "GIT_COMMITTER_NAME": "Ada",
        "GIT_COMMITTER_EMAIL": "ada@example",
    }
    own = {"PATH": os.defpath, "HOME": str(folder), "GIT_CONFIG_NOSYSTEM": "1", **person}
    ran = subprocess.run(["git", *words], cwd=folder, env=own, capture_output=True, text=True, check=False)
    assert ran.returncode == 0, ran.stderr
    return ran.stdout.strip()


@pytest.fixture
def clone(tmp_path: Path) -> Clone:
    """main has a.yaml, applied; branch1 adds b.yaml and branch2 edits a.yaml, both from there."""
    origin, folder = tmp_path / "origin.git", tmp_path / "lab"
    folder.mkdir()
    origin.mkdir()
    _git(origin, "init", "--bare", "--initial-branch", "main")
    made = Clone(CommandLine(folder))
    made.git("init", "--initial-branch", "main")
    made.git("remote", "add", "origin", str(origin))
    (folder / ".gitignore").write_text(".nodus/\n*.nodusplan\n.*\n!.gitignore\n")
    made.cli.write("nodusctl.yaml", SIMULATED)
    assert made.cli("sim", "init", "--now", NOW).code is ExitCode.DONE
    made.commit("Begin", a=A)
    made.git("push", "origin", "main")
    assert made.cli("apply", "--yes").code is ExitCode.DONE
    made.git("switch", "--create", "branch1")
    made.commit("Add b", b=B)
    made.git("switch", "--create", "branch2", "main")
    made.commit("Let a idle longer", a=A.replace("1h", "2h"))
    return made


def apply_and_merge_branch1(clone: Clone) -> None:
    clone.git("switch", "branch1")
    assert clone.cli("apply", "--yes").code is ExitCode.DONE
    clone.merge_into_main("branch1")
    clone.git("switch", "branch2")


def test_case_22_what_was_merged_meanwhile_is_base_moved_and_no_removal(clone: Clone) -> None:
    apply_and_merge_branch1(clone)
    merge = clone.git("rev-parse", "--short=10", "origin/main")
    planned = clone.plan("--base", "origin/main")
    assert planned.code is ExitCode.BLOCKED
    assert "blocked[BaseMoved] workspace/b" in planned.out
    assert f"This branch would revert work merged in {merge} (Merge branch1): b.yaml has it there." in planned.out
    assert "1 to change" in planned.out and "remove" not in planned.out.replace("--prune", "").split("Blocked")[0]
    assert clone.cli("apply", "--base", "origin/main", "--yes").code is ExitCode.BLOCKED
    assert clone.cli("get", "ws", "-o", "name").out == "workspace/a\nworkspace/b\n"


def test_case_22_after_a_rebase_only_a_changes(clone: Clone) -> None:
    apply_and_merge_branch1(clone)
    clone.git("rebase", "origin/main")
    planned = clone.plan("--base", "origin/main", "-o", "p.nodusplan")
    assert planned.code is ExitCode.DONE
    assert "workspace/a" in planned.out and "workspace/b" not in planned.out
    assert clone.cli("apply", "p.nodusplan").code is ExitCode.DONE
    assert clone.cli("get", "ws", "-o", "name").out == "workspace/a\nworkspace/b\n"


def test_case_22_without_a_base_a_removal_needs_a_word_in_ci(clone: Clone) -> None:
    apply_and_merge_branch1(clone)
    planned = clone.plan("--ci")
    assert planned.code is ExitCode.BLOCKED
    assert "blocked[TooManyDeletes]" in planned.out and "workspace/b would be removed" in planned.out
    said = clone.plan("--ci", "--allow-deletes", "1")
    assert said.code is ExitCode.DONE
    assert "1 to remove" in said.out
    assert clone.plan().code is ExitCode.DONE, "a person at a terminal sees the removal and decides"


def test_a_removal_of_the_branch_itself_stays_one(clone: Clone) -> None:
    apply_and_merge_branch1(clone)
    clone.git("rebase", "origin/main")
    clone.commit("Remove b", b=None)
    planned = clone.plan("--base", "origin/main", "--ci")
    assert planned.code is ExitCode.DONE
    assert "1 to change, 1 to remove" in planned.out


def test_a_change_that_was_merged_and_applied_is_not_changed_back(clone: Clone) -> None:
    """branch3 touches only c; main has given a another image since."""
    clone.git("switch", "--create", "branch3", "main")
    clone.commit("Add c", c=A.replace("name: a", "name: c"))
    clone.git("switch", "main")
    clone.commit("Larger a", a=A.replace("cpu: 4, memory: 16Gi", "cpu: 8, memory: 32Gi"))
    clone.git("push", "origin", "main")
    assert clone.cli("apply", "--yes").code is ExitCode.DONE
    clone.git("switch", "branch3")
    planned = clone.plan("--base", "origin/main")
    assert planned.code is ExitCode.BLOCKED
    assert "blocked[BaseMoved] workspace/a" in planned.out and "(Larger a): a.yaml changed it there" in planned.out
    assert "Plan: 1 to create." in planned.out


def test_a_change_that_was_merged_and_not_applied_yet_is_nobodys_loss(clone: Clone) -> None:
    """The state is still what the branch began from, so nothing of base would be undone."""
    clone.git("switch", "main")
    clone.commit("Larger a", a=A.replace("cpu: 4, memory: 16Gi", "cpu: 8, memory: 32Gi"))
    clone.git("push", "origin", "main")
    clone.git("switch", "branch2")
    planned = clone.plan("--base", "origin/main")
    assert planned.code is ExitCode.DONE
    assert "1 to change" in planned.out


def test_what_base_removed_is_not_brought_back(clone: Clone) -> None:
    clone.git("switch", "main")
    clone.commit("Remove a", a=None, c=A.replace("name: a", "name: c"))
    clone.git("push", "origin", "main")
    assert clone.cli("apply", "--yes").code is ExitCode.DONE
    clone.git("switch", "--create", "branch3", "branch1")
    planned = clone.plan("--base", "origin/main")
    assert planned.code is ExitCode.BLOCKED
    assert "blocked[BaseMoved] workspace/a" in planned.out and "a.yaml lost it there" in planned.out
    assert "blocked[BaseMoved] workspace/c" in planned.out and "c.yaml has it there" in planned.out
    assert "Plan: 1 to create." in planned.out, "only b, which is the branch's own"


def test_an_object_both_changed_is_told_as_changed_on_both_sides(clone: Clone) -> None:
    clone.git("switch", "main")
    clone.commit("Let a idle shorter", a=A.replace("1h", "30m"))
    clone.git("push", "origin", "main")
    assert clone.cli("apply", "--yes").code is ExitCode.DONE
    clone.git("switch", "branch2")
    planned = clone.plan("--base", "origin/main")
    assert planned.code is ExitCode.BLOCKED
    assert "a.yaml was changed there and here" in planned.out


def test_the_commit_that_is_named_changed_the_object_and_not_only_its_file(clone: Clone) -> None:
    clone.git("switch", "main")
    named = clone.commit("Add b beside a", a=f"{A}---\n{B}")[:10]
    clone.commit("Explain a", a=f"# One for all of us.\n{A}---\n{B}")
    clone.git("push", "origin", "main")
    assert clone.cli("apply", "--yes").code is ExitCode.DONE
    clone.git("switch", "branch2")
    assert f"work merged in {named} (Add b beside a)" in clone.plan("--base", "origin/main").out


def test_what_is_meant_to_be_undone_can_be_and_is_part_of_the_hash(clone: Clone) -> None:
    apply_and_merge_branch1(clone)
    planned = clone.plan("--base", "origin/main", "--accept-base-moved", "-o", "p.nodusplan")
    assert planned.code is ExitCode.DONE
    assert "workspace/b: reverts work merged in" in planned.out and "1 to remove" in planned.out
    assert clone.plan("--base", "origin/main").out.splitlines()[-1] != planned.out.splitlines()[-3]
    assert clone.cli("apply", "p.nodusplan").code is ExitCode.DONE
    assert clone.cli("get", "ws", "-o", "name").out == "workspace/a\n"


class TestApply:
    """A reviewed plan, and what base did between review and apply."""

    def test_a_plan_whose_own_branch_was_merged_is_applied(self, clone: Clone) -> None:
        """The usual way: reviewed on the branch, merged, applied on main. Base has moved, to what the plan says."""
        assert clone.plan("--base", "origin/main", "-o", "p.nodusplan").code is ExitCode.DONE
        clone.merge_into_main("branch2")
        applied = clone.cli("apply", "p.nodusplan")
        assert applied.code is ExitCode.DONE
        assert "BaseMoved" not in applied.out + applied.err

    def test_a_plan_is_applied_when_base_moved_elsewhere(self, clone: Clone) -> None:
        assert clone.plan("--base", "origin/main", "-o", "p.nodusplan").code is ExitCode.DONE
        clone.git("switch", "main")
        clone.commit("Add b", b=B)
        clone.git("push", "origin", "main")
        assert clone.cli("apply", "p.nodusplan").code is ExitCode.DONE

    def test_a_plan_is_refused_once_base_changed_what_it_changes(self, clone: Clone) -> None:
        assert clone.plan("--base", "origin/main", "-o", "p.nodusplan").code is ExitCode.DONE
        clone.git("switch", "main")
        moved = clone.commit("Larger a", a=A.replace("cpu: 4, memory: 16Gi", "cpu: 8, memory: 32Gi"))[:10]
        clone.git("push", "origin", "main")
        refused = clone.cli("apply", "p.nodusplan")
        assert refused.code is ExitCode.REFUSED
        assert "error[BaseMoved]" in refused.err
        assert f"workspace/a in {moved} (Larger a)" in refused.err
        assert clone.cli("plan", "--detailed-exitcode").code is ExitCode.CHANGES, "nothing was applied"

    def test_a_removal_is_refused_once_base_changed_what_it_removes(self, clone: Clone) -> None:
        apply_and_merge_branch1(clone)
        clone.git("rebase", "origin/main")
        clone.commit("Remove b", b=None)
        assert clone.plan("--base", "origin/main", "-o", "p.nodusplan").code is ExitCode.DONE
        clone.git("switch", "main")
        clone.commit("Let b idle longer", b=B.replace("1h", "3h"))
        clone.git("push", "origin", "main")
        refused = clone.cli("apply", "p.nodusplan")
        assert refused.code is ExitCode.REFUSED
        assert "workspace/b in" in refused.err

    def test_where_no_git_is_it_is_said_and_applied(self, clone: Clone, tmp_path: Path) -> None:
        assert clone.plan("--base", "origin/main", "-o", "p.nodusplan").code is ExitCode.DONE
        (clone.folder / ".git").rename(tmp_path / "elsewhere")
        applied = clone.cli("apply", "p.nodusplan")
        assert applied.code is ExitCode.DONE
        assert "note[BaseUnknown]" in applied.err

    def test_the_base_is_recorded_and_shown(self, clone: Clone) -> None:
        clone.plan("--base", "origin/main", "-o", "p.nodusplan")
        assert f"against origin/main at {clone.git('rev-parse', 'origin/main')[:10]}" in clone.cli("show", "p.nodusplan").out


class TestWhatIsMissing:
    """Where nobody can say what base has, no plan is made; it would look safe and not be."""

    def test_an_unknown_branch(self, clone: Clone) -> None:
        refused = clone.plan("--base", "origin/develop")
        assert refused.code is ExitCode.ERROR
        assert "error[BaseUnknown]" in refused.err and "git fetch origin develop" in refused.err

    def test_a_name_that_looks_like_an_option(self, clone: Clone) -> None:
        assert "error[BaseUnknown]" in clone.plan("--base", "--all").err

    def test_no_repository(self, cli: CommandLine) -> None:
        refused = cli("plan", "--base", "origin/main")
        assert refused.code is ExitCode.ERROR
        assert "The project is in no git repository" in refused.err

    def test_no_git(self, clone: Clone) -> None:
        without = replace(clone.cli, environment={"PATH": str(clone.folder)})
        refused = without("plan", "--base", "origin/main")
        assert refused.code is ExitCode.ERROR
        assert "error[ProgramMissing]" in refused.err

    def test_a_shallow_clone(self, clone: Clone, tmp_path: Path) -> None:
        clone.merge_into_main("branch1")
        clone.git("push", "origin", "branch2")
        shallow = tmp_path / "shallow"
        shallow.mkdir()
        _git(shallow, "clone", "--depth", "1", "--no-single-branch", f"file://{tmp_path / 'origin.git'}", ".")
        _git(shallow, "switch", "branch2")
        refused = CommandLine(shallow)("plan", "--base", "origin/main")
        assert refused.code is ExitCode.ERROR
        assert "git fetch --unshallow" in refused.err

    def test_a_project_below_the_root_of_its_repository(self, clone: Clone) -> None:
        """File names are those of the project, wherever it lies."""
        clone.git("switch", "--create", "deep", "main")
        (clone.folder / "projects").mkdir()
        for name in ("nodusctl.yaml", "world.yaml", "a.yaml"):
            clone.git("mv", name, f"projects/{name}")
        (clone.folder / ".nodus").rename(clone.folder / "projects" / ".nodus")
        clone.commit("Move it down")
        clone.git("push", "origin", "deep")
        clone.git("switch", "--create", "later")
        clone.git("switch", "deep")
        deep = CommandLine(clone.folder / "projects")
        deep.write("b.yaml", B)
        clone.commit("Add b")
        clone.git("push", "origin", "deep")
        assert deep("apply", "--yes").code is ExitCode.DONE
        clone.git("switch", "later")
        planned = deep("plan", "--base", "origin/deep")
        assert "blocked[BaseMoved] workspace/b" in planned.out and "(Add b): b.yaml has it there" in planned.out
