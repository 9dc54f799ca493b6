"""The CI workflow of a project: the file of its forge, where that forge looks for it, with the project's own names in it.

GitHub and GitLab read workflows at the root of a repository only, so a project in a folder of one gets a file of its own there (GitHub) or
the one file there is (GitLab). Of git only two small text files are read, and nothing is run.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from enum import StrEnum
from importlib.resources import files
from pathlib import Path

from nodusctl import __version__

_SAFE = re.compile(r"[A-Za-z0-9._/-]+")
_URL = re.compile(r"^\s*url\s*=\s*(\S+)", re.MULTILINE)
_HEAD = re.compile(r"ref: refs/(?:heads|remotes/origin)/(\S+)")
_USUAL = ("main", "master", "trunk")


class WorkflowForge(StrEnum):
    """Whose CI the workflow is for."""

    GITHUB = "github"
    GITLAB = "gitlab"


@dataclass(frozen=True, slots=True, kw_only=True)
class Workflow:
    """A file to be written and its text."""

    path: Path
    text: str


def workflow_for(folder: Path, forge: WorkflowForge | None = None) -> Workflow | None:
    """The workflow of the project in ``folder``; ``forge`` None takes that of the remote, else GitHub.

    None where the project's folder has characters that a workflow would have to quote in four different ways.
    """
    here = folder.resolve()
    root = next((one for one in (here, *here.parents) if (one / ".git").exists()), here)
    place = here.relative_to(root).as_posix()
    if not _SAFE.fullmatch(place):
        return None
    chosen = forge or _forge_of(root)
    text = workflow_text(chosen, place=place, branch=_default_branch(root))
    if chosen is WorkflowForge.GITLAB:
        return Workflow(path=root / ".gitlab-ci.yml", text=text)
    name = "nodusctl" if place == "." else f"nodusctl-{place.replace('/', '-')}"
    return Workflow(path=root / ".github" / "workflows" / f"{name}.yml", text=text)


def workflow_text(forge: WorkflowForge, *, place: str = ".", branch: str = "main") -> str:
    """The file for a project in the folder ``place`` of its repository, ``.`` for the root."""
    text = files("nodusctl.engine.ci").joinpath(f"{forge.value}.yml").read_text(encoding="utf-8")
    if place == ".":
        text = text.replace("    - cd PROJECT_FOLDER\n", "")
    own = {"PROJECT_FOLDER/": "" if place == "." else f"{place}/", "PROJECT_FOLDER": place}
    for name, value in {**own, "DEFAULT_BRANCH": branch, "NODUSCTL_VERSION": __version__}.items():
        text = re.sub(rf"(?<![A-Z_]){name}(?![A-Z_])", value, text)
    return text


def _forge_of(root: Path) -> WorkflowForge:
    return WorkflowForge.GITLAB if any("gitlab" in url for url in _URL.findall(_read(root / ".git" / "config"))) else WorkflowForge.GITHUB


def _default_branch(root: Path) -> str:
    """The remote's default where git knows it; else the branch one is on, if it is called as default branches are."""
    remote = _HEAD.match(_read(root / ".git" / "refs" / "remotes" / "origin" / "HEAD"))
    here = _HEAD.match(_read(root / ".git" / "HEAD"))
    found = remote[1] if remote else here[1] if here and here[1] in _USUAL else "main"
    return found if _SAFE.fullmatch(found) else "main"


def _read(path: Path) -> str:
    """Empty where there is none: a folder outside of any repository, or a linked work tree."""
    try:
        return path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError):
        return ""
