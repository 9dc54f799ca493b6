"""Words for programs: one JSON object a line on stdout, the version first and the exit code last; stderr stays empty."""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any, TextIO

from nodusctl import __version__
from nodusctl.base.clock import Wall
from nodusctl.base.diagnostics import Diagnostic, in_order
from nodusctl.base.exits import ExitCode
from nodusctl.base.timestamps import format_time
from nodusctl.cli.output.protocol import Document, Text
from nodusctl.cli.output.streams import CleanStream
from nodusctl.render.diagnostics import diagnostic_document
from nodusctl.render.redacted import redacted

if TYPE_CHECKING:
    from nodusctl.ports.progress import Progress

FORMAT_VERSION = 1


class JsonOutput:
    """Money and times are strings; a reader skips types it doesn't know."""

    def __init__(self, stdout: TextIO, wall: Wall) -> None:
        self._out, self._wall = CleanStream(stdout), wall
        self._has_begun = False

    def result(self, kind: str, text: Text, document: Document) -> None:
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

    def finish(self, code: ExitCode) -> None:
        self._say("exit", {"code": int(code), "name": code.label})

    def _say(self, kind: str, fields: dict[str, Any]) -> None:
        if not self._has_begun:
            self._has_begun = True
            self._write("version", {"nodusctl": __version__, "format": FORMAT_VERSION})
        self._write(kind, fields)

    def _write(self, kind: str, fields: dict[str, Any]) -> None:
        self._out.raw(json.dumps({"type": kind, **redacted(fields)}, ensure_ascii=False) + "\n")
