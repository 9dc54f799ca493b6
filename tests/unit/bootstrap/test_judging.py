"""What counts as use of a machine, judged from two looks."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import pytest

from nodusctl.bootstrap.agent import judging, samples
from nodusctl.bootstrap.agent.samples import Carried, Meter, Sample, Terminal, Work

TICKS = 100
WALL = 1_700_000_000.0


def at(clock: float, **found: Any) -> Sample:
    return Sample(clock=clock, wall=WALL + clock, **found)


def a_terminal(read: float, written: float, name: str = "pts/0", *, is_attached: bool = True) -> Terminal:
    return Terminal(name, WALL + read, WALL + written, "bash", f"/dev/{name}", is_attached)


def a_work(pid: int, ticks: int, ended: int = 0, parent: int = 1, command: str = "python train.py") -> Work:
    return Work(f"{pid}:1", pid, parent, ticks, ended, command)


def a_login(total: int) -> Meter:
    return Meter("ssh", "17", total, 8192, "input for rsync")


def kinds(before: Sample, after: Sample) -> list[str]:
    return [fact.kind for fact in judging.facts_between(before, after, TICKS)]


def test_nothing_seen_is_an_idle_minute() -> None:
    assert kinds(at(0), at(60)) == []


def test_a_silent_terminal_is_none_and_a_key_or_a_line_is_use_at_its_own_time() -> None:
    silent = at(0, terminals=(a_terminal(-50, -50),))
    assert kinds(silent, at(60, terminals=(a_terminal(-50, -50),))) == []
    for read, written in ((20, -50), (-50, 20)):
        facts = judging.facts_between(silent, at(60, terminals=(a_terminal(read, written),)), TICKS)
        assert [(fact.kind, fact.detail, fact.clock) for fact in facts] == [("ssh", "bash on pts/0", 20)]


def test_a_new_terminal_is_use_but_never_before_the_look_before() -> None:
    facts = judging.facts_between(at(100), at(160, terminals=(a_terminal(-999, -999),)), TICKS)
    assert [fact.clock for fact in facts] == [100]


@pytest.mark.parametrize("jump", [-86400, 86400])
def test_a_jump_of_the_wall_clock_neither_makes_nor_moves_use(jump: float) -> None:
    silent = at(0, terminals=(a_terminal(-50, -50),))
    later = Sample(clock=60, wall=WALL + 60 + jump, terminals=(a_terminal(-50, -50),))
    assert judging.facts_between(silent, later, TICKS) == []
    typed = later._replace(terminals=(a_terminal(20, -50),))
    assert 0 <= judging.facts_between(silent, typed, TICKS)[0].clock <= 60


@pytest.mark.parametrize(("more", "expected"), [(8192, []), (8193, ["ssh"])])
def test_a_login_is_use_above_8_kib_in_the_time_between(more: int, expected: list[str]) -> None:
    assert kinds(at(0, meters=(a_login(50_000),)), at(60, meters=(a_login(50_000 + more),))) == expected


def test_what_a_login_carries_to_a_tool_is_the_tools_to_judge() -> None:
    before = at(0, meters=(a_login(10_000),), carried=(Carried("t", "17", 500),))
    polled = at(60, meters=(a_login(60_000),), carried=(Carried("t", "17", 45_000), Carried("u", "17", 4_000)))
    assert kinds(before, polled) == []
    edited = polled._replace(meters=(a_login(80_000),))
    assert kinds(before, edited) == ["ssh"]


def test_a_counter_that_began_again_counts_from_zero() -> None:
    requests = Meter("tool", "requests 8888", 40, 0, "Jupyter: a request")
    assert kinds(at(0, meters=(requests,)), at(60, meters=(requests,))) == []
    assert kinds(at(0, meters=(requests,)), at(60, meters=(requests._replace(total=2),))) == ["tool"]
    assert kinds(at(0, meters=(requests,)), at(60, meters=(requests._replace(total=0),))) == []


@pytest.mark.parametrize(("ticks", "expected"), [(600, []), (601, ["cpu"])])
def test_computing_is_use_above_a_tenth_of_a_core(ticks: int, expected: list[str]) -> None:
    assert kinds(at(0, works=(a_work(7, 1000),)), at(60, works=(a_work(7, 1000 + ticks),))) == expected


def test_the_busiest_process_is_the_evidence() -> None:
    after = at(60, works=(a_work(7, 700, command="make"), a_work(8, 900, command="python train.py")))
    assert judging.facts_between(at(0), after, TICKS)[0].detail == "python train.py"


def test_children_that_came_and_went_count_once() -> None:
    shell = a_work(7, 10, 5)
    assert kinds(at(0, works=(shell,)), at(60, works=(a_work(7, 10, 5 + 900),))) == ["cpu"]
    child = a_work(8, 900, parent=7)
    collected = at(60, works=(a_work(7, 10, 5 + 900),))
    assert kinds(at(0, works=(shell, child)), collected) == []


def test_registered_processes_and_busy_cards_are_use() -> None:
    assert kinds(at(0), at(60, processes=("train",))) == ["process"]
    assert kinds(at(0), at(60, graphics=(("GPU 0", 5),))) == []
    facts = judging.facts_between(at(0), at(60, graphics=(("GPU 0", 6),)), TICKS)
    assert [(fact.kind, fact.detail) for fact in facts] == [("gpu", "GPU 0 at 6 %")]


def test_a_look_is_made_each_minute_and_exactly_at_a_warning_and_at_the_deadline() -> None:
    hour, far = 3600, 1e9
    assert judging.next_look(0, hour, hour, far, now=0) == 60
    assert judging.next_look(2980, hour - 2980, hour, far, now=2980) == 3000
    assert judging.next_look(3590, hour - 3590, hour, far, now=3590) == 3600
    assert judging.next_look(0, None, None, 630, now=0) == 30
    # A look at the deadline that brought nothing is made again in time, not at once.
    assert judging.next_look(3600, -1, hour, far, now=3601) == 3660


def test_a_short_timeout_is_looked_at_more_often_and_warned_of_later() -> None:
    assert judging.look_every(None) == judging.look_every(3600) == judging.look_every(600) == 60
    assert judging.look_every(100) == 20
    assert (judging.idle_lead(3600), judging.idle_lead(600)) == (600, 300)


def test_each_attached_terminal_is_told_once_of_each_deadline() -> None:
    here, elsewhere = a_terminal(0, 0), a_terminal(0, 0, "pts/1", is_attached=False)
    assert judging.unwarned((here, elsewhere), {}, 100.0) == [here]
    assert judging.unwarned((here,), {"pts/0": 100.02}, 100.0) == []
    assert judging.unwarned((here,), {"pts/0": 100.0}, 160.0) == [here]


def test_a_sample_survives_its_way_as_text() -> None:
    sample = at(
        1.5,
        terminals=(a_terminal(1, 2),),
        works=(a_work(7, 1),),
        meters=(a_login(3),),
        carried=(Carried("t", "17", 4),),
        processes=("train",),
        graphics=(("GPU 0", 93),),
    )
    assert samples.sample_from(samples.text_of(sample)) == sample


def follow(minutes: list[Sample], timeout: int) -> float | None:
    """The minute after which a machine with this timeout stops; None where it never does."""
    last = 0.0
    for before, after in pairwise(minutes):
        facts = judging.facts_between(before, after, TICKS)
        last = max([last, *(fact.clock for fact in facts)])
        if judging.is_over(judging.remaining_seconds(last, timeout, after.clock)):
            return after.clock / 60
    return None


def test_keep_alives_and_an_open_page_do_not_keep_a_machine() -> None:
    """Ninety minutes of an editor's keep-alives (about 3 KiB a minute) and of a page that only polls: it stops after sixty."""
    minutes = [
        at(
            60 * n,
            meters=(a_login(9000 + 3000 * n), a_login(9000 + 53_000 * n)._replace(key="18")),
            carried=(Carried("t", "18", 51_000 * n),),
        )
        for n in range(91)
    ]
    assert follow(minutes, 3600) == 60


def test_training_without_a_login_keeps_a_machine_for_hours() -> None:
    minutes = [at(60 * n, works=(a_work(7, 5900 * n),)) for n in range(301)]
    assert follow(minutes, 3600) is None


def test_an_attached_but_silent_terminal_keeps_nothing() -> None:
    minutes = [at(0), *(at(60 * n, terminals=(a_terminal(30, 30),)) for n in range(1, 121))]
    assert follow(minutes, 3600) == 61
