"""Reports for programs that collect findings: JUnit and SARIF, each in a file of its own, written once at the end.

A report is written whole or not at all, whatever ended the command; so a file that is there always tells of this run.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path

from nodusctl.base.diagnostics import Diagnostic, error
from nodusctl.base.exits import ExitCode, UserError
from nodusctl.cli.output.beside import Quiet
from nodusctl.cli.output.protocol import NOTHING_BESIDE, Aside, Document, Text
from nodusctl.engine.plan_files import write_whole
from nodusctl.render.findings import Findings

PathOf = Callable[[str], str]


def _junit(found: Findings, path_of: PathOf) -> str:
    from nodusctl.render.junit import junit_text

    return junit_text(found, path_of)


def _sarif(found: Findings, path_of: PathOf) -> str:
    from nodusctl.render.sarif import sarif_document

    return json.dumps(sarif_document(found, path_of), indent=2, ensure_ascii=False) + "\n"


_WRITERS: Mapping[str, Callable[[Findings, PathOf], str]] = {"--junit": _junit, "--sarif": _sarif}


class ReportFile(Quiet):
    """``option`` is --junit or --sarif. UserError (64) where nothing can be written to ``path``."""

    def __init__(self, option: str, path: Path, command: str, path_of: PathOf) -> None:
        if path.is_dir() or not path.parent.is_dir() or not os.access(path.parent, os.W_OK):
            detail = f"{path}: {'it is a folder' if path.is_dir() else 'its folder is not there, or not yours to write to'}."
            fix = f"name a file in a folder that is there: {option} {path.name or 'FILE'}"
            raise UserError(error("Usage", f"{option} can't be written", detail, fix), exit_code=ExitCode.USAGE)
        self._option, self._path, self._command, self._path_of = option, path, command, path_of
        self._said: list[Diagnostic] = []
        self._files: list[str] = []
        self._fault: OSError | None = None

    def diagnose(self, diagnostics: Iterable[Diagnostic]) -> None:
        self._said += diagnostics

    def result(self, kind: str, text: Text, document: Document, aside: Aside = NOTHING_BESIDE) -> None:
        self._said += aside.findings()
        self._files += aside.files()

    def finish(self, code: ExitCode) -> ExitCode:
        found = Findings(command=self._command, files=tuple(self._files), diagnostics=tuple(self._said))
        try:
            write_whole(self._path, _WRITERS[self._option](found, self._path_of))
        except OSError as fault:
            self._fault = fault
        return super().finish(code)

    def lost(self) -> tuple[Diagnostic, ...]:
        if self._fault is None:
            return ()
        return (error("OutputLost", "What was said could not all be written", f"{self._path}: {self._fault.strerror}."),)
