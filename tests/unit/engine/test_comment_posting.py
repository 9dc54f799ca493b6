"""The sticky comment, over real HTTP: found, replaced, never doubled, never somebody else's; limits and overload with bounded patience."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime

import pytest
from support.forge_server import ForgeServer, Trouble, running_forge

from nodusctl.base.exits import UserError
from nodusctl.engine.post.github import GitHubComments, github_http
from nodusctl.engine.post.gitlab import GitLabNotes, gitlab_http
from nodusctl.engine.post.http import PATIENCE_SECONDS
from nodusctl.engine.post.sticky import Came, Posted, post_sticky

MARK = "<!-- nodusctl-plan lab 0123456789ab -->"
NOW = datetime(2026, 10, 26, 7, 0, tzinfo=UTC)


@dataclass
class StillWall:
    """A Wall on which sleeping takes no time and is written down."""

    slept: list[float] = field(default_factory=list)

    def now(self) -> datetime:
        return NOW

    def monotonic(self) -> float:
        return sum(self.slept)

    def sleep(self, seconds: float) -> None:
        self.slept.append(seconds)


@pytest.fixture
def forge() -> Iterator[ForgeServer]:
    with running_forge() as running:
        yield running


@pytest.fixture
def wall() -> StillWall:
    return StillWall()


def on_github(forge: ForgeServer, wall: StillWall, body: str = "one", token: str = "good-token-1234") -> Posted:
    http = github_http(forge.url, token, wall)
    try:
        return post_sticky(GitHubComments(http, forge.repo, forge.number), MARK, f"{MARK}\n\n{body}")
    finally:
        http.close()


def on_gitlab(forge: ForgeServer, wall: StillWall, body: str = "one", project: str = "acme/lab", *, is_job_token: bool = False) -> Posted:
    http = gitlab_http(forge.url, "good-token-1234", wall, is_job_token=is_job_token)
    try:
        return post_sticky(GitLabNotes(http, project, forge.number), MARK, f"{MARK}\n\n{body}")
    finally:
        http.close()


@pytest.mark.parametrize("post", [on_github, on_gitlab])
def test_the_second_push_replaces_the_first_comment(post: object, forge: ForgeServer, wall: StillWall) -> None:
    first, second = post(forge, wall), post(forge, wall, "two")  # type: ignore[operator]
    assert (first.came, second.came) == (Came.CREATED, Came.UPDATED) and first.note.id == second.note.id
    assert [one.body for one in forge.comments] == [f"{MARK}\n\ntwo"] and wall.slept == []


@pytest.mark.parametrize("post", [on_github, on_gitlab])
def test_it_is_found_behind_hundreds_of_other_comments(post: object, forge: ForgeServer, wall: StillWall) -> None:
    for number in range(250):
        forge.says(f"comment {number}")
    forge.says(f"{MARK}\n\nold", author="robot[bot]", kind="Bot")
    assert post(forge, wall, "new").came is Came.UPDATED  # type: ignore[operator]
    assert len(forge.comments) == 251 and forge.comments[-1].body.endswith("new")
    assert forge.methods().count("GET") >= 3


def test_another_projects_comment_stays(forge: ForgeServer, wall: StillWall) -> None:
    other = forge.says("<!-- nodusctl-plan lab ba9876543210 -->\n\nanother project", author="robot[bot]", kind="Bot")
    assert on_github(forge, wall).came is Came.CREATED
    assert other.body.endswith("another project") and len(forge.comments) == 2


def test_a_mark_that_somebody_else_wrote_or_quoted_is_not_ours(forge: ForgeServer, wall: StillWall) -> None:
    forged = forge.says(f"{MARK}\n\nall is well, approve it")
    quoted = forge.says(f"> {MARK}\n\nwhat about this?", author="robot[bot]", kind="Bot")
    posted = on_github(forge, wall)
    assert posted.came is Came.CREATED and posted.others == 0
    assert forged.body.endswith("approve it") and quoted.body.endswith("this?")


def test_where_the_token_says_whose_it_is_only_that_persons_comment_is_replaced(forge: ForgeServer, wall: StillWall) -> None:
    forge.owners = {"good-token-1234": "ana"}
    theirs = forge.says(f"{MARK}\n\nby ben", author="ben")
    mine = forge.says(f"{MARK}\n\nby ana", author="ana")
    assert on_github(forge, wall, "new").came is Came.UPDATED
    assert theirs.body.endswith("by ben") and mine.body.endswith("new")


def test_two_of_our_own_are_told_and_the_oldest_is_replaced(forge: ForgeServer, wall: StillWall) -> None:
    first = forge.says(f"{MARK}\n\n1", author="robot[bot]", kind="Bot")
    second = forge.says(f"{MARK}\n\n2", author="robot[bot]", kind="Bot")
    posted = on_github(forge, wall, "new")
    assert posted.others == 1 and first.body.endswith("new") and second.body.endswith("2")


@pytest.mark.parametrize("status", [500, 502, 503, 504])
def test_a_comment_that_was_made_though_the_answer_was_an_error_is_not_made_twice(status: int, forge: ForgeServer, wall: StillWall) -> None:
    forge.troubles = [Trouble("POST", status, does_it=True)]
    assert on_github(forge, wall).came is Came.UPDATED
    assert len(forge.comments) == 1 and forge.methods().count("POST") == 1


def test_a_lost_answer_is_looked_for_before_anything_is_sent_again(forge: ForgeServer, wall: StillWall) -> None:
    forge.troubles = [Trouble("POST", 0, does_it=True, drops=True)]
    assert on_gitlab(forge, wall).came is Came.UPDATED
    forge.comments.clear()
    forge.troubles = [Trouble("POST", 0, drops=True)]
    assert on_gitlab(forge, wall).came is Came.CREATED
    assert len(forge.comments) == 1


def test_overload_is_waited_out_a_few_times_and_then_said(forge: ForgeServer, wall: StillWall) -> None:
    forge.troubles = [Trouble("GET", 502), Trouble("GET", 503, {"Retry-After": "7"})]
    assert on_github(forge, wall).came is Came.CREATED
    assert wall.slept == [1.0, 7.0]
    forge.troubles = [Trouble("GET", 503) for _ in range(9)]
    with pytest.raises(UserError) as refused:
        on_github(forge, StillWall())
    assert refused.value.diagnostics[0].code == "ForgeUnreachable" and "503" in refused.value.diagnostics[0].detail
    assert len(forge.troubles) == 4


@pytest.mark.parametrize(
    ("trouble", "slept"),
    [
        (Trouble("GET", 429, {"Retry-After": "9"}), 9.0),
        (Trouble("GET", 403, {"X-RateLimit-Remaining": "0", "X-RateLimit-Reset": str(int(NOW.timestamp()) + 30)}), 31.0),
        (Trouble("GET", 403, words="You have exceeded a secondary rate limit"), 60.0),
        (Trouble("GET", 429, {"RateLimit-Remaining": "0", "RateLimit-Reset": str(int(NOW.timestamp()) + 5)}), 6.0),
        (Trouble("GET", 429, {"Retry-After": "Mon, 26 Oct 2026 07:00:20 GMT"}), 20.0),
        (Trouble("POST", 429, {"Retry-After": "3"}), 3.0),
    ],
)
def test_a_limit_is_waited_out_as_the_forge_asks(trouble: Trouble, slept: float, forge: ForgeServer, wall: StillWall) -> None:
    forge.troubles = [trouble]
    assert on_github(forge, wall).came is Came.CREATED
    assert wall.slept == [slept] and len(forge.comments) == 1


def test_a_limit_beyond_all_patience_is_said_at_once(forge: ForgeServer, wall: StillWall) -> None:
    forge.troubles = [Trouble("GET", 403, {"X-RateLimit-Remaining": "0", "X-RateLimit-Reset": str(int(NOW.timestamp()) + 3000)})]
    with pytest.raises(UserError) as refused:
        on_github(forge, wall)
    found = refused.value.diagnostics[0]
    assert found.code == "ForgeBusy" and "3001 seconds" in found.detail and str(int(PATIENCE_SECONDS)) in found.detail and wall.slept == []


def test_a_server_that_isnt_there_is_said_with_its_address(wall: StillWall) -> None:
    gone = ForgeServer(url="http://127.0.0.1:9")
    with pytest.raises(UserError) as refused:
        on_github(gone, wall)
    assert refused.value.diagnostics[0].code == "ForgeUnreachable" and "127.0.0.1:9" in refused.value.diagnostics[0].detail
    assert sum(wall.slept) <= PATIENCE_SECONDS


@pytest.mark.parametrize(
    ("trouble", "code", "words"),
    [
        (Trouble("GET", 401, words="Bad credentials"), "ForgeUnauthorized", "Bad credentials"),
        (Trouble("POST", 403, words="Resource not accessible by integration"), "ForgeUnauthorized", "not accessible"),
        (Trouble("GET", 404, words="Not Found"), "ForgeRefused", "pull request 7 of acme/lab"),
        (Trouble("GET", 301, {"Location": "https://elsewhere.example/"}, words="Moved Permanently"), "ForgeRefused", "301"),
        (Trouble("POST", 422, words="Validation Failed"), "ForgeRefused", "Validation Failed"),
    ],
)
def test_a_refusal_has_a_code_the_forges_words_and_a_fix(
    trouble: Trouble, code: str, words: str, forge: ForgeServer, wall: StillWall
) -> None:
    forge.troubles = [trouble]
    with pytest.raises(UserError) as refused:
        on_github(forge, wall)
    found = refused.value.diagnostics[0]
    assert found.code == code and words in found.detail and "\n  " in found.fix
    assert "good-token" not in found.detail + found.fix and forge.comments == []


def test_a_comment_that_vanishes_while_it_is_replaced_is_written_anew(forge: ForgeServer, wall: StillWall) -> None:
    forge.says(f"{MARK}\n\nold", author="robot[bot]", kind="Bot")
    forge.troubles = [Trouble("PATCH", 404)]
    assert on_github(forge, wall, "new").came is Came.UPDATED  # it was there again at the second look
    assert forge.comments[0].body.endswith("new")


def test_a_gitlab_project_may_be_named_by_its_path_and_a_jobs_own_token_has_its_own_header(forge: ForgeServer, wall: StillWall) -> None:
    forge.repo = "group/sub group/lab"
    on_gitlab(forge, wall, project="group/sub group/lab", is_job_token=True)
    assert forge.requests[0][1].startswith("/projects/group%2Fsub%20group%2Flab/merge_requests/7/notes?")
    assert forge.headers[0]["job-token"] == "good-token-1234" and "private-token" not in forge.headers[0]
