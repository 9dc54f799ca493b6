"""What only a store on disk must hold: bytes that readers leave alone, kills, other processes, other programs' files."""

from __future__ import annotations

import os
import signal
import sqlite3
import subprocess
import sys
import time
from dataclasses import replace
from datetime import timedelta
from pathlib import Path

import pytest
from sqlalchemy import create_engine
from support.open_states import kept

from nodusctl.attempts.attempt import fold
from nodusctl.base.exits import ExitCode, UserError
from nodusctl.ports.claims import Liveness
from nodusctl.ports.journal import Closing, Stale
from nodusctl.store import channels, connections, migrating
from nodusctl.store.codec import encode
from nodusctl.store.opening import State, open_state
from nodusctl.store.revision import REVISION
from nodusctl.store.sealing import KeyMaterial
from nodusctl.testing.store_hooks import LIMIT, STATE_KEY, MovedWall, a_capture, a_consumption, a_hold, an_intent, an_opening

URL = "sqlite:///.nodus/state.db"
CANARY = "canary-5b0e-in-no-file"
HERE = Path(__file__).parent


def opened(root: Path, *, read_only: bool = False, key: KeyMaterial | None = None) -> State:
    material = key or KeyMaterial(text=STATE_KEY)
    return kept(open_state(URL, root=root, key=material, wall=MovedWall(), holder_command="nodusctl apply", read_only=read_only))


def a_state(root: Path, *names: str) -> State:
    state = opened(root)
    state.journal.consume(a_consumption(*names))
    return state


def fingerprint(path: Path) -> tuple[bytes, int]:
    return path.read_bytes(), path.stat().st_mtime_ns


def read_everything(state: State) -> None:
    journal = state.journal
    journal.snapshot(), journal.events(), journal.entries(), journal.attempts(), journal.operations(), journal.facts()
    journal.load("uid-lab"), journal.open_intents(), journal.secret("service-key"), state.claims.plan_lock(), state.claims.claimed()
    state.close()


def a_writer(root: Path, what: str) -> subprocess.Popen[str]:
    """Another process that works on the state under ``root`` (see ``store_writer.py``)."""
    return subprocess.Popen([sys.executable, str(HERE / "store_writer.py"), str(root), what], stdout=subprocess.PIPE, text=True)


class TestReaders:
    def test_reading_a_missing_state_creates_nothing_and_loads_no_sqlalchemy(self, tmp_path: Path) -> None:
        writer = a_writer(tmp_path, "read-nothing")
        output, _ = writer.communicate(timeout=60)
        assert output.strip() == "False 0 False"
        assert list(tmp_path.iterdir()) == []

    def test_a_reader_never_writes(self, tmp_path: Path) -> None:
        a_state(tmp_path).close()
        for state in (opened(tmp_path, read_only=True), opened(tmp_path / "elsewhere", read_only=True)):
            with pytest.raises(RuntimeError):
                state.journal.consume(a_consumption(number=2, serial=1 if state.journal.exists() else 0))
            with pytest.raises(RuntimeError):
                state.claims.claim("uid-lab", "stop", LIMIT)

    @pytest.mark.parametrize("read_only", [True, False])
    def test_reads_leave_the_file_as_it_is(self, tmp_path: Path, read_only: bool) -> None:
        a_state(tmp_path).close()
        before = fingerprint(tmp_path / ".nodus/state.db")
        read_everything(opened(tmp_path, read_only=read_only))
        assert fingerprint(tmp_path / ".nodus/state.db") == before

    def test_reads_after_a_killed_writer_leave_both_files_as_they_are(self, tmp_path: Path) -> None:
        a_state(tmp_path).close()
        writer = a_writer(tmp_path, "open-and-hang")
        assert writer.stdout is not None
        assert writer.stdout.readline().strip() == "hanging"
        writer.kill()
        writer.wait()
        files = [tmp_path / ".nodus/state.db", tmp_path / ".nodus/state.db-wal"]
        assert files[1].stat().st_size > 0
        before = [fingerprint(file) for file in files]
        state = opened(tmp_path, read_only=True)
        assert [intent.id for intent in state.journal.open_intents()] == ["intent-1"]
        read_everything(state)
        assert [fingerprint(file) for file in files] == before

    def test_a_refused_plan_touches_no_byte(self, tmp_path: Path) -> None:
        a_state(tmp_path).close()
        before = fingerprint(tmp_path / ".nodus/state.db")
        state = opened(tmp_path)
        with pytest.raises(Stale):
            state.journal.consume(a_consumption())
        state.close()
        assert fingerprint(tmp_path / ".nodus/state.db") == before

    def test_a_refused_first_plan_makes_no_file(self, tmp_path: Path) -> None:
        with pytest.raises(Stale):
            opened(tmp_path).journal.consume(a_consumption(serial=4))
        assert list(tmp_path.iterdir()) == []

    def test_the_state_is_private_and_out_of_version_control(self, tmp_path: Path) -> None:
        a_state(tmp_path)
        assert {path.stat().st_mode & 0o777 for path in (tmp_path / ".nodus").glob("state.db*")} == {0o600}
        assert (tmp_path / ".nodus/.gitignore").read_text() == "*\n"


class TestOtherProcesses:
    def test_a_writer_killed_anywhere_leaves_whole_steps(self, tmp_path: Path) -> None:
        a_state(tmp_path).close()
        for moment in (0.3, 0.45, 0.6):
            writer = a_writer(tmp_path, "steps")
            assert writer.stdout is not None
            assert writer.stdout.readline().strip() == "working"
            time.sleep(moment)
            os.kill(writer.pid, signal.SIGKILL)
            writer.wait()
            self._holds_whole_steps(opened(tmp_path))

    def _holds_whole_steps(self, state: State) -> None:
        journal = state.journal
        attempts, entries = journal.attempts(), journal.entries()
        holds = {entry.attempt_uid for entry in entries if entry.id.startswith("hold")}
        captures = {entry.attempt_uid for entry in entries if entry.id.startswith("capture")}
        open_ones = {intent.attempt_uid for intent in journal.open_intents()}
        assert {attempt.uid for attempt in attempts} == holds == captures | open_ones
        assert len(captures & open_ones) == 0
        assert attempts == fold(row.event for row in journal.events())
        assert sum(posting.amount.micro for entry in entries for posting in entry.postings) == 0
        state.close()
        with sqlite3.connect(state.path) as connection:
            assert connection.execute("PRAGMA integrity_check").fetchone() == ("ok",)
        connection.close()

    def test_two_processes_start_one_plan_once(self, tmp_path: Path) -> None:
        writers = [a_writer(tmp_path, "consume") for _ in range(4)]
        outcomes = sorted(writer.communicate(timeout=60)[0].strip() for writer in writers)
        assert outcomes == ["consumed", "consumed", "consumed", "done"]
        assert opened(tmp_path).journal.snapshot().serial == 1

    def test_two_processes_share_one_object(self, tmp_path: Path) -> None:
        a_state(tmp_path).close()
        writers = [a_writer(tmp_path, "claim-in-turns") for _ in range(2)]
        fences = [fence for writer in writers for fence in writer.communicate(timeout=120)[0].split()]
        assert len(fences) == 2 * 15
        assert sorted(map(int, fences)) == list(range(1, 31))

    def test_a_killed_process_is_seen_as_dead(self, tmp_path: Path) -> None:
        state = a_state(tmp_path)
        writer = a_writer(tmp_path, "open-and-hang")
        assert writer.stdout is not None
        assert writer.stdout.readline().strip() == "hanging"
        assert state.claims.claimed()[0][3] is Liveness.ALIVE
        assert state.claims.claim("uid-lab", "stop", LIMIT) is None
        writer.kill()
        while state.claims.claimed()[0][3] is not Liveness.DEAD:
            time.sleep(0.01)
        # Not waited for until here: a process nobody has reaped yet counts as dead too.
        writer.wait()
        assert state.claims.claim("uid-lab", "stop", LIMIT) is not None

    def test_a_lock_written_by_hand_is_judged(self, tmp_path: Path) -> None:
        state = a_state(tmp_path)
        holder = state.claims.take_plan_lock("nodusctl apply", timedelta(0))
        with sqlite3.connect(state.path) as connection:
            connection.execute("UPDATE plan_lock SET id = 'by-hand', pid = 999999999, start_ticks = 0, boot_id = ''")
        connection.close()
        lock = state.claims.plan_lock()
        assert lock is not None
        assert (lock.id, lock.liveness) == ("by-hand", Liveness.DEAD)
        assert not state.claims.unlock(holder)
        assert state.claims.unlock("by-hand")


class TestSchema:
    def test_migrations_make_the_same_schema_as_a_fresh_state(self, tmp_path: Path) -> None:
        def schema(path: Path) -> list[tuple[str, ...]]:
            connection = sqlite3.connect(path)
            rows = connection.execute("SELECT type, name, tbl_name, sql FROM sqlite_master ORDER BY type, name").fetchall()
            connection.close()
            return [tuple(" ".join(str(part).split()) for part in row) for row in rows]

        a_state(tmp_path).close()
        engine = create_engine(f"sqlite:///{tmp_path}/migrated.db")
        with engine.begin() as connection:
            migrating.upgrade(connection)
            assert migrating.revision_of(connection) == REVISION
        engine.dispose()
        fresh, migrated = schema(tmp_path / ".nodus/state.db"), schema(tmp_path / "migrated.db")
        assert [row for row in migrated if row[1] != "alembic_version"] == [row for row in fresh if row[1] != "alembic_version"]

    def test_a_migration_keeps_the_ledger_and_its_months(self, tmp_path: Path) -> None:
        """Postings of a state from before the month stood beside them count in the month they are dated in."""
        from alembic import command

        engine = create_engine(f"sqlite:///{tmp_path}/migrated.db")
        with engine.begin() as connection:
            command.upgrade(migrating._configuration(connection), "0002")
            hold = a_hold()
            connection.exec_driver_sql(
                "INSERT INTO entries (id, object_uid, attempt_uid, body) VALUES (?, ?, ?, ?)",
                (hold.id, hold.object_uid, hold.attempt_uid, encode(hold)),
            )
            columns = "entry_id, position, object_uid, side, account, amount_micro"
            values = (hold.id, 1, hold.object_uid, "held", "held:attempt-1", 4_400_000)
            connection.exec_driver_sql(f"INSERT INTO postings ({columns}) VALUES (?, ?, ?, ?, ?, ?)", values)
            migrating.upgrade(connection)
            rows = connection.exec_driver_sql("SELECT month, side, amount_micro FROM postings").fetchall()
        engine.dispose()
        assert [tuple(row) for row in rows] == [("2026-10", "held", 4_400_000)]

    def test_a_migrated_state_works(self, tmp_path: Path) -> None:
        (tmp_path / ".nodus").mkdir()
        engine = create_engine(f"sqlite:///{tmp_path}/.nodus/state.db")
        with engine.begin() as connection:
            migrating.upgrade(connection)
        engine.dispose()
        state = opened(tmp_path)
        assert not state.journal.exists()
        assert state.journal.consume(a_consumption()) == 1

    @pytest.mark.parametrize("table", ["journal", "entries", "postings"])
    @pytest.mark.parametrize("change", ["UPDATE {} SET object_uid = 'x'", "DELETE FROM {}"])
    def test_the_past_is_append_only(self, tmp_path: Path, table: str, change: str) -> None:
        state = a_state(tmp_path)
        claim = state.claims.claim("uid-lab", "launch", LIMIT)
        assert claim is not None
        state.journal.open(an_opening(claim))
        connection = sqlite3.connect(state.path)
        with pytest.raises(sqlite3.IntegrityError, match="append-only"):
            connection.execute(change.format(table))
        connection.close()

    def test_a_newer_state_is_refused_untouched(self, tmp_path: Path) -> None:
        state = a_state(tmp_path)
        state.close()
        connection = sqlite3.connect(state.path)
        connection.execute("UPDATE alembic_version SET version_num = '9999'")
        connection.commit()
        connection.close()
        before = fingerprint(state.path)
        for read_only in (True, False):
            with opened(tmp_path, read_only=read_only) as later, pytest.raises(UserError) as refusal:
                later.journal.snapshot()
            assert refusal.value.diagnostics[0].code == "StateNewer"
        with opened(tmp_path) as later, pytest.raises(UserError):
            later.claims.claim("uid-lab", "stop", LIMIT)
        assert fingerprint(state.path) == before

    @pytest.mark.parametrize("content", [b"kind: Workspace\n", b"SQLite format 3\x00" + b"\x00garbage" * 200])
    def test_a_file_that_is_no_state_is_told(self, tmp_path: Path, content: bytes) -> None:
        (tmp_path / ".nodus").mkdir()
        path = tmp_path / ".nodus/state.db"
        path.write_bytes(content)
        for read_only in (True, False):
            with opened(tmp_path, read_only=read_only) as state, pytest.raises(UserError) as refusal:
                state.journal.exists()
            assert refusal.value.diagnostics[0].code == "StateUnreadable"
        assert path.read_bytes() == content

    def test_another_programs_database_is_left_alone(self, tmp_path: Path) -> None:
        (tmp_path / ".nodus").mkdir()
        connection = sqlite3.connect(tmp_path / ".nodus/state.db")
        connection.execute("CREATE TABLE bookmarks (id INTEGER)")
        connection.close()
        before = fingerprint(tmp_path / ".nodus/state.db")
        with opened(tmp_path) as state, pytest.raises(UserError) as refusal:
            state.journal.snapshot()
        assert refusal.value.diagnostics[0].code == "StateUnreadable"
        with opened(tmp_path) as state, pytest.raises(UserError):
            state.claims.claim("uid-lab", "stop", LIMIT)
        assert fingerprint(tmp_path / ".nodus/state.db") == before

    def test_an_older_state_is_brought_up_by_writers_only(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        a_state(tmp_path).close()
        monkeypatch.setattr(connections, "REVISION", "a later one")
        with opened(tmp_path, read_only=True) as state, pytest.raises(UserError) as refusal:
            state.journal.snapshot()
        assert refusal.value.diagnostics[0].code == "StateOlder"
        with opened(tmp_path) as state:
            assert state.journal.snapshot().serial == 1

    def test_opening_a_state_twice_gives_up_no_lock_of_the_first(self, tmp_path: Path) -> None:
        """Else a process that comes and goes believes itself alone, and takes the log away that the first one still writes to."""
        first = a_state(tmp_path)
        log = tmp_path / ".nodus/state.db-wal"
        before = log.stat().st_ino
        with opened(tmp_path) as second:
            assert second.journal.exists()
            comes_and_goes = (
                f"import sqlite3; c = sqlite3.connect({str(first.path)!r}); c.execute('SELECT * FROM state').fetchall(); c.close()"
            )
            subprocess.run([sys.executable, "-c", comes_and_goes], check=True)
            assert log.exists(), "the log was folded away under both of them"
            assert log.stat().st_ino == before
        first.close()

    def test_a_busy_state_is_told(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(channels, "BUSY_SECONDS", 0.05)
        state = a_state(tmp_path)
        state.close()
        blocker = sqlite3.connect(state.path, isolation_level=None)
        blocker.execute("BEGIN IMMEDIATE")
        with pytest.raises(UserError) as refusal:
            state.claims.claim("uid-lab", "stop", LIMIT)
        blocker.close()
        assert (refusal.value.diagnostics[0].code, refusal.value.exit_code) == ("StateBusy", ExitCode.LOCKED)

    def test_a_folder_that_takes_no_file_is_told(self, tmp_path: Path) -> None:
        (tmp_path / ".nodus").write_text("a file where the folder should be")
        with pytest.raises(UserError) as refusal:
            opened(tmp_path).journal.consume(a_consumption())
        assert refusal.value.diagnostics[0].code == "StateNotUsable"


class TestSealed:
    def test_a_sealed_value_is_in_no_file(self, tmp_path: Path) -> None:
        key = KeyMaterial(path=tmp_path / "home/keys/lab.key")
        state = opened(tmp_path / "project", key=key)
        state.journal.consume(replace(a_consumption(), sealed={"token": CANARY}))
        claim = state.claims.claim("uid-lab", "launch", LIMIT)
        assert claim is not None
        state.journal.open(replace(an_opening(claim), intent=replace(an_intent(), last_detail=f"no: {CANARY}"), sealed={"again": CANARY}))
        state.journal.close(Closing(claim=claim, entries=(replace(a_capture(), memo=CANARY),), forgotten=("token",)))
        self._in_no_file(tmp_path)
        state.close()
        self._in_no_file(tmp_path)
        assert opened(tmp_path / "project", key=key).journal.secret("again") == CANARY

    def _in_no_file(self, root: Path) -> None:
        files = [path for path in root.rglob("*") if path.is_file()]
        assert any(path.name.startswith("state.db") for path in files)
        assert [path for path in files if CANARY.encode() in path.read_bytes()] == []

    def test_another_key_is_refused(self, tmp_path: Path) -> None:
        state = opened(tmp_path)
        state.journal.fingerprint_secret("a value")
        state.journal.consume(a_consumption())
        other = opened(tmp_path, key=KeyMaterial(text="another key, long enough too"))
        claim = other.claims.claim("uid-lab", "launch", LIMIT)
        assert claim is not None
        for act in (
            lambda: other.journal.fingerprint_secret("x"),
            lambda: other.journal.open(replace(an_opening(claim), sealed={"a": "b"})),
        ):
            with pytest.raises(UserError) as refusal:
                act()
            assert refusal.value.diagnostics[0].code == "StateKeyWrong"
        assert other.journal.entries() == ()

    def test_a_lost_key_file_is_not_made_anew(self, tmp_path: Path) -> None:
        key = KeyMaterial(path=tmp_path / "lab.key")
        opened(tmp_path, key=key).journal.consume(replace(a_consumption(), sealed={"token": "value"}))
        (tmp_path / "lab.key").unlink()
        later = opened(tmp_path, key=key)
        with pytest.raises(UserError) as refusal:
            later.journal.secret("token")
        assert refusal.value.diagnostics[0].code == "StateKeyMissing"
        assert not (tmp_path / "lab.key").exists()

    def test_a_reader_without_the_key_has_no_fingerprint(self, tmp_path: Path) -> None:
        key = KeyMaterial(path=tmp_path / "lab.key")
        assert opened(tmp_path, key=key, read_only=True).journal.fingerprint_secret("a value") == ""
        assert not (tmp_path / "lab.key").exists()
        made = opened(tmp_path, key=key).journal.fingerprint_secret("a value")
        assert opened(tmp_path, key=key, read_only=True).journal.fingerprint_secret("a value") == made


def test_a_thousand_objects_load_in_order(tmp_path: Path) -> None:
    """Snapshot and load_many agree, and records come sorted by address."""
    names = [f"w{number:04}" for number in range(1000)]
    state = a_state(tmp_path, *reversed(names))
    snapshot = state.journal.snapshot()
    assert [standing.record.address.name for standing in snapshot] == names
    loaded = state.journal.load_many(standing.record.uid for standing in snapshot)
    assert [stored.record for stored in loaded.values()] == [standing.record for standing in snapshot]
    assert a_hold() not in state.journal.entries()
