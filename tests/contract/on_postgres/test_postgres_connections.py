"""What a lost connection, a lost commit and a server that is away come to, and that no password is said."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from datetime import datetime, timedelta
from pathlib import Path

import pytest
from support.postgres import Server, wait_until
from support.postgres_states import a_writer, founded, holds_whole_steps, opened, refusal_of
from support.postgres_wire import Cut, a_wire

from nodusctl.base.clock import SystemWall
from nodusctl.base.exits import ExitCode, UserError
from nodusctl.store import postgres_channel, postgres_connecting
from nodusctl.testing.store_hooks import LIMIT, a_consumption, an_opening

pytestmark = pytest.mark.slow
PASSWORD = "s3cret/with%odd:signs"


class CountedWall:
    """A wall whose sleeps cost no time but count as time that has passed; ``after_first_sleep`` happens while somebody sleeps."""

    def __init__(self, after_first_sleep: Callable[[], object] | None = None) -> None:
        self.slept_seconds, self._then = 0.0, after_first_sleep

    def now(self) -> datetime:
        return SystemWall().now() + timedelta(seconds=self.slept_seconds)

    def sleep(self, seconds: float) -> None:
        self.slept_seconds += seconds
        if self._then is not None:
            self._then()
            self._then = None

    def monotonic(self) -> float:
        return SystemWall().monotonic() + self.slept_seconds


class TestLostConnections:
    def test_a_writer_cut_off_in_its_turn_writes_once(self, postgres: Server, url: str) -> None:
        founded(url)
        with opened(url) as state:
            claim = state.claims.claim("uid-lab", "launch", LIMIT)
            assert claim is not None
            postgres.ask("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name LIKE 'nodusctl:%'")
            state.journal.open(an_opening(claim))
            assert [entry.id for entry in state.journal.entries()] == ["hold-1"]

    def test_a_reader_cut_off_asks_again(self, postgres: Server, url: str) -> None:
        founded(url)
        with opened(url, read_only=True) as state:
            assert state.journal.snapshot().serial == 1
            postgres.ask("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name LIKE 'nodusctl:%'")
            assert state.journal.snapshot().serial == 1

    @pytest.mark.parametrize("cut", [Cut.BEFORE, Cut.AFTER])
    def test_a_commit_whose_answer_was_lost_is_made_once(
        self, postgres: Server, url: str, cut: Cut, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """Whether the server got it or not: it is asked what became of the transaction, and only one that failed is made again.

        A server that didn't get it has the transaction open until it finds out that nobody is there.
        """
        monkeypatch.setattr(postgres_channel, "_SETTINGS", postgres_channel._SETTINGS.replace("'15s'", "'1s'"))
        founded(url)
        with a_wire(postgres) as wire, opened(wire.url(url)) as state:
            claim = state.claims.claim("uid-lab", "launch", LIMIT)
            assert claim is not None
            wire.cut = cut
            state.journal.open(an_opening(claim))
            assert wire.lost == 1
            version = state.journal.version()
            assert [entry.id for entry in state.journal.entries()] == ["hold-1"]
            assert [intent.id for intent in state.journal.open_intents()] == ["intent-1"]
            wire.cut = cut
            assert state.journal.consume(a_consumption("other", number=2, serial=1)) == 2
            assert (wire.lost, state.journal.version()) == (2, version), "a commit of one's own is no news"

    def test_a_server_that_starts_again_costs_a_moment(self, postgres: Server, url: str) -> None:
        """A power cut of the server in the middle of another process's steps: it goes on, and its steps are whole."""
        founded(url)
        writer = a_writer(url, "steps")
        assert writer.stdout is not None
        assert writer.stdout.readline().strip() == "working"
        time.sleep(0.3)
        postgres.restart("immediate")
        with opened(url) as state:
            before = len(state.journal.attempts())
            wait_until(lambda: len(state.journal.attempts()) > before)
            writer.kill()
            writer.wait()
            holds_whole_steps(state)

    def test_a_server_that_stays_away_is_told_after_a_while(self, postgres: Server, url: str, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(postgres_connecting, "PATIENCE_SECONDS", 0.5)
        founded(url)
        with a_wire(postgres) as wire, opened(wire.url(url)) as state:
            claim = state.claims.claim("uid-lab", "launch", LIMIT)
            assert claim is not None
            wire.close()
            (wire.folder / ".s.PGSQL.5432").unlink()
            wire.cut = Cut.BEFORE
            with pytest.raises(UserError) as refusal:
                state.journal.open(an_opening(claim))
            told = refusal.value.diagnostics[0]
            assert (told.code, told.summary) == ("StateUnreachable", "The state's server was lost in the middle of a commit.")
        with opened(url) as state:
            assert state.journal.entries() == ()

    def test_no_server_at_all_is_told_as_soon_as_one_could_have_started(self, tmp_path: Path) -> None:
        wall = CountedWall()
        told = refusal_of(f"postgresql://ada:{'x' * 9}@/lab?host={tmp_path}", wall=wall).diagnostics[0]
        assert told.code == "StateUnreachable"
        assert str(tmp_path) in told.detail
        assert 0 < wall.slept_seconds <= postgres_connecting.FIRST_PATIENCE_SECONDS + postgres_connecting.PAUSE_SECONDS

    def test_a_server_that_comes_back_in_a_moment_is_waited_for_by_the_very_first_connection(self, postgres: Server, url: str) -> None:
        founded(url)
        with a_wire(postgres) as wire:
            socket_path = wire.folder / ".s.PGSQL.5432"
            away = socket_path.rename(wire.folder / "away")
            wall = CountedWall(after_first_sleep=lambda: away.rename(socket_path))
            with opened(wire.url(url), wall=wall, read_only=True) as state:
                assert state.journal.snapshot().serial == 1
            assert wall.slept_seconds == postgres_connecting.PAUSE_SECONDS

    @pytest.mark.parametrize(
        "wrong",
        [{"user": "nobody-here"}, {"database": "nothing-here"}, {"host": "no-such-host.invalid"}],
        ids=["account", "database", "name"],
    )
    def test_what_waiting_mends_nothing_of_is_told_at_once(self, postgres: Server, wrong: dict[str, str]) -> None:
        url = postgres.url(wrong.get("database", "postgres"), user=wrong.get("user", "nodus"))
        if "host" in wrong:
            url = f"postgresql://nodus@{wrong['host']}/postgres"
        wall = CountedWall()
        assert refusal_of(url, wall=wall).diagnostics[0].code == "StateUnreachable"
        assert wall.slept_seconds == 0

    def test_a_reader_of_many_rows_begins_anew_where_its_idle_connection_was_lost(self, postgres: Server, url: str) -> None:
        founded(url)
        with opened(url, read_only=True) as state:
            assert state.journal.snapshot().serial == 1
            postgres.restart("fast")
            with state.journal.books() as books:
                assert books.rows_gone() == {}

    def test_a_turn_that_never_ends_is_told(self, postgres: Server, url: str, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(
            postgres_channel, "_SETTINGS", postgres_channel._SETTINGS.replace("lock_timeout = '20s'", "lock_timeout = '50ms'")
        )
        founded(url)
        with postgres.in_state(url) as blocker, opened(url) as state:
            blocker.execute("BEGIN")
            blocker.execute("UPDATE turns SET commits = commits + 1")
            with pytest.raises(UserError) as refusal:
                state.claims.claim("uid-lab", "stop", LIMIT)
            assert (refusal.value.diagnostics[0].code, refusal.value.exit_code) == ("StateBusy", ExitCode.LOCKED)
            blocker.execute("ROLLBACK")
            assert state.claims.claim("uid-lab", "stop", LIMIT) is not None, "the connection is as good as before"


class TestPasswords:
    def test_a_password_is_in_nothing_that_is_said(self, postgres: Server, tmp_path: Path) -> None:
        from urllib.parse import quote

        for place in (
            f"postgresql://ada:{quote(PASSWORD, safe='')}@/lab?host={tmp_path}",
            f"postgresql:///lab?host={tmp_path}&user=ada&password={quote(PASSWORD, safe='')}",
            f"postgresql://ada:{PASSWORD}@localhost:1/lab",
            f"postgresql://ada:{quote(PASSWORD, safe='')}@[::1/lab",
            f"postgresql://nodus:{quote(PASSWORD, safe='')}@/nowhere?host={postgres.folder}",
        ):
            told = refusal_of(place)
            said = " ".join(f"{one.summary} {one.detail} {one.fix}" for one in told.diagnostics)
            for part in (PASSWORD, quote(PASSWORD, safe=""), "s3cret"):
                assert part not in said

    def test_facts_have_no_password(self, postgres: Server, url: str) -> None:
        with opened(url.replace("nodus@", "nodus:s3cret@")) as state:
            state.journal.consume(a_consumption())
            assert "s3cret" not in str(state.journal.facts())
            assert "***" in state.journal.facts()["url"]


def test_a_missing_driver_is_told_with_the_command(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "psycopg", None)
    with pytest.raises(UserError) as refusal, opened("postgresql://ada@db/lab"):
        pass
    assert "pip install 'nodusctl[postgres]'" in refusal.value.diagnostics[0].fix
