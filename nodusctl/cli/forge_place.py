"""Which pull request a comment is for: what the options say, else what the forge's CI says of the run.

GitHub: docs.github.com "Variables reference" and the event file; GitLab: docs.gitlab.com "Predefined CI/CD variables". A token comes from
the environment only, and from the moment it is read nothing prints it.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from nodusctl.base.redaction import REDACTOR
from nodusctl.cli.words import usage_error
from nodusctl.render.comment_forms import Forge

_PULL_REF = re.compile(r"refs/pull/(\d+)/")
_RUNS_IN = (
    ("GITHUB_ACTIONS", Forge.GITHUB),
    ("GITLAB_CI", Forge.GITLAB),
    ("BITBUCKET_BUILD_NUMBER", Forge.BITBUCKET),
    ("TF_BUILD", Forge.AZURE),
)
_TOKENS = {Forge.GITHUB: ("GITHUB_TOKEN",), Forge.GITLAB: ("GITLAB_TOKEN", "CI_JOB_TOKEN")}


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """What the options say; empty and 0 where they weren't given."""

    repo: str = ""
    number: int = 0
    api_url: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """A pull or merge request and the key to it. ``token_name`` is the variable the token came from."""

    forge: Forge
    repo: str
    number: int
    api_url: str
    token: str
    token_name: str

    def __repr__(self) -> str:
        """Without the token."""
        return f"Place({self.forge.value}, {self.repo}, {self.number}, {self.api_url}, {self.token_name})"


def forge_of_run(environment: Mapping[str, str]) -> Forge:
    """The forge whose CI this runs in; GitHub where there is none."""
    return next((forge for name, forge in _RUNS_IN if environment.get(name)), Forge.GITHUB)


def place_of(forge: Forge, asked: Asked, environment: Mapping[str, str]) -> Place:
    """Where to post. A usage error that names the option and the variable where something is missing."""
    if forge not in _TOKENS:
        usage_error(
            f"Comments are posted to GitHub and GitLab, not to {forge.value}",
            "There, render the comment and post it with a step of your pipeline.",
            f"nodusctl comment FILE --format {forge.value} > comment.md",
        )
    repo = asked.repo or _repo(forge, environment)
    number = asked.number or _number(forge, environment)
    if not repo:
        variable = "GITHUB_REPOSITORY" if forge is Forge.GITHUB else "CI_PROJECT_ID"
        usage_error("Say which repository", f"Neither --repo nor {variable} says it.", _with_options(forge))
    if forge is Forge.GITHUB and not re.fullmatch(r"[\w.-]+/[\w.-]+", repo):
        usage_error("--repo is OWNER/NAME", f"It says {repo!r}.", _with_options(forge))
    if number <= 0:
        where = "GITHUB_REF, the event of this run" if forge is Forge.GITHUB else "CI_MERGE_REQUEST_IID"
        usage_error("Say which pull request", f"Neither --number nor {where} says it: this run is for none.", _with_options(forge))
    token_name = next((name for name in _TOKENS[forge] if environment.get(name)), "")
    if not token_name:
        names = " or ".join(_TOKENS[forge])
        usage_error("There is no token to post with", f"It is read from the environment only: {names}.", _token_fix(forge))
    token = environment[token_name].strip()
    REDACTOR.remember(token)
    api = asked.api_url or environment.get("GITHUB_API_URL" if forge is Forge.GITHUB else "CI_API_V4_URL", "")
    if api and not re.match(r"https?://[^/]", api):
        usage_error("--api-url is no address", f"It says {api!r}.", "give the root of the API, such as https://github.example.com/api/v3")
    return Place(forge=forge, repo=repo, number=number, api_url=api, token=token, token_name=token_name)


def place_in_repository(folder: Path) -> str:
    """``folder`` below the root of its repository, with slashes; empty at the root and outside of any."""
    here = folder.resolve()
    root = next((one for one in (here, *here.parents) if (one / ".git").exists()), None)
    return "" if root is None or root == here else here.relative_to(root).as_posix()


def _repo(forge: Forge, environment: Mapping[str, str]) -> str:
    if forge is Forge.GITHUB:
        return environment.get("GITHUB_REPOSITORY", "")
    # A merge request of a fork belongs to the project it is to be merged into, not to the one the job runs in.
    return environment.get("CI_MERGE_REQUEST_PROJECT_ID", "") or environment.get("CI_PROJECT_ID", "")


def _number(forge: Forge, environment: Mapping[str, str]) -> int:
    if forge is Forge.GITLAB:
        return _whole(environment.get("CI_MERGE_REQUEST_IID", ""))
    found = _PULL_REF.match(environment.get("GITHUB_REF", ""))
    return int(found[1]) if found else _number_of_event(environment.get("GITHUB_EVENT_PATH", ""))


def _number_of_event(path: str) -> int:
    """The pull request of GitHub's event file: its own, or the issue a comment on it was made on."""
    try:
        event = json.loads(Path(path).read_text(encoding="utf-8")) if path else {}
    except (OSError, ValueError):
        return 0
    if not isinstance(event, dict):
        return 0
    pull, issue = event.get("pull_request"), event.get("issue")
    if isinstance(pull, dict):
        return _whole(str(pull.get("number", "")))
    return _whole(str(issue.get("number", ""))) if isinstance(issue, dict) and issue.get("pull_request") else 0


def _whole(text: str) -> int:
    return int(text) if text.isdecimal() and len(text) < 12 else 0


def _with_options(forge: Forge) -> str:
    repo = "OWNER/NAME" if forge is Forge.GITHUB else "GROUP/NAME"
    return f"nodusctl comment post --format {forge.value} --repo {repo} --number N"


def _token_fix(forge: Forge) -> str:
    if forge is Forge.GITHUB:
        return "in GitHub Actions:\n  permissions: {pull-requests: write}\n  env: {GITHUB_TOKEN: '${{ github.token }}'}"
    return "store a project access token with the scope api as the CI/CD variable GITLAB_TOKEN"
