"""Bands of start times: from this state's own newest starts once there are 8 of an offering, else the provider's priors."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from pathlib import Path

import pytest
from support.commands import CommandLine
from support.history import Past, session, terms_of, write_history
from support.planning import WS, plan

from nodusctl.base.clock import SystemWall
from nodusctl.base.exits import ExitCode
from nodusctl.engine import history
from nodusctl.engine.history import Startups, past_startups
from nodusctl.store.opening import open_state
from nodusctl.store.sealing import KeyMaterial


@pytest.fixture
def startups(tmp_path: Path) -> Callable[..., Startups]:
    """What a state with these pasts says."""

    def asked(*pasts: Past) -> Startups:
        write_history(tmp_path / "state.db", 0, pasts=pasts)
        key = KeyMaterial(text="a key for tests, long enough to be taken")
        with open_state("sqlite:///state.db", root=tmp_path, key=key, wall=SystemWall(), holder_command="test", read_only=True) as state:
            return past_startups(state.journal)

    return asked


def test_starts_are_kept_apart_by_provider_and_offering(startups: Callable[..., Startups]) -> None:
    here, there = terms_of(0), terms_of(0, provider="other")
    pasts = [session(number, terms=terms, boots=timedelta(seconds=number)) for number, terms in enumerate((here, here, there), start=1)]
    assert startups(*pasts) == {
        ("sim", "cpu-0"): (timedelta(seconds=2), timedelta(seconds=1)),
        ("other", "cpu-0"): (timedelta(seconds=3),),
    }


def test_only_the_newest_are_looked_at(startups: Callable[..., Startups], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(history, "NEWEST", 2)
    pasts = [session(number, terms=terms_of(0), boots=timedelta(seconds=number)) for number in range(1, 6)]
    assert startups(*pasts) == {("sim", "cpu-0"): (timedelta(seconds=5), timedelta(seconds=4))}


def test_an_attempt_that_never_got_ready_is_no_start(startups: Callable[..., Startups]) -> None:
    assert startups(Past(events=session(1).events[:4], entries=())) == {}


@pytest.mark.parametrize(("starts", "source", "p90"), [(7, "prior", "1m"), (8, "from 8 starts", "1m28s")])
def test_a_plan_says_whether_a_band_is_from_history_or_a_prior(starts: int, source: str, p90: str) -> None:
    spans = tuple(timedelta(seconds=80 + number) for number in range(1, starts + 1))
    line = plan(WS, startups={("sim", "cpu-4c-16g-us"): spans}).costs[0]
    assert line.band_source == source
    assert line.estimate["startup"]["cold"]["p90"] == p90


def test_the_past_of_another_provider_says_nothing_about_this_one() -> None:
    spans = (timedelta(minutes=10),) * 20
    line = plan(WS, startups={("elsewhere", "cpu-4c-16g-us"): spans}).costs[0]
    assert line.band_source == "prior"


def test_eight_sessions_later_the_plan_of_a_new_workspace_learns_from_them(cli: CommandLine) -> None:
    assert cli("apply", "--yes").code is ExitCode.DONE
    for _ in range(7):
        assert cli("stop", "lab").code is ExitCode.DONE
        assert cli("start", "lab").code is ExitCode.DONE
    assert cli("stop", "lab").code is ExitCode.DONE
    text = (cli.folder / "ws.yaml").read_text().split("---")[0]
    cli.write("other.yaml", text.replace("name: lab", "name: other").replace("volume: lab-home", "ephemeral: true"))
    assert "ready in about 45s, p90 45s (from 8 starts)" in cli("plan").out
