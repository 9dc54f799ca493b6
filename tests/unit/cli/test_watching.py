"""``get -w``: first all, then what changed, and nothing of a provider."""

from __future__ import annotations

import io
from pathlib import Path

from support.commands import STATE_KEY, CommandLine

from nodusctl.cli.surroundings import Surroundings
from nodusctl.cli.watching import watch
from nodusctl.cli.wiring import Wiring
from nodusctl.cli.words import wanted_of
from nodusctl.engine.inspect_selector import parse_selector


class _Hands:
    """A wall whose sleeping is the moment somebody else runs a command."""

    def __init__(self, *acts: object) -> None:
        self._acts = list(acts)

    def now(self) -> object:
        from datetime import UTC, datetime

        return datetime.now(UTC)

    def monotonic(self) -> float:
        return 0.0

    def sleep(self, seconds: float) -> None:
        if self._acts:
            self._acts.pop(0)()  # type: ignore[operator]


def _watched(cli: CommandLine, form: str, *acts: object) -> str:
    out = io.StringIO()
    around = Surroundings(
        environment={"NODUSCTL_STATE_KEY": STATE_KEY},
        arguments=("get",),
        folder=Path(cli.folder),
        stdin=io.StringIO(),
        stdout=out,
        stderr=io.StringIO(),
    )
    wiring = Wiring(around)
    wiring.wall = _Hands(*acts)  # type: ignore[assignment]
    output = wiring.output(is_json=False)
    watch(wanted_of(["ws"]), parse_selector(""), form, wiring, output, rounds=len(acts) + 1)
    wiring.close()
    return out.getvalue()


def test_a_watcher_sees_the_state_come_to_be_change_and_go(cli: CommandLine) -> None:
    columns = "custom-columns=NAME:.metadata.name,PHASE:.status.phase"
    acts = (
        lambda: cli("apply", "--yes"),
        lambda: None,
        lambda: cli("stop", "lab"),
        lambda: cli("destroy", "--yes"),
    )
    lines = [line.split() for line in _watched(cli, columns, *acts).splitlines()]
    assert lines == [["NAME", "PHASE"], ["lab", "Running"], ["lab", "Stopped"], ["lab", "Deleted"]]


def test_a_watcher_prints_heads_once_in_a_table(cli: CommandLine) -> None:
    cli("apply", "--yes")
    shown = _watched(cli, "", lambda: cli("stop", "lab"))
    assert shown.count("NAME") == 1
    assert [line.split()[1] for line in shown.splitlines()[1:]] == ["Running", "Stopped"]


def test_a_watcher_asks_no_provider(cli: CommandLine) -> None:
    cli("apply", "--yes")
    before = cli("sim", "calls", "--count").out
    _watched(cli, "name", lambda: None, lambda: None)
    assert cli("sim", "calls", "--count").out == before
