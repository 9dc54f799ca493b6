"""Rule R13: one token bucket an account, shared between processes, and a platform's own Retry-After before it."""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from support.planning import OFFERS, described

from nodusctl.base.clock import SystemWall
from nodusctl.plugins.loading import loaded
from nodusctl.plugins.throttle import Throttle
from nodusctl.provider.contract import Description, RateLimit
from nodusctl.provider.replies import Done, Refused, Scope
from nodusctl.testing.conformance_hooks import a_context
from nodusctl.testing.store_hooks import MovedWall

SECOND = timedelta(seconds=1)
ONE_A_SECOND = RateLimit(every=SECOND)
LAUNCHES = RateLimit(every=12 * SECOND, operations=frozenset({"launch"}))


@dataclass
class Cloud:
    """A platform that counts its calls and answers the next ones as it was told."""

    limits: tuple[RateLimit, ...] = (ONE_A_SECOND,)
    account: str = "a"
    calls: list[str] = field(default_factory=list)
    replies: list[Any] = field(default_factory=list)

    def describe(self) -> Description:
        return described(type="cloud", account=self.account, rate_limits=self.limits)

    def _reply(self, name: str) -> Any:
        self.calls.append(name)
        return self.replies.pop(0) if self.replies else Done(OFFERS[:1])

    def offers(self, query: object) -> Any:
        return self._reply("offers")

    def launch(self, request: object) -> Any:
        return self._reply("launch")

    def list(self) -> Any:
        return self._reply("list")

    def check(self) -> tuple[()]:
        self.calls.append("check")
        return ()


@pytest.fixture
def wall() -> Iterator[MovedWall]:
    yield MovedWall()


def calls_of(cloud: Cloud, folder: Path, wall: Any) -> Any:
    """Its calls, as a process of this user makes them."""
    return loaded("cloud", cloud, a_context(folder, wall=wall)).calls  # type: ignore[arg-type]


def test_calls_go_out_as_often_as_the_platform_takes_them_and_a_burst_at_once(tmp_path: Path, wall: MovedWall) -> None:
    cloud = Cloud(limits=(RateLimit(every=SECOND, burst=3),))
    calls, at = calls_of(cloud, tmp_path, wall), []
    for _ in range(5):
        assert isinstance(calls.list(), Done)
        at.append(wall.monotonic())
    assert at == [0, 0, 0, 1, 2]
    wall.sleep(60)
    for _ in range(3):
        calls.list()
    assert wall.monotonic() == 62, "what was not used is saved up to a burst, and no further"


def test_two_processes_of_one_account_share_its_bucket_and_another_account_has_its_own(tmp_path: Path, wall: MovedWall) -> None:
    here, there, other = Cloud(), Cloud(), Cloud(account="b")
    calls_of(here, tmp_path, wall).list()
    calls_of(other, tmp_path, wall).list()
    assert wall.monotonic() == 0
    calls_of(there, tmp_path, wall).list()
    assert wall.monotonic() == 1


def test_four_real_processes_together_make_no_more_calls_than_one_may(tmp_path: Path) -> None:
    limit = RateLimit(every=timedelta(milliseconds=50))
    throttle = Throttle(tmp_path, described(rate_limits=(limit,)), SystemWall())
    begun = SystemWall().monotonic()
    throttle.take("list")
    children = []
    for _ in range(4):
        child = os.fork()
        if not child:
            for _ in range(5):
                throttle.take("list")
            os._exit(0)
        children.append(child)
    assert [os.waitpid(child, 0)[1] for child in children] == [0] * 4
    assert SystemWall().monotonic() - begun >= 20 * 0.05 - 0.01


def test_a_wait_that_is_long_is_a_refusal_with_the_time_to_come_back_and_no_call(tmp_path: Path, wall: MovedWall) -> None:
    cloud = Cloud(limits=(LAUNCHES,))
    calls = calls_of(cloud, tmp_path, wall)
    calls.launch(None)
    refused = calls.launch(None)
    assert isinstance(refused, Refused)
    assert (refused.code, refused.scope, refused.retry_after) == ("TooManyRequests", Scope.ACCOUNT, 12 * SECOND)
    assert "in 12s" in refused.message and cloud.calls == ["launch"]
    assert isinstance(calls.list(), Done) and wall.monotonic() == 0, "another call has no such limit"
    wall.sleep(12)
    assert isinstance(calls.launch(None), Done)


def test_the_platforms_own_word_goes_first_and_is_heard_by_every_process(tmp_path: Path, wall: MovedWall) -> None:
    cloud, other = Cloud(limits=(LAUNCHES,)), Cloud(limits=(LAUNCHES,))
    cloud.replies = [Refused(code="TooManyRequests", retry_after=timedelta(minutes=2))]
    calls_of(cloud, tmp_path, wall).launch(None)
    wall.sleep(60)
    refused = calls_of(other, tmp_path, wall).launch(None)
    assert isinstance(refused, Refused) and refused.retry_after == timedelta(minutes=1) and other.calls == []
    wall.sleep(60)
    assert isinstance(calls_of(other, tmp_path, wall).launch(None), Done)


def test_other_refusals_and_other_calls_ask_for_no_patience(tmp_path: Path, wall: MovedWall) -> None:
    cloud = Cloud(limits=(LAUNCHES,))
    cloud.replies = [
        Refused(code="Unavailable", retry_after=timedelta(minutes=2)),
        Refused(code="TooManyRequests", retry_after=60 * SECOND),
    ]
    calls = calls_of(cloud, tmp_path, wall)
    calls.offers(None)
    assert isinstance(calls.offers(None), Refused)
    assert cloud.calls == ["offers", "offers"]
    assert isinstance(calls.launch(None), Done), "a stop or a launch isn't held up by what was said of offers"


@pytest.mark.parametrize("content", ["", "{", "[1]", '{"* 1": "tomorrow"}', '{"* 1": "2199-01-01T00:00:00Z"}'])
def test_a_bucket_that_says_nothing_sensible_holds_nobody_up_for_long(tmp_path: Path, wall: MovedWall, content: str) -> None:
    cloud = Cloud()
    calls = calls_of(cloud, tmp_path, wall)
    calls.list()
    (bucket,) = (tmp_path / "user" / "rates").iterdir()
    assert bucket.stat().st_mode & 0o777 == 0o600
    bucket.write_text(content)
    refused = calls.list()
    wall.sleep(12 if isinstance(refused, Refused) else 0)
    assert isinstance(calls.list(), Done)
    assert wall.monotonic() <= 25


def test_without_limits_or_a_place_to_keep_them_calls_go_out_as_they_are(tmp_path: Path, wall: MovedWall) -> None:
    free = Cloud(limits=())
    calls_of(free, tmp_path, wall).list()
    assert not (tmp_path / "user" / "rates").exists()
    (tmp_path / "user").mkdir(exist_ok=True)
    (tmp_path / "user" / "rates").write_text("in the way")
    limited = Cloud()
    calls = calls_of(limited, tmp_path, wall)
    calls.list()
    calls.list()
    assert (limited.calls, wall.monotonic()) == (["list", "list"], 0)


def test_what_is_no_call_of_the_platform_takes_no_turn(tmp_path: Path, wall: MovedWall) -> None:
    cloud = Cloud(limits=(RateLimit(every=timedelta(hours=1)),))
    found = loaded("cloud", cloud, a_context(tmp_path, wall=wall))  # type: ignore[arg-type]
    assert found.check is not None
    found.check.check()
    found.check.check()
    assert (cloud.calls, wall.monotonic()) == (["check", "check"], 0)
