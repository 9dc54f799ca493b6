"""``comment`` and ``comment post`` as they are typed: in CI and outside, with a saved plan and without."""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest
from support.commands import CommandLine
from support.forge_server import ForgeServer, Trouble, running_forge

from nodusctl.base.exits import ExitCode

TOKEN = "ghs_0123456789abcdefghijklmnop"


@pytest.fixture
def forge() -> Iterator[ForgeServer]:
    with running_forge(owners={TOKEN: None, "glpat-0123456789abcdefghij": "ci"}) as running:
        yield running


@pytest.fixture
def in_actions(cli: CommandLine, forge: ForgeServer) -> CommandLine:
    """The project in a job of GitHub Actions."""
    environment = {
        "GITHUB_ACTIONS": "true",
        "GITHUB_API_URL": forge.url,
        "GITHUB_REPOSITORY": "acme/lab",
        "GITHUB_REF": "refs/pull/7/merge",
        "GITHUB_TOKEN": TOKEN,
    }
    return CommandLine(cli.folder, environment)


@pytest.fixture
def in_gitlab(cli: CommandLine, forge: ForgeServer) -> CommandLine:
    """The project in a job of GitLab CI, for a merge request from a fork."""
    environment = {
        "GITLAB_CI": "true",
        "CI_API_V4_URL": forge.url,
        "CI_PROJECT_ID": "99",
        "CI_MERGE_REQUEST_PROJECT_ID": "42",
        "CI_MERGE_REQUEST_IID": "7",
        "GITLAB_TOKEN": "glpat-0123456789abcdefghij",
        "CI_JOB_TOKEN": "glcbt-job",
    }
    forge.repo = "42"
    return CommandLine(cli.folder, environment)


def test_a_saved_plan_that_is_blocked_is_said_to_be_for_review(cli: CommandLine) -> None:
    assert "Saved. To apply exactly this:\n  nodusctl apply p.nodusplan" in cli("plan", "-o", "p.nodusplan").err
    spec = "{ephemeral: true, resources: {gpu: {type: [H100], count: 8, minMemory: 100Gi}}}"
    cli.write("stuck.yaml", f"apiVersion: nodus.dev/v1\nkind: Workspace\nmetadata: {{name: stuck}}\nspec: {spec}\n")
    ran = cli("plan", "-o", "p.nodusplan")
    assert ran.code is ExitCode.BLOCKED
    assert "Saved for review; it can't be applied as it is: 1 reason above." in ran.err and "To apply exactly" not in ran.err


def test_a_saved_plan_is_printed_with_the_commands_that_apply_it(cli: CommandLine) -> None:
    cli("plan", "-o", "p.nodusplan")
    ran = cli("comment", "p.nodusplan")
    plan_hash = json.loads(cli("show", "p.nodusplan", "--json").out)["planHash"]
    assert ran.code is ExitCode.DONE and ran.err == ""
    assert (
        ran.out.startswith("<!-- nodusctl-plan lab ")
        and "**2 to create. Costs $9.998333 to $10.00 (likely to unlucky, p50 to p90), at most $10.00." in ran.out
    )
    assert "nodusctl apply p.nodusplan\n" in ran.out and f"nodusctl apply --plan-hash {plan_hash} --yes" in ran.out


def test_without_a_file_a_fresh_plan_is_shown_and_kept_under_its_hash(cli: CommandLine) -> None:
    ran = cli("comment")
    (kept,) = (cli.folder / ".nodus" / "plans").glob("*.nodusplan")
    assert kept.stem in ran.out and "nodusctl apply p.nodusplan" not in ran.out
    assert cli("apply", "--plan-hash", kept.stem, "--yes").code is ExitCode.DONE


def test_a_plan_that_was_applied_is_still_printed_and_says_so(cli: CommandLine) -> None:
    cli("plan", "-o", "p.nodusplan")
    assert cli("apply", "p.nodusplan").code is ExitCode.DONE
    ran = cli("comment", "p.nodusplan")
    assert ran.code is ExitCode.DONE and "PlanStale" in ran.err and "**This plan can't be applied any more:** `It was applied" in ran.out


@pytest.mark.parametrize(("form", "limit"), [("github", 65_536), ("gitlab", 1_000_000), ("bitbucket", 32_768), ("azure", 150_000)])
def test_as_json_it_says_its_size_and_limit(form: str, limit: int, cli: CommandLine) -> None:
    lines = [json.loads(line) for line in cli("comment", "--format", form, "--json").out.splitlines()]
    (shown,) = [line for line in lines if line["type"] == "comment"]
    assert (shown["format"], shown["limit"], shown["changesLeftOut"], shown["size"]) == (form, limit, 0, len(shown["body"]))
    assert shown["mark"] in shown["body"].splitlines()[0] and ("<details>" in shown["body"]) == (form != "bitbucket")


def test_the_limit_can_be_made_smaller_and_never_larger(cli: CommandLine) -> None:
    assert len(cli("comment", "--limit", "8192").out) <= 8192
    ran = cli("comment", "--limit", "65537")
    assert ran.code is ExitCode.USAGE and "8192 to 65536" in ran.err


def test_the_form_follows_the_ci_it_runs_in(cli: CommandLine) -> None:
    inside = CommandLine(cli.folder, {"BITBUCKET_BUILD_NUMBER": "1"})
    assert inside("comment").out.startswith("[//]: # (nodusctl-plan lab ")


def test_posting_writes_one_comment_and_replaces_it(in_actions: CommandLine, forge: ForgeServer) -> None:
    first = in_actions("comment", "post")
    assert first.code is ExitCode.DONE and first.out.startswith("Comment created: https://forge.example/acme/lab/pull/7#issuecomment-")
    in_actions.write("ws.yaml", (in_actions.folder / "ws.yaml").read_text().replace('"5.00"', '"6.00"'))
    again = in_actions("comment", "post", "--json")
    assert [json.loads(line).get("comment") for line in again.out.splitlines()][1] == "updated"
    (stored,) = forge.comments
    assert "at most $11.00" in stored.body


def test_projects_of_one_repository_have_comments_of_their_own(in_actions: CommandLine, forge: ForgeServer, tmp_path: Path) -> None:
    (tmp_path / "repository" / ".git").mkdir(parents=True)
    for name in ("dev", "prod"):
        project = shutil.copytree(in_actions.folder, tmp_path / "repository" / name)
        inside = CommandLine(project, in_actions.environment)
        assert inside("comment", "post").out.startswith("Comment created")
        assert inside("comment", "post").out.startswith("Comment updated")
        assert inside("comment", "post", "--tag", "nightly").out.startswith("Comment created")
    assert len(forge.comments) == 4 and len({one.body.splitlines()[0] for one in forge.comments}) == 4


def test_on_gitlab_the_note_goes_to_the_project_it_is_merged_into(in_gitlab: CommandLine, forge: ForgeServer) -> None:
    assert in_gitlab("comment", "post").code is ExitCode.DONE and in_gitlab("comment", "post").out.startswith("Comment updated: ")
    assert len(forge.comments) == 1 and all(path.startswith(("/projects/42/", "/user")) for _, path in forge.requests)
    assert forge.headers[0]["private-token"].startswith("glpat-")


def test_a_jobs_own_token_that_may_not_write_is_told_which_token_can(in_gitlab: CommandLine) -> None:
    environment = {name: value for name, value in in_gitlab.environment.items() if name != "GITLAB_TOKEN"}
    ran = CommandLine(in_gitlab.folder, environment)("comment", "post")
    assert ran.code is ExitCode.ERROR and "ForgeUnauthorized" in ran.err and "GITLAB_TOKEN" in ran.err


def test_the_pull_request_is_found_in_the_event_of_a_comment_on_it(in_actions: CommandLine, forge: ForgeServer, tmp_path: Path) -> None:
    event = tmp_path / "event.json"
    event.write_text(json.dumps({"issue": {"number": 7, "pull_request": {"url": "x"}}}))
    environment = {**in_actions.environment, "GITHUB_REF": "refs/heads/main", "GITHUB_EVENT_PATH": str(event)}
    assert CommandLine(in_actions.folder, environment)("comment", "post").code is ExitCode.DONE
    assert len(forge.comments) == 1


def test_options_win_over_what_ci_says(in_actions: CommandLine, forge: ForgeServer) -> None:
    wrong = CommandLine(in_actions.folder, {**in_actions.environment, "GITHUB_REPOSITORY": "acme/other", "GITHUB_REF": "refs/pull/1/merge"})
    assert wrong("comment", "post").code is ExitCode.ERROR
    assert wrong("comment", "post", "--repo", "acme/lab", "--number", "7", "--api-url", forge.url).code is ExitCode.DONE


@pytest.mark.parametrize(
    ("missing", "words", "said"),
    [
        ("GITHUB_TOKEN", (), "GITHUB_TOKEN"),
        ("GITHUB_REPOSITORY", (), "--repo"),
        ("GITHUB_REF", (), "--number"),
        ("", ("--format", "azure"), "comment FILE --format azure > comment.md"),
        ("", ("--repo", "lab"), "OWNER/NAME"),
        ("", ("--api-url", "api.example.com"), "--api-url"),
    ],
)
def test_what_is_missing_to_post_is_a_usage_error_before_anything_is_planned(
    missing: str, words: tuple[str, ...], said: str, in_actions: CommandLine, forge: ForgeServer
) -> None:
    environment = {name: value for name, value in in_actions.environment.items() if name != missing}
    ran = CommandLine(in_actions.folder, environment)("comment", "post", *words)
    assert ran.code is ExitCode.USAGE and said in ran.err and forge.requests == [] and not (in_actions.folder / ".nodus" / "plans").exists()


def test_options_of_posting_without_posting_are_refused(cli: CommandLine) -> None:
    ran = cli("comment", "--number", "7")
    assert ran.code is ExitCode.USAGE and "nodusctl comment post" in ran.err
    assert cli("comment", "a.nodusplan", "b.nodusplan").code is ExitCode.USAGE
    assert cli("comment", "nowhere.nodusplan").code is ExitCode.REFUSED


def test_the_token_is_in_no_output_even_where_the_forge_echoes_it(in_actions: CommandLine, forge: ForgeServer) -> None:
    forge.troubles = [Trouble("GET", 401, words=f"the token {TOKEN} has expired")]
    for words in (("comment", "post"), ("comment", "post", "--json")):
        ran = in_actions(*words)
        assert TOKEN not in ran.out + ran.err
    assert not any(TOKEN in path.read_text(errors="ignore") for path in in_actions.folder.rglob("*") if path.is_file())


def test_no_secret_value_reaches_the_comment(in_actions: CommandLine, forge: ForgeServer) -> None:
    in_actions.write(
        "secret.yaml", "apiVersion: nodus.dev/v1\nkind: Secret\nmetadata: {name: wandb}\nspec: {stringData: {key: TESTSECRET123}}\n"
    )
    in_actions.write(
        "ws.yaml", (in_actions.folder / "ws.yaml").read_text().replace("  tools:", "  secrets: [{name: wandb, version: 1}]\n  tools:")
    )
    ran = in_actions("comment", "post")
    assert ran.code is ExitCode.DONE, ran.err
    (stored,) = forge.comments
    assert "TESTSECRET" not in stored.body + ran.out + ran.err and "wandb@1" in stored.body


def test_a_class_of_six_hundred_is_taken_by_a_forge_that_refuses_longer_comments(in_actions: CommandLine, forge: ForgeServer) -> None:
    spec = "spec: {{ephemeral: true, maxCostUSD: '2.00'}}"
    student = f"---\napiVersion: nodus.dev/v1\nkind: Workspace\nmetadata: {{{{name: student-{{0:03}}}}}}\n{spec}\n"
    in_actions.write("class.yaml", "".join(student.format(number) for number in range(598)))
    ran = in_actions("comment", "post", "--json")
    (told,) = [line for line in map(json.loads, ran.out.splitlines()) if line["type"] == "result"]
    (stored,) = forge.comments
    assert ran.code is ExitCode.DONE and told["size"] == len(stored.body) < 65_536
    assert f"**{told['changesLeftOut']} changes left out**" in stored.body and told["changesLeftOut"] > 300
