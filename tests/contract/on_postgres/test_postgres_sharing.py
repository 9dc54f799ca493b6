"""A state that many processes, accounts and computers share: readers, writers, their turns and their clocks."""

from __future__ import annotations

import os
import signal
import threading
import time
from dataclasses import replace
from datetime import datetime, timedelta

import pytest
from psycopg import errors
from support.postgres import Server, wait_until
from support.postgres_states import a_writer, ask, founded, holds_whole_steps, one_step, opened

from nodusctl.base.clock import SystemWall
from nodusctl.base.exits import UserError
from nodusctl.ports.claims import Liveness, Locked
from nodusctl.ports.journal import Stale
from nodusctl.testing.store_hooks import LIMIT, a_capture, a_consumption, an_opening, foreign_holder

pytestmark = pytest.mark.slow


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
                one_step(state, number)
            with state.journal.books() as books:
                seen = []
                for entry in books.entries():
                    seen.append(entry)
                    one_step(other, 10 + len(seen))
                    assert len(list(books.attempts())) == 3
        assert len(seen) == 6


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
            one_step(state, 1)
            claim = state.claims.preempt("uid-lab", "launch", LIMIT)
            with pytest.raises(errors.UniqueViolation):
                state.journal.open(replace(an_opening(claim, 2), entries=(a_capture(1),)))
            one_step(state, 3)
            with state.journal.books() as books:
                assert books.rows_gone() == {}

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


def test_a_thousand_objects_load_in_order(url: str) -> None:
    """By bytes, whatever the server's language would make of dashes and capitals."""
    names = [f"w{number:04}" for number in range(1000)]
    founded(url, *reversed(names))
    with opened(url) as state:
        snapshot = state.journal.snapshot()
        assert [standing.record.address.name for standing in snapshot] == names
        loaded = state.journal.load_many(standing.record.uid for standing in snapshot)
    assert [stored.record for stored in loaded.values()] == [standing.record for standing in snapshot]
