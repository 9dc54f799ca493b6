"""Where words go, in which form, and that no secret is among them."""

from __future__ import annotations

import io
import json
from datetime import UTC, datetime, timedelta
from itertools import pairwise

from nodusctl.base.diagnostics import Span, error, warning
from nodusctl.base.exits import ExitCode
from nodusctl.base.ids import Address
from nodusctl.base.redaction import REDACTOR
from nodusctl.cli.output.json_lines import JsonOutput
from nodusctl.cli.output.progress_json import JsonProgress
from nodusctl.cli.output.progress_lines import LineProgress
from nodusctl.cli.output.progress_live import LiveProgress
from nodusctl.cli.output.streams import CleanStream
from nodusctl.cli.output.text import TextOutput
from nodusctl.ports.progress import ProgressReport

START = datetime(2026, 10, 26, 7, 0, tzinfo=UTC)


class HandWall:
    """A Wall moved by hand."""

    def __init__(self) -> None:
        self.seconds = 1000.0

    def now(self) -> datetime:
        return START + timedelta(seconds=self.seconds)

    def monotonic(self) -> float:
        return self.seconds

    def sleep(self, seconds: float) -> None:
        self.seconds += seconds


class ClosedPipe(io.StringIO):
    """A reader that has gone."""

    def write(self, text: str) -> int:
        raise BrokenPipeError


def report(name: str, step: str, *, is_over: bool = False, has_failed: bool = False) -> ProgressReport:
    return ProgressReport(
        time=START, address=Address("workspace", name), phase="Starting", step=step, is_over=is_over, has_failed=has_failed
    )


def text_output() -> tuple[TextOutput, io.StringIO, io.StringIO]:
    out, err = io.StringIO(), io.StringIO()
    return TextOutput(out, err, HandWall(), out_has_colour=False, err_has_colour=False), out, err


def test_results_go_to_stdout_and_everything_else_to_stderr() -> None:
    output, out, err = text_output()
    output.result("result", lambda style: "a result", dict)
    output.diagnose([warning("Odd", "something odd")])
    output.remark("by the way")
    assert out.getvalue() == "a result\n"
    assert err.getvalue() == "warning[Odd] something odd\nby the way\n"


def test_diagnostics_come_in_the_order_of_the_files() -> None:
    output, _, err = text_output()
    output.diagnose([error("B", "second", span=Span("b.yaml", 1, 1)), error("A", "first", span=Span("a.yaml", 9, 1))])
    assert err.getvalue().index("first") < err.getvalue().index("second")


def test_json_begins_with_the_version_and_ends_with_the_exit_code() -> None:
    out = io.StringIO()
    output = JsonOutput(out, HandWall())
    output.result("plan", lambda style: "", lambda: {"amount": "1.10"})
    output.finish(ExitCode.BLOCKED)
    lines = [json.loads(line) for line in out.getvalue().splitlines()]
    assert [line["type"] for line in lines] == ["version", "plan", "exit"]
    assert lines[2] == {"type": "exit", "code": 10, "name": "blocked"}


def test_a_secret_is_removed_from_text_and_from_json_also_where_json_would_escape_it() -> None:
    REDACTOR.remember('pa"ss\\word-77')
    output, out, _ = text_output()
    output.result("result", lambda style: 'it is pa"ss\\word-77', dict)
    stream = io.StringIO()
    JsonOutput(stream, HandWall()).result("result", lambda style: "", lambda: {"a": ['pa"ss\\word-77'], 'pa"ss\\word-77': 1})
    assert "word-77" not in out.getvalue() + stream.getvalue()


def test_a_reader_that_has_gone_ends_the_printing_and_not_the_command() -> None:
    stream = CleanStream(ClosedPipe())
    stream.line("nobody reads this")
    stream.line("nor this")


def test_without_a_terminal_there_is_one_line_in_ten_seconds() -> None:
    stream, wall = io.StringIO(), HandWall()
    progress = LineProgress(CleanStream(stream), wall)
    for second in range(31):
        progress.report(report("lab", f"step {second}"))
        progress.pulse()
        wall.sleep(1)
    lines = stream.getvalue().splitlines()
    assert len(lines) == 3
    assert lines[0] == "0 of 1 done; workspace/lab Starting: step 1 (0s)"


def test_a_line_counts_all_objects_a_pass_told_of() -> None:
    stream, wall = io.StringIO(), HandWall()
    progress = LineProgress(CleanStream(stream), wall)
    wall.sleep(5)
    for name in ("lab", "two"):
        progress.report(report(name, "booting"))
    progress.pulse()
    assert stream.getvalue().startswith("0 of 2 done; ")


def test_nothing_is_said_before_anything_is_going_on() -> None:
    stream, wall = io.StringIO(), HandWall()
    progress = LineProgress(CleanStream(stream), wall)
    wall.sleep(60)
    progress.pulse()
    assert stream.getvalue() == ""


def test_json_progress_has_a_heartbeat_within_every_ten_seconds_of_silence() -> None:
    said: list[tuple[float, str]] = []
    wall = HandWall()
    progress = JsonProgress(lambda kind, fields: said.append((wall.seconds, kind)), wall)
    progress.report(report("lab", "waiting for ssh"))
    for _ in range(600):
        wall.sleep(1)
        progress.pulse()
    moments = [moment for moment, _ in said]
    assert all(later - earlier <= 10 for earlier, later in pairwise(moments))
    assert {kind for _, kind in said} == {"progress", "heartbeat"}


def test_the_same_report_twice_is_one_line() -> None:
    said: list[str] = []
    progress = JsonProgress(lambda kind, fields: said.append(kind), HandWall())
    progress.report(report("lab", "booting"))
    progress.report(report("lab", "booting"))
    assert said == ["progress"]


def test_on_a_terminal_what_is_over_leaves_the_lines_to_the_result() -> None:
    stream = io.StringIO()
    progress = LiveProgress(stream, HandWall(), has_colour=False)
    progress.report(report("lab", "booting"))
    progress.report(report("lab", "ready", is_over=True))
    progress.close()
    assert "workspace/lab" in stream.getvalue(), "it was drawn while it lasted"
    assert "ok workspace/lab" not in stream.getvalue(), "and is told once, by the result"
