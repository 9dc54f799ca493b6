"""Posting a comment: which forge's client, and what is said of how it went."""

from __future__ import annotations

from nodusctl.base.diagnostics import Diagnostic, note
from nodusctl.base.exits import ExitCode
from nodusctl.cli.forge_place import Place
from nodusctl.cli.output.protocol import Output
from nodusctl.cli.output.slow import told_when_slow
from nodusctl.cli.wiring import Wiring
from nodusctl.engine.post.forge import CommentForge
from nodusctl.engine.post.http import ForgeHttp
from nodusctl.engine.post.sticky import Posted, post_sticky
from nodusctl.render.comment import Comment
from nodusctl.render.comment_forms import Forge, Form


def post(made: Comment, shape: Form, place: Place, wiring: Wiring, output: Output) -> ExitCode:
    """Write the comment, or replace the one written before. UserError where the forge refuses or can't be reached."""
    http = _http(place, wiring)
    try:
        with told_when_slow(output, wiring.wall, f"posting to {http.name}"):
            posted = post_sticky(_forge(http, place), shape.mark_line, made.body)
    finally:
        http.close()
    if posted.others:
        output.diagnose([_others(posted)])
    output.result("result", lambda style: _text(posted, place), lambda: _document(posted, made, place))
    return ExitCode.DONE


def _http(place: Place, wiring: Wiring) -> ForgeHttp:
    if place.forge is Forge.GITHUB:
        from nodusctl.engine.post.github import github_http

        return github_http(place.api_url, place.token, wiring.wall)
    from nodusctl.engine.post.gitlab import gitlab_http

    return gitlab_http(place.api_url, place.token, wiring.wall, is_job_token=place.token_name == "CI_JOB_TOKEN")


def _forge(http: ForgeHttp, place: Place) -> CommentForge:
    if place.forge is Forge.GITHUB:
        from nodusctl.engine.post.github import GitHubComments

        return GitHubComments(http, place.repo, place.number)
    from nodusctl.engine.post.gitlab import GitLabNotes

    return GitLabNotes(http, place.repo, place.number)


def _others(posted: Posted) -> Diagnostic:
    return note(
        "CommentsAlike",
        "There are more comments of this project",
        f"{posted.others} further comments bear the same mark; they show older plans and were left as they are.",
        "delete them on the forge, so that nobody reviews an old plan",
    )


def _text(posted: Posted, place: Place) -> str:
    where = posted.note.url or f"{place.repo}, number {place.number}, comment {posted.note.id}"
    return f"Comment {posted.came.value}: {where}"


def _document(posted: Posted, made: Comment, place: Place) -> dict[str, object]:
    return {
        "comment": posted.came.value,
        "forge": place.forge.value,
        "repo": place.repo,
        "number": place.number,
        "id": posted.note.id,
        "url": posted.note.url,
        "size": made.size,
        "changesLeftOut": made.left_out,
    }
