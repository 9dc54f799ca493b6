"""Words for programs: one JSON object a line on stdout, the version first and the exit code last; stderr stays empty."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any, TextIO

from nodusctl import __version__
from nodusctl.base.clock import Wall
from nodusctl.base.diagnostics import Diagnostic, in_order
from nodusctl.base.exits import ExitCode
from nodusctl.base.timestamps import format_time
from nodusctl.cli.output.protocol import NOTHING_BESIDE, Aside, Document, Text, code_with
from nodusctl.cli.output.streams import CleanStream
from nodusctl.render.diagnostics import diagnostic_document, diagnostic_text
from nodusctl.render.redacted import redacted
from nodusctl.render.stream_format import FORMAT_VERSION
from nodusctl.render.style import PLAIN

if TYPE_CHECKING:
    from nodusctl.ports.progress import Progress


class JsonOutput:
    """Money and times are strings; a reader skips types it doesn't know. ``complaints`` hears that ``stdout`` took no more."""

    def __init__(
        self,
        stdout: TextIO,
        wall: Wall,
        *,
        name: str = "stdout",
        complaints: TextIO | None = None,
        defused: Callable[[str], str] = str,
    ) -> None:
        self._out, self._wall, self._name = CleanStream(stdout), wall, name
        self._complaints, self._defused = complaints, defused
        self._has_begun = False

    def result(self, kind: str, text: Text, document: Document, aside: Aside = NOTHING_BESIDE) -> None:
        self._say(kind, dict(document()))

    def diagnose(self, diagnostics: Iterable[Diagnostic]) -> None:
        for diagnostic in in_order(tuple(diagnostics)):
            self._say("diagnostic", diagnostic_document(diagnostic))

    def remark(self, text: str) -> None:
        """Remarks are for people."""

    def still(self, what: str, seconds: int) -> None:
        self._say("heartbeat", {"time": format_time(self._wall.now()), "waiting": [{"step": what, "seconds": seconds}]})

    def progress(self) -> Progress:
        from nodusctl.cli.output.progress_json import JsonProgress

        return JsonProgress(self._say, self._wall)

    def finish(self, code: ExitCode) -> ExitCode:
        self._say("exit", {"code": int(code), "name": code.label})
        if self._complaints is not None:
            for fault in self.lost():
                CleanStream(self._complaints).line(diagnostic_text(fault, PLAIN))
        return code_with(self.lost(), code)

    def lost(self) -> tuple[Diagnostic, ...]:
        return self._out.lost(self._name)

    def _say(self, kind: str, fields: dict[str, Any]) -> None:
        if not self._has_begun:
            self._has_begun = True
            self._write("version", {"nodusctl": __version__, "format": FORMAT_VERSION})
        self._write(kind, fields)

    def _write(self, kind: str, fields: dict[str, Any]) -> None:
        self._out.raw(self._defused(json.dumps({"type": kind, **redacted(fields)}, ensure_ascii=False)) + "\n")
