"""Git, asked through its plumbing commands: the one place that runs it. Reads objects of a repository; writes nothing and runs no hook.

UserError             git is missing, there is no repository, or it lacks what was asked for; each with what to do
"""

from __future__ import annotations

import subprocess
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

from nodusctl.base.diagnostics import error
from nodusctl.base.exits import UserError
from nodusctl.base.redaction import clean

LIMIT_SECONDS = 60.0
_QUIET = {"GIT_TERMINAL_PROMPT": "0", "GIT_OPTIONAL_LOCKS": "0", "LC_ALL": "C"}
_NOBODYS = ("-c", "core.fsmonitor=false", "-c", "core.hooksPath=/dev/null", "-c", "core.quotePath=false")
_SHORT = 10


@dataclass(frozen=True, slots=True, kw_only=True)
class Commit:
    """A commit by its full id, and the first line of its message."""

    id: str
    subject: str = ""

    @property
    def short(self) -> str:
        """Enough of the id for people."""
        return self.id[:_SHORT]


@dataclass(frozen=True, slots=True, kw_only=True)
class GitRepository:
    """The repository that ``folder`` (a project) lies in. All file names are relative to that folder."""

    folder: Path
    environment: Mapping[str, str]
    limit_seconds: float = LIMIT_SECONDS

    def commit(self, ref: str) -> Commit:
        """What ``ref`` names now; UserError for a name nobody knows."""
        found = self._asked("rev-parse", "--verify", "--quiet", "--end-of-options", f"{ref}^{{commit}}")
        if found.returncode:
            self._refuse_no_repository()
            fix = f"Fetch it first:\n  git fetch origin {ref.rpartition('/')[2]}"
            raise UserError(error("BaseUnknown", "There is no such branch or commit.", f"git knows no {ref!r} here.", fix))
        return Commit(id=found.stdout.decode().strip())

    def merge_base(self, one: Commit, other: Commit) -> Commit:
        """The newest commit both have; UserError where there is none, or where the history was cut off before it."""
        found = self._asked("merge-base", one.id, other.id)
        if found.returncode:
            detail = f"{one.short} and {other.short} have no commit in common in this clone."
            fix = "A shallow clone lacks their history; fetch it (on GitHub: fetch-depth: 0):\n  git fetch --unshallow"
            raise UserError(error("BaseUnknown", "Nobody can say where the branch left base.", detail, fix))
        return Commit(id=found.stdout.decode().split()[0])

    def changed_files(self, before: Commit, after: Commit) -> tuple[str, ...]:
        """Files of the folder that differ between two commits, those only one of them has among them."""
        found = self._done("diff-tree", "-r", "-z", "--no-renames", "--name-only", "--relative", before.id, after.id)
        return tuple(name for name in found.decode("utf-8", "surrogateescape").split("\0") if name)

    def contents(self, commit: Commit, names: Iterable[str]) -> dict[str, bytes]:
        """The files of one commit by name; those it doesn't have are left out."""
        wanted = [name for name in names if "\n" not in name]
        if not wanted:
            return {}
        asked = "".join(f"{commit.id}:./{name}\n" for name in wanted).encode("utf-8", "surrogateescape")
        return dict(_blobs(self._done("cat-file", "--batch", given=asked), wanted))

    def commits_touching(self, since: Commit, until: Commit, name: str) -> tuple[Commit, ...]:
        """Commits on the first-parent line of ``until`` after ``since`` that touch a file, newest first."""
        found = self._done("rev-list", "--first-parent", "--format=%s", f"{since.id}..{until.id}", "--", f"./{name}")
        lines = found.decode("utf-8", "replace").splitlines()
        return tuple(
            Commit(id=head.removeprefix("commit "), subject=clean(subject)) for head, subject in zip(lines[::2], lines[1::2], strict=False)
        )

    def parent(self, commit: Commit) -> Commit | None:
        """The first parent; None for the first commit of all, and where the history was cut off."""
        found = self._asked("rev-parse", "--verify", "--quiet", f"{commit.id}^1")
        return Commit(id=found.stdout.decode().strip()) if not found.returncode else None

    def has(self, commit: Commit) -> bool:
        """True where this clone has the commit."""
        return not self._asked("cat-file", "-e", f"{commit.id}^{{commit}}").returncode

    def _refuse_no_repository(self) -> None:
        found = self._asked("rev-parse", "--is-inside-work-tree")
        if found.returncode:
            said = clean(found.stderr.decode("utf-8", "replace").strip().splitlines()[0]) if found.stderr.strip() else "git gave no reason"
            fix = "Plan in a clone of the repository, or without --base."
            raise UserError(error("BaseUnknown", "The project is in no git repository.", f"{self.folder}: {said}.", fix))

    def _done(self, *words: str, given: bytes = b"") -> bytes:
        found = self._asked(*words, given=given)
        if found.returncode:
            said = clean(found.stderr.decode("utf-8", "replace").strip()[:300])
            raise UserError(
                error("BaseUnknown", "Git could not say what base has.", f"git {words[0]}: {said}", "Run it by hand to see why.")
            )
        return found.stdout

    def _asked(self, *words: str, given: bytes = b"") -> subprocess.CompletedProcess[bytes]:
        try:
            return subprocess.run(
                ["git", "-C", str(self.folder), *_NOBODYS, *words],
                input=given,
                capture_output=True,
                env={**self.environment, **_QUIET},
                timeout=self.limit_seconds,
                check=False,
            )
        except FileNotFoundError:
            detail = "It is needed to compare with a branch."
            raise UserError(
                error("ProgramMissing", "git is not installed.", detail, "Install it, as root:\n  apt-get install git")
            ) from None
        except subprocess.TimeoutExpired:
            raise UserError(
                error("BaseUnknown", "Git gave no answer.", f"git {words[0]} took longer than {self.limit_seconds:g} s.")
            ) from None


def _blobs(answer: bytes, names: Iterable[str]) -> Iterable[tuple[str, bytes]]:
    """Of ``cat-file --batch``: a line each, ``<id> blob <size>`` and then so many bytes, or ``… missing``."""
    position = 0
    for name in names:
        end = answer.index(b"\n", position)
        head = answer[position:end].split(b" ")
        position = end + 1
        if head[-1] == b"missing" or len(head) != 3:
            continue
        size = int(head[2])
        if head[1] == b"blob":
            yield name, answer[position : position + size]
        position += size + 1
