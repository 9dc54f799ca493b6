"""``apply --plan-hash``: what the files, the state or base changed since the review is refused before any provider is asked."""

from __future__ import annotations

import json
import os
import subprocess
from dataclasses import dataclass
from pathlib import Path

import pytest
from support.checkouts import Checkout, checkouts, workspace
from support.commands import LAB as LAB_YAML
from support.commands import CommandLine

from nodusctl.base.exits import ExitCode

UNASKED = "No provider was asked"
LONGER = LAB_YAML.replace("idleTimeout: 1h", "idleTimeout: 2h")
PRICE = "workspace/lab price of sim/us-1a/cpu-4c-16g-us: $0.20/h (at most $0.22/h) -> $0.90/h (at most $0.99/h), +350.0 %"


@dataclass(frozen=True)
class Branch:
    """A checkout in a git repository, and commands in it as processes of their own."""

    here: Checkout

    def git(self, *words: str) -> None:
        who = {f"GIT_{role}_{what}": text for role in ("AUTHOR", "COMMITTER") for what, text in (("NAME", "Ada"), ("EMAIL", "ada@example"))}
        own = {"PATH": os.defpath, "HOME": str(self.here.folder), "GIT_CONFIG_NOSYSTEM": "1", **who}
        subprocess.run(["git", *words], cwd=self.here.folder, env=own, capture_output=True, check=True)

    def calls(self) -> str:
        return self.here.good("sim", "calls", "--count").out.strip()


@pytest.fixture
def branch(tmp_path: Path) -> Branch:
    (here,) = checkouts(tmp_path, "sqlite:///.nodus/state.db", "ada")
    made = Branch(here)
    here.write(".gitignore", ".nodus/\n*.nodusplan\n")
    made.git("init", "--initial-branch", "main")
    here.write("a.yaml", workspace("a"))
    made.git("add", "--all")
    made.git("commit", "--message", "Begin")
    made.git("switch", "--create", "more")
    return made


def test_acceptance_a_field_that_changed_after_the_review_is_named_and_no_provider_is_called(branch: Branch) -> None:
    here = branch.here
    reviewed = next(line["planHash"] for line in here.good("plan", "-o", "p.nodusplan", "--json").lines if line["type"] == "plan")
    comment = here.good("comment", "p.nodusplan", "--format", "github").out
    assert reviewed in comment
    here.write("a.yaml", workspace("a").replace("idleTimeout: 1h", "idleTimeout: 2h"))
    branch.git("commit", "--all", "--message", "Let it idle longer")
    before = branch.calls()
    refused = here("apply", "--plan-hash", reviewed, "--yes")
    assert refused.code == ExitCode.REFUSED
    assert "workspace/a spec.idleTimeout: 1h -> 2h" in refused.err
    assert UNASKED in refused.err
    assert branch.calls() == before
    assert here.good("get", "ws", "-o", "name").out == ""


def reviewed_hash(cli: CommandLine, file: str = "p.nodusplan") -> str:
    lines = [json.loads(line) for line in cli("plan", "-o", file, "--json").out.splitlines()]
    text: str = next(line["planHash"] for line in lines if line["type"] == "plan")
    return text


def calls(cli: CommandLine) -> str:
    return cli("sim", "calls", "--count").out.strip()


def refused(cli: CommandLine, *words: str) -> str:
    """What an apply that is refused says, line by line in one text."""
    ran = cli("apply", *words, "--yes")
    assert ran.code is ExitCode.REFUSED, ran
    return "\n".join(line.strip() for line in ran.err.splitlines())


def test_a_price_that_moved_too_is_told_from_the_published_list_and_uses_up_no_scripted_answer(cli: CommandLine) -> None:
    reviewed = reviewed_hash(cli)
    cli("sim", "fault", "add", "--op", "price", "--effect", "price 0.90", "--times", "1")
    cli.write("ws.yaml", LONGER)
    before = calls(cli)
    said = refused(cli, "--plan-hash", reviewed)
    assert "workspace/lab spec.idleTimeout: 1h -> 2h" in said and PRICE in said and UNASKED in said
    assert calls(cli) == before
    assert "price 0.90" in cli("sim", "fault", "list").out


def test_a_price_alone_is_compared_with_what_the_provider_answers(cli: CommandLine) -> None:
    reviewed = reviewed_hash(cli)
    cli("sim", "fault", "add", "--op", "price", "--effect", "price 0.90")
    before = calls(cli)
    said = refused(cli, "--plan-hash", reviewed)
    assert PRICE in said and UNASKED not in said
    assert calls(cli) != before


def test_a_second_apply_of_the_same_hash_names_who_moved_the_state(cli: CommandLine) -> None:
    reviewed = reviewed_hash(cli)
    assert cli("apply", "--plan-hash", reviewed).code is ExitCode.DONE
    before = calls(cli)
    said = " ".join(refused(cli, "--plan-hash", reviewed).split())
    assert "moved by: nodusctl apply --plan-hash" in said and UNASKED in said
    assert calls(cli) == before


@pytest.mark.parametrize("change", ["added", "removed", "secret"])
def test_objects_that_came_went_or_have_other_bytes_need_no_provider(cli: CommandLine, change: str) -> None:
    cli.write("secret.yaml", "apiVersion: nodus.dev/v1\nkind: Secret\nmetadata: {name: wandb}\nspec: {stringData: {token: one}}\n")
    assert cli("apply", "--yes").code is ExitCode.DONE
    cli.write("ws.yaml", LONGER)
    reviewed = reviewed_hash(cli)
    match change:
        case "added":
            cli.write("more.yaml", workspace("more"))
        case "removed":
            (cli.folder / "secret.yaml").unlink()
        case _:
            cli.write("secret.yaml", (cli.folder / "secret.yaml").read_text().replace("one", "TWO-TESTSECRET"))
    before = calls(cli)
    said = refused(cli, "--plan-hash", reviewed)
    told = {
        "added": "workspace/more: to create, was not in",
        "removed": "secret/wandb: to delete, was not in",
        "secret": "secret/wandb: to update",
    }
    assert told[change] in said and UNASKED in said and "TESTSECRET" not in said
    assert calls(cli) == before


def test_without_the_reviewed_plan_at_hand_the_whole_plan_is_made(cli: CommandLine) -> None:
    reviewed = reviewed_hash(cli)
    for kept in (cli.folder / ".nodus" / "plans").iterdir():
        kept.unlink()
    cli.write("ws.yaml", LONGER)
    before = calls(cli)
    assert UNASKED not in refused(cli, "--plan-hash", reviewed)
    assert calls(cli) != before


def test_a_file_beside_the_hash_that_is_another_plan_is_said_and_not_compared_with(cli: CommandLine) -> None:
    reviewed = reviewed_hash(cli)
    cli.write("ws.yaml", LONGER)
    other = reviewed_hash(cli, "other.nodusplan")
    cli.write("ws.yaml", LAB_YAML.replace("idleTimeout: 1h", "idleTimeout: 3h"))
    said = refused(cli, "other.nodusplan", "--plan-hash", reviewed)
    assert f"other.nodusplan is another plan: {other}" in said
    assert "spec.idleTimeout: 1h -> 3h" in said, "compared with the copy that was kept"


def test_a_damaged_file_beside_the_hash_is_refused_first(cli: CommandLine) -> None:
    reviewed = reviewed_hash(cli)
    path = cli.folder / "p.nodusplan"
    path.write_text(path.read_text().replace("idleTimeout", "idleTimeouT"))
    assert "PlanUnreadable" in refused(cli, "p.nodusplan", "--plan-hash", reviewed)


def test_unchanged_files_are_applied_by_their_hash(cli: CommandLine) -> None:
    reviewed = reviewed_hash(cli)
    assert cli("apply", "p.nodusplan", "--plan-hash", reviewed).code is ExitCode.DONE
