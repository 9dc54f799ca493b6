"""What a run of GitHub Actions shows beside its log: annotations at the lines of a pull request, and the summary page of the step.

Annotations go to stderr, which a runner reads like stdout, so that stdout stays what ``--json`` promises. The summary is the file
``GITHUB_STEP_SUMMARY`` (docs.github.com "Workflow commands"): at most 1 MiB a step, what is longer isn't shown at all.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from pathlib import Path
from typing import TextIO

from nodusctl.base.diagnostics import Diagnostic, in_order
from nodusctl.base.redaction import clean
from nodusctl.cli.output.beside import Quiet
from nodusctl.cli.output.protocol import NOTHING_BESIDE, Aside, Document, Text
from nodusctl.cli.output.streams import CleanStream
from nodusctl.render.diagnostics_markdown import diagnostics_markdown
from nodusctl.render.github_commands import annotation

MOST_BYTES = 1_000_000


class GitHubOutput(Quiet):
    """``path_of`` turns a file's name into its path in the repository; ``summary`` is None where the runner wants none."""

    def __init__(self, stderr: TextIO, summary: Path | None, path_of: Callable[[str], str]) -> None:
        self._err, self._summary, self._path_of = CleanStream(stderr), summary, path_of

    def diagnose(self, diagnostics: Iterable[Diagnostic]) -> None:
        said = in_order(tuple(diagnostics))
        self._annotate(said)
        self._sum_up(diagnostics_markdown(said))

    def result(self, kind: str, text: Text, document: Document, aside: Aside = NOTHING_BESIDE) -> None:
        self._annotate(aside.findings())
        if aside.markdown is not None:
            self._sum_up(aside.markdown())

    def _annotate(self, diagnostics: Iterable[Diagnostic]) -> None:
        for one in diagnostics:
            self._err.raw(annotation(one, self._path_of(one.span.file) if one.span else "") + "\n")

    def _sum_up(self, markdown: str) -> None:
        """Whole or not at all, because a step that has too much shows nothing. Where the file can't be written no command fails."""
        if self._summary is None or not markdown:
            return
        page = f"{clean(markdown)}\n\n".encode("utf-8", "replace")
        try:
            there = self._summary.stat().st_size if self._summary.exists() else 0
            if there + len(page) <= MOST_BYTES:
                with self._summary.open("ab") as file:
                    file.write(page)
        except OSError:
            self._summary = None
