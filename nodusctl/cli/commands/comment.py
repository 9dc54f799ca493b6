"""``nodusctl comment [post] [FILE]``: the plan as a pull-request comment, printed or posted.

The surprise: without FILE it makes a fresh plan of the files as they are, and keeps it as ``plan -o`` would, so that the hash in the
comment can be applied and compared. The newest kept plan would be what somebody looked at last, not what the branch says.
"""

from __future__ import annotations

from contextlib import suppress
from typing import Annotated

import typer

from nodusctl.base.exits import ExitCode
from nodusctl.cli.app import one_command
from nodusctl.cli.forge_place import Asked, forge_of_run, place_in_repository, place_of
from nodusctl.cli.options import BaseOption, JsonOption, wiring_of
from nodusctl.cli.output.protocol import Output
from nodusctl.cli.planning import fresh_plan
from nodusctl.cli.saved_plans import compared
from nodusctl.cli.wiring import Wiring
from nodusctl.cli.words import usage_error
from nodusctl.plan.plan import Plan
from nodusctl.render.comment import Comment, plan_comment
from nodusctl.render.comment_apply import Applying
from nodusctl.render.comment_forms import LIMITS, SMALLEST_LIMIT, Forge, Form, mark_of

_POST = "post"


def comment(
    context: typer.Context,
    *,
    words: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="FILE",
            help="A plan saved by plan -o; without one a fresh plan is made and kept. The word post before it posts it.",
            show_default=False,
        ),
    ] = None,
    form: Annotated[
        Forge | None,
        typer.Option("--format", help="The forge it is for. [default: the one whose CI this is, else github]", show_default=False),
    ] = None,
    limit: Annotated[
        int | None,
        typer.Option("--limit", metavar="N", help="At most this many characters, below the forge's own limit.", show_default=False),
    ] = None,
    tag: Annotated[
        str,
        typer.Option(
            "--tag", metavar="TEXT", help="Tells two comments of one project apart, such as one an environment.", show_default=False
        ),
    ] = "",
    repo: Annotated[
        str,
        typer.Option(
            "--repo", metavar="REPO", help="post: OWNER/NAME; on GitLab the project's id or path. [default: from CI]", show_default=False
        ),
    ] = "",
    number: Annotated[
        int,
        typer.Option(
            "--number", metavar="N", min=0, help="post: the pull or merge request's number. [default: from CI]", show_default=False
        ),
    ] = 0,
    api_url: Annotated[
        str,
        typer.Option(
            "--api-url",
            metavar="URL",
            help="post: the root of the forge's API. [default: from CI, else the public one]",
            show_default=False,
        ),
    ] = "",
    base: BaseOption = "",
    is_json: JsonOption = False,
) -> ExitCode:
    """The plan as one pull-request comment: verdict, losses and blocking reasons always, the rest as far as it fits; or post it.

    post writes one comment a project and replaces it on the next push. Its token is read from GITHUB_TOKEN, GITLAB_TOKEN or CI_JOB_TOKEN.
    """
    wiring = wiring_of(context)
    output = wiring.output(is_json=is_json)
    posts, file = _meant(words or [])
    environment = wiring.surroundings.environment
    forge = form or forge_of_run(environment)
    asked = Asked(repo=repo, number=number, api_url=api_url)
    if not posts and asked != Asked():
        usage_error("--repo, --number and --api-url belong to posting", fix=f"nodusctl comment post {file}".rstrip())
    place = place_of(forge, asked, environment) if posts else None
    if file and base:
        usage_error("--base is for a fresh plan", f"{file} was made against its own.", f"nodusctl comment {file}")
    plan, stale = _plan(file, base, wiring, output)
    shape = Form(forge=forge, limit=_limit(forge, limit), mark=_mark(plan, wiring, tag))
    made = plan_comment(plan, shape, Applying(file=file), stale)
    if place is None:
        output.result("comment", lambda style: made.body, lambda: _document(made, shape))
        return ExitCode.DONE
    from nodusctl.cli.posting import post

    return post(made, shape, place, wiring, output)


def _meant(words: list[str]) -> tuple[bool, str]:
    posts = words[:1] == [_POST]
    files = words[1:] if posts else words
    if len(files) > 1:
        usage_error("One comment shows one plan", f"Given: {', '.join(files)}.", f"nodusctl comment {'post ' if posts else ''}{files[0]}")
    return posts, files[0] if files else ""


def _plan(file: str, base: str, wiring: Wiring, output: Output) -> tuple[Plan, str]:
    """The plan, and why it can't be applied any more."""
    from nodusctl.engine.plan import PlanRequest
    from nodusctl.engine.plan_files import keep_plan, open_plan
    from nodusctl.plan.file import write_plan

    if file:
        plan, _ = open_plan(wiring.start / file)
        stale = compared(plan, wiring, output)
        return plan, stale.detail if stale is not None else ""
    plan = fresh_plan(wiring, PlanRequest(), base)
    output.diagnose(plan.diagnostics)
    with suppress(OSError):
        keep_plan(plan, write_plan(plan), state_folder=wiring.project.state_folder)
    return plan, ""


def _limit(forge: Forge, wanted: int | None) -> int:
    most = LIMITS[forge]
    if wanted is None:
        return most
    if not SMALLEST_LIMIT <= wanted <= most:
        usage_error(
            "--limit is out of range", f"It says {wanted}; for {forge.value} it is {SMALLEST_LIMIT} to {most}.", "leave --limit out"
        )
    return wanted


def _mark(plan: Plan, wiring: Wiring, tag: str) -> str:
    return mark_of(plan.basis.project, place_in_repository(wiring.project.folder), tag)


def _document(made: Comment, shape: Form) -> dict[str, object]:
    return {
        "format": shape.forge.value,
        "limit": shape.limit,
        "size": made.size,
        "changesLeftOut": made.left_out,
        "mark": shape.mark,
        "body": made.body,
    }


app = one_command(comment)
