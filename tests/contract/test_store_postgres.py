"""What only a store on a server must hold: other computers, lost connections, lost commits, accounts, schemas, passwords."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from datetime import datetime, timedelta
from pathlib import Path

import psycopg
import pytest
from psycopg import errors
from sqlalchemy import create_engine
from sqlalchemy.pool import NullPool
from support.postgres import Server, wait_until
from support.postgres_wire import Cut, a_wire

from nodusctl.attempts.attempt import fold
from nodusctl.attempts.intents import IntentState
from nodusctl.base.clock import SystemWall, Wall
from nodusctl.base.exits import ExitCode, UserError
from nodusctl.ports.claims import Liveness, Locked
from nodusctl.ports.journal import Closing, Stale
from nodusctl.store import migrating, postgres_channel, postgres_connecting, postgres_database
from nodusctl.store.opening import State, open_state
from nodusctl.store.revision import REVISION
from nodusctl.store.sealing import KeyMaterial
from nodusctl.testing.store_hooks import LIMIT, STATE_KEY, a_capture, a_consumption, an_opening, foreign_holder

pytestmark = pytest.mark.slow
HERE = Path(__file__).parent
PASSWORD = "s3cret/with%odd:signs"


@pytest.fixture(autouse=True)
def _own_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where a project would be: what is kept of a state goes there."""
    monkeypatch.chdir(tmp_path)


@pytest.fixture
def url(postgres: Server) -> str:
    """A place where no state is yet."""
    return postgres.new_state()


@contextmanager
def opened(url: str, *, read_only: bool = False, wall: Wall | None = None, **changes: object) -> Iterator[State]:
    key = KeyMaterial(text=STATE_KEY)
    state = open_state(
        url, root=Path.cwd(), key=key, wall=wall or SystemWall(), holder_command="nodusctl apply", read_only=read_only, **changes
    )  # type: ignore[arg-type]
    with state:
        yield state


def founded(url: str, *names: str) -> None:
    with opened(url) as state:
        state.journal.consume(a_consumption(*names))


def refusal_of(url: str, *, read_only: bool = True, wall: Wall | None = None) -> UserError:
    with opened(url, read_only=read_only, wall=wall) as state, pytest.raises(UserError) as refusal:
        state.journal.snapshot()
    return refusal.value


def a_writer(url: str, what: str) -> subprocess.Popen[str]:
    return subprocess.Popen([sys.executable, str(HERE / "store_writer.py"), "/", what, url], stdout=subprocess.PIPE, text=True)


def ask(postgres: Server, url: str, statement: str) -> list[tuple[object, ...]]:
    with postgres.in_state(url) as connection:
        cursor = connection.execute(statement.encode())
        return cursor.fetchall() if cursor.description is not None else []


class TestReaders:
    def test_reading_a_state_that_is_not_there_makes_nothing(self, postgres: Server, url: str) -> None:
        with opened(url, read_only=True) as state:
            assert not state.journal.exists()
            assert (state.journal.snapshot().serial, state.claims.plan_lock(), state.passes.latest()) == (0, None, ())
        assert ask(postgres, url, "SELECT tablename FROM pg_tables WHERE schemaname = current_schema()") == []

    def test_a_refused_first_plan_makes_nothing(self, postgres: Server, url: str) -> None:
        with opened(url) as state, pytest.raises(Stale):
            state.journal.consume(a_consumption(serial=4))
        assert ask(postgres, url, "SELECT tablename FROM pg_tables WHERE schemaname = current_schema()") == []

    def test_a_reader_never_writes(self, url: str) -> None:
        founded(url)
        with opened(url, read_only=True) as state:
            with pytest.raises(RuntimeError):
                state.journal.consume(a_consumption(number=2, serial=1))
            with pytest.raises(RuntimeError):
                state.claims.claim("uid-lab", "stop", LIMIT)

    def test_an_account_that_may_only_look_can_look(self, postgres: Server, url: str) -> None:
        founded(url)
        schema = str(ask(postgres, url, "SELECT current_schema()")[0][0])
        postgres.ask("DROP ROLE IF EXISTS looker")
        postgres.ask("CREATE ROLE looker LOGIN")
        postgres.ask(f"GRANT USAGE ON SCHEMA {schema} TO looker; GRANT SELECT ON ALL TABLES IN SCHEMA {schema} TO looker")
        theirs = url.replace("://nodus@", "://looker@")
        with opened(theirs) as state:
            assert state.journal.snapshot().serial == 1
            with pytest.raises(UserError) as refusal:
                state.claims.claim("uid-lab", "stop", LIMIT)
        assert refusal.value.diagnostics[0].code == "StateNotUsable"
        postgres.ask("DROP OWNED BY looker; DROP ROLE looker")

    def test_books_are_walked_without_being_held(self, url: str) -> None:
        """A walk inside a walk, each row as of the moment the first began."""
        founded(url)
        with opened(url) as state, opened(url) as other:
            for number in range(1, 4):
                _one_step(state, number)
            with state.journal.books() as books:
                seen = []
                for entry in books.entries():
                    seen.append(entry)
                    _one_step(other, 10 + len(seen))
                    assert len(list(books.attempts())) == 3
        assert len(seen) == 6


def _one_step(state: State, number: int) -> None:
    claim = state.claims.preempt("uid-lab", "launch", LIMIT)
    opening = an_opening(claim, number)
    state.journal.open(opening)
    state.journal.close(Closing(claim=claim, intent=replace(opening.intent, state=IntentState.CLOSED), entries=(a_capture(number),)))


class TestOtherProcesses:
    def test_a_writer_killed_anywhere_leaves_whole_steps(self, url: str) -> None:
        founded(url)
        for moment in (0.3, 0.45, 0.6):
            writer = a_writer(url, "steps")
            assert writer.stdout is not None
            assert writer.stdout.readline().strip() == "working"
            time.sleep(moment)
            os.kill(writer.pid, signal.SIGKILL)
            writer.wait()
            with opened(url) as state:
                holds_whole_steps(state)

    def test_two_processes_start_one_plan_once(self, url: str) -> None:
        """They also make the tables at the same time."""
        writers = [a_writer(url, "consume") for _ in range(4)]
        outcomes = sorted(writer.communicate(timeout=60)[0].strip() for writer in writers)
        assert outcomes == ["consumed", "consumed", "consumed", "done"]
        with opened(url) as state:
            assert state.journal.snapshot().serial == 1

    def test_two_processes_share_one_object(self, url: str) -> None:
        founded(url)
        writers = [a_writer(url, "claim-in-turns") for _ in range(2)]
        fences = [fence for writer in writers for fence in writer.communicate(timeout=120)[0].split()]
        assert sorted(map(int, fences)) == list(range(1, 31))

    def test_a_killed_process_of_this_host_is_seen_as_dead(self, url: str) -> None:
        founded(url)
        writer = a_writer(url, "open-and-hang")
        assert writer.stdout is not None
        assert writer.stdout.readline().strip() == "hanging"
        with opened(url) as state:
            assert state.claims.claimed()[0][3] is Liveness.ALIVE
            writer.kill()
            writer.wait()
            wait_until(lambda: state.claims.claimed()[0][3] is Liveness.DEAD)
            assert state.claims.claim("uid-lab", "stop", LIMIT) is not None

    def test_numbers_have_no_gaps_where_transactions_failed(self, url: str) -> None:
        """Rows are counted by their numbers, so one that is gone is noticed, and one that was never written isn't missed."""
        founded(url)
        with opened(url) as state:
            _one_step(state, 1)
            claim = state.claims.preempt("uid-lab", "launch", LIMIT)
            with pytest.raises(errors.UniqueViolation):
                state.journal.open(replace(an_opening(claim, 2), entries=(a_capture(1),)))
            _one_step(state, 3)
            with state.journal.books() as books:
                assert books.rows_gone() == {}


class LateWall(SystemWall):
    """The clock of a computer that is an hour late."""

    def now(self) -> datetime:
        return super().now() - timedelta(hours=1)


class EarlyWall(SystemWall):
    """And of one that is an hour ahead."""

    def now(self) -> datetime:
        return super().now() + timedelta(hours=1)


class TestOtherComputers:
    def test_a_claim_lasts_as_long_as_it_says_whatever_clocks_say(self, url: str) -> None:
        """A computer whose clock is an hour ahead takes nothing over early, and one that is late doesn't keep it for long."""
        founded(url)
        with opened(url, wall=LateWall(), holder=foreign_holder()) as theirs, opened(url, wall=EarlyWall()) as ours:
            claim = theirs.claims.claim("uid-lab", "launch", LIMIT)
            assert claim is not None
            assert ours.claims.claim("uid-lab", "stop", LIMIT) is None
            theirs.claims.heartbeat(claim)
            lock_id = theirs.claims.take_plan_lock("nodusctl apply", timedelta(0))
            with pytest.raises(Locked) as refusal:
                ours.claims.take_plan_lock("nodusctl apply", timedelta(0))
            age = refusal.value.seen_at - refusal.value.lock.started_at
            assert abs(age) < timedelta(minutes=1)
            assert (refusal.value.lock.id, refusal.value.lock.liveness) == (lock_id, Liveness.UNKNOWN)

    def test_who_is_connected_can_be_seen_on_the_server(self, postgres: Server, url: str) -> None:
        founded(url)
        with opened(url) as state:
            state.journal.snapshot()
            names = [str(name) for (name,) in postgres.ask("SELECT application_name FROM pg_stat_activity")]
        assert any(name.startswith("nodusctl: ") and "@" in name for name in names)


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

    def test_threads_of_one_process_write_in_turns(self, url: str) -> None:
        founded(url, *(f"w{number}" for number in range(8)))
        with opened(url) as state:

            def work(number: int) -> None:
                claim = state.claims.claim(f"uid-w{number}", "launch", LIMIT)
                assert claim is not None
                state.journal.open(an_opening(claim, number + 1))

            threads = [threading.Thread(target=work, args=(number,)) for number in range(8)]
            for thread in threads:
                thread.start()
            for thread in threads:
                thread.join()
            assert len(state.journal.entries()) == 8


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


def holds_whole_steps(state: State) -> None:
    journal = state.journal
    attempts, entries = journal.attempts(), journal.entries()
    holds = {entry.attempt_uid for entry in entries if entry.id.startswith("hold")}
    captures = {entry.attempt_uid for entry in entries if entry.id.startswith("capture")}
    open_ones = {intent.attempt_uid for intent in journal.open_intents()}
    assert {attempt.uid for attempt in attempts} == holds == captures | open_ones
    assert len(captures & open_ones) == 0
    assert attempts == fold(row.event for row in journal.events())
    with journal.books() as books:
        assert books.rows_gone() == {}


class TestSchema:
    def test_migrations_make_the_same_schema_as_a_fresh_state(self, postgres: Server, url: str) -> None:
        def schema(url: str) -> list[list[str]]:
            own = str(ask(postgres, url, "SELECT current_schema()")[0][0])
            questions = (
                "SELECT table_name, column_name, data_type, collation_name, is_nullable, column_default FROM information_schema.columns "
                "WHERE table_schema = current_schema() ORDER BY 1, 2",
                "SELECT tgname, pg_get_triggerdef(oid) FROM pg_trigger WHERE NOT tgisinternal AND tgrelid IN "
                "(SELECT oid FROM pg_class WHERE relnamespace = current_schema()::regnamespace) ORDER BY 1",
                "SELECT conname, pg_get_constraintdef(oid) FROM pg_constraint "
                "WHERE connamespace = current_schema()::regnamespace ORDER BY 1",
                "SELECT indexdef FROM pg_indexes WHERE schemaname = current_schema() ORDER BY 1",
                "SELECT sequencename FROM pg_sequences WHERE schemaname = current_schema()",
                "SELECT name, last FROM numbers ORDER BY 1",
                "SELECT revision FROM turns",
            )
            found = [[str(row).replace(own, "S") for row in ask(postgres, url, question)] for question in questions]
            return [[row for row in rows if "alembic_version" not in row] for rows in found]

        migrated = postgres.new_state()
        with opened(url) as state:
            state.claims.claim("uid-lab", "launch", LIMIT)
        engine = create_engine("postgresql+psycopg://", creator=lambda: psycopg.connect(migrated), poolclass=NullPool)
        with engine.begin() as connection:
            migrating.upgrade(connection)
            assert migrating.revision_of(connection) == REVISION
        assert schema(migrated) == schema(url)

    @pytest.mark.parametrize("table", ["journal", "entries", "postings"])
    @pytest.mark.parametrize("change", ["UPDATE {} SET object_uid = 'x'", "DELETE FROM {}", "TRUNCATE {}"])
    def test_the_past_is_append_only(self, postgres: Server, url: str, table: str, change: str) -> None:
        founded(url)
        with opened(url) as state:
            _one_step(state, 1)
        with pytest.raises(errors.IntegrityError, match="append-only"):
            ask(postgres, url, change.format(table))

    def test_a_row_that_was_removed_behind_the_triggers_is_missed(self, postgres: Server, url: str) -> None:
        founded(url)
        with opened(url) as state:
            _one_step(state, 1)
            ask(postgres, url, "ALTER TABLE entries DISABLE TRIGGER USER")
            ask(postgres, url, "DELETE FROM entries WHERE id = 'capture-1'")
            with state.journal.books() as books:
                assert books.rows_gone() == {"entries": 1}

    def test_a_newer_state_is_refused_also_in_mid_work(self, postgres: Server, url: str) -> None:
        """A colleague with a newer version brings the tables up while we are at work: from then on we write nothing."""
        founded(url)
        with opened(url) as state:
            assert state.journal.snapshot().serial == 1
            ask(postgres, url, "UPDATE alembic_version SET version_num = '9999'; UPDATE turns SET revision = '9999'")
            with pytest.raises(UserError) as refusal:
                state.claims.claim("uid-lab", "stop", LIMIT)
            assert refusal.value.diagnostics[0].code == "StateNewer"
        for read_only in (True, False):
            assert refusal_of(url, read_only=read_only).diagnostics[0].code == "StateNewer"

    def test_another_programs_tables_are_left_alone(self, postgres: Server, url: str) -> None:
        """Its own alembic_version too."""
        ask(postgres, url, "CREATE TABLE bookmarks (id INTEGER); CREATE TABLE alembic_version (version_num TEXT)")
        for read_only in (True, False):
            assert refusal_of(url, read_only=read_only).diagnostics[0].code == "StateUnreadable"
        with opened(url) as state, pytest.raises(UserError):
            state.claims.claim("uid-lab", "stop", LIMIT)
        tables = ask(postgres, url, "SELECT tablename FROM pg_tables WHERE schemaname = current_schema() ORDER BY 1")
        assert tables == [("alembic_version",), ("bookmarks",)]

    def test_an_older_state_is_brought_up_by_writers_only(self, url: str, monkeypatch: pytest.MonkeyPatch) -> None:
        founded(url)
        for module in (postgres_database, migrating):
            monkeypatch.setattr(module, "REVISION", "a later one")
        assert refusal_of(url).diagnostics[0].code == "StateOlder"
        with opened(url) as state:
            assert state.journal.snapshot().serial == 1
            assert state.claims.claim("uid-lab", "stop", LIMIT) is not None
            assert [(one.why, one.serial) for one in state.copies.backups()] == [("before-upgrade", 1)]

    def test_two_states_in_one_database_know_nothing_of_each_other(self, postgres: Server) -> None:
        first, second = postgres.new_state(), postgres.new_state()
        founded(first)
        with opened(second) as state:
            assert not state.journal.exists()
            assert state.journal.consume(a_consumption("other")) == 1
        with opened(first) as state:
            assert [str(one.record.address) for one in state.journal.snapshot()] == ["workspace/lab"]

    def test_a_database_of_another_encoding_is_told(self, postgres: Server) -> None:
        postgres.ask("CREATE DATABASE narrow ENCODING 'LATIN1' LOCALE 'C' TEMPLATE template0")
        told = refusal_of(postgres.url("narrow")).diagnostics[0]
        assert (told.code, "LATIN1" in told.detail) == ("StateNotUsable", True)


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


def test_a_thousand_objects_load_in_order(url: str) -> None:
    """By bytes, whatever the server's language would make of dashes and capitals."""
    names = [f"w{number:04}" for number in range(1000)]
    founded(url, *reversed(names))
    with opened(url) as state:
        snapshot = state.journal.snapshot()
        assert [standing.record.address.name for standing in snapshot] == names
        loaded = state.journal.load_many(standing.record.uid for standing in snapshot)
    assert [stored.record for stored in loaded.values()] == [standing.record for standing in snapshot]


def test_a_missing_driver_is_told_with_the_command(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "psycopg", None)
    with pytest.raises(UserError) as refusal, opened("postgresql://ada@db/lab"):
        pass
    assert "pip install 'nodusctl[postgres]'" in refusal.value.diagnostics[0].fix
