"""What each forge takes in a comment: how long it may be, whether parts can be folded, and how a mark is hidden.

Lengths, in characters: GitHub 65,536 (github.com/orgs/community/discussions/27190), GitLab 1,000,000 (docs.gitlab.com, Notes API), Azure
DevOps 150,000 (its own refusal, runatlantis/atlantis#1585), Bitbucket "less than 32768" (its own refusal, jfrog/froggit-go#133). Bitbucket
escapes HTML, so nothing is folded there and the mark is a link definition nothing refers to. One character stays free for the line break a
pipe adds.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from enum import StrEnum


class Forge(StrEnum):
    """Where a comment is to be posted."""

    GITHUB = "github"
    GITLAB = "gitlab"
    BITBUCKET = "bitbucket"
    AZURE = "azure"


LIMITS = {Forge.GITHUB: 65_536, Forge.GITLAB: 1_000_000, Forge.BITBUCKET: 32_768, Forge.AZURE: 150_000}
"""Most characters of one comment."""
SMALLEST_LIMIT = 8_192
"""Below this not even the verdict, its totals and the way to apply it are sure to fit."""
_MARK_DIGITS = 12


@dataclass(frozen=True, slots=True, kw_only=True)
class Form:
    """How one comment is written. ``limit`` None doesn't end; ``mark`` is empty for a text nobody has to find again."""

    forge: Forge = Forge.GITHUB
    limit: int | None = None
    mark: str = ""

    @property
    def room(self) -> int | None:
        """The characters it may have; None without a limit."""
        return None if self.limit is None else self.limit - 1

    @property
    def can_fold(self) -> bool:
        """True where ``<details>`` folds, and HTML isn't shown as it is written."""
        return self.forge is not Forge.BITBUCKET

    @property
    def mark_line(self) -> str:
        """The line by which the comment is found again; empty without a mark."""
        return hidden(self.mark, self.forge) if self.mark else ""


def mark_of(project: str, place: str, tag: str = "") -> str:
    """The mark of one project's comments: its name for people, and a digest of its name, its folder in the repository and the tag.

    Two projects of one repository differ in their folder even where both have the default name; ``tag`` tells apart two comments that one
    project wants, such as one an environment.
    """
    digest = hashlib.sha256("\0".join((project, place, tag)).encode("utf-8", "replace")).hexdigest()[:_MARK_DIGITS]
    name = "".join(letter if letter.isalnum() and letter.isascii() else "-" for letter in project).strip("-") or "project"
    return f"nodusctl-plan {name[:63]} {digest}"


def hidden(mark: str, forge: Forge) -> str:
    """``mark`` as a line that isn't shown."""
    return f"[//]: # ({mark})" if forge is Forge.BITBUCKET else f"<!-- {mark} -->"
