"""Work that takes long is said to go on, in words and as JSON; quick work says nothing."""

from __future__ import annotations

import io
import json
import threading

from nodusctl.base.clock import SystemWall
from nodusctl.cli.output.json_lines import JsonOutput
from nodusctl.cli.output.slow import told_when_slow
from nodusctl.cli.output.text import TextOutput


class _Announcing(io.StringIO):
    """A stream that tells when something was written."""

    def __init__(self) -> None:
        super().__init__()
        self.written = threading.Event()

    def flush(self) -> None:
        super().flush()
        self.written.set()


def test_slow_work_says_what_it_does_on_stderr() -> None:
    out, err = io.StringIO(), _Announcing()
    output = TextOutput(out, err, SystemWall(), out_has_colour=False, err_has_colour=False)
    with told_when_slow(output, SystemWall(), "asking the providers", first_seconds=0.01):
        assert err.written.wait(10)
    assert err.getvalue().startswith("asking the providers … ")
    assert out.getvalue() == ""


def test_slow_work_is_a_heartbeat_for_programs() -> None:
    out = _Announcing()
    with told_when_slow(JsonOutput(out, SystemWall()), SystemWall(), "planning", first_seconds=0.01):
        assert out.written.wait(10)
    lines = [json.loads(line) for line in out.getvalue().splitlines()]
    assert lines[1]["type"] == "heartbeat"
    assert lines[1]["waiting"][0]["step"] == "planning"


def test_quick_work_says_nothing() -> None:
    err = io.StringIO()
    output = TextOutput(io.StringIO(), err, SystemWall(), out_has_colour=False, err_has_colour=False)
    with told_when_slow(output, SystemWall(), "planning"):
        pass
    assert err.getvalue() == ""
