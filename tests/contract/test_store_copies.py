"""Whole states: pulled from one place and put into another, whatever the two are; kept before they are replaced; killed in the middle."""

from __future__ import annotations

import json
import os
import signal
import sqlite3
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import create_engine
from support.open_states import kept
from support.postgres import Server

from nodusctl.attempts.intents import IntentState
from nodusctl.base.canonical import digest
from nodusctl.base.clock import SystemWall
from nodusctl.base.exits import UserError
from nodusctl.base.money import Money
from nodusctl.ledger.room import HoldGuard
from nodusctl.ports.journal import Closing, HoldRefused, StaleClaim
from nodusctl.ports.keys import KeyChange
from nodusctl.ports.passes import PassNote
from nodusctl.ports.pulled import PulledState
from nodusctl.store import migrating, pulling
from nodusctl.store.codec import encode
from nodusctl.store.opening import State, open_state
from nodusctl.store.pulled_files import text_of
from nodusctl.store.revision import REVISION
from nodusctl.store.sealing import KeyMaterial
from nodusctl.testing.store_hooks import (
    LIMIT,
    LINEAGE,
    NOON,
    STATE_KEY,
    a_capture,
    a_consumption,
    a_hold,
    a_record,
    a_replacement,
    an_opening,
    foreign_holder,
)

HERE = Path(__file__).parent
FILE = "sqlite:///.nodus/state.db"
CANARY = "canary-5b0e-in-no-file"
Place = Callable[[str], str]
_LIMIT = HoldGuard(name="budget/team", limit=Money.parse("100"))


@pytest.fixture(params=["sqlite", pytest.param("postgresql", marks=pytest.mark.slow)])
def place(request: pytest.FixtureRequest, tmp_path: Path) -> Place:
    """Makes places where no state is yet, of either kind; one of the other kind for ``another``."""
    other = {"sqlite": "postgresql", "postgresql": "sqlite"}

    def made(which: str) -> str:
        kind = other[request.param] if which == "another" else request.param
        if kind == "sqlite":
            return f"sqlite:///{which}/.nodus/state.db"
        server: Server = request.getfixturevalue("postgres")
        return server.new_state()

    return made


def opened(url: str, root: Path, **changes: Any) -> State:
    key = KeyMaterial(text=STATE_KEY, member_path=root / "member.key")
    return kept(open_state(url, root=root, key=key, wall=SystemWall(), holder_command="nodusctl test", **changes))


def fill(state: State, *names: str) -> None:
    """A state with a bit of everything."""
    state.journal.consume(replace(a_consumption(*names), sealed={"token": CANARY}))
    for number in (1, 2, 3):
        claim = state.claims.claim("uid-lab", "launch", LIMIT)
        assert claim is not None
        opening = an_opening(claim, number)
        state.journal.open(opening)
        if number < 3:
            closed = replace(opening.intent, state=IntentState.CLOSED)
            state.journal.close(Closing(claim=claim, intent=closed, entries=(a_capture(number),)))
        state.claims.drop(claim)
    state.passes.note(PassNote(id="pass-1", started_at=NOON, ended_at=NOON, host="lab1"))


def fill_ledger(state: State, *numbers: int) -> None:
    """A hold for each."""
    for number in numbers:
        claim = state.claims.preempt("uid-lab", "launch", LIMIT)
        state.journal.open(an_opening(claim, number))
        state.claims.drop(claim)


def everything(state: State) -> tuple[object, ...]:
    journal = state.journal
    with journal.books() as books:
        posted, gone = sorted(books.posted()), dict(books.rows_gone())
    events = [(row.sequence, row.event) for row in journal.events()]
    return (
        journal.snapshot(),
        events,
        journal.entries(),
        journal.attempts(),
        journal.open_intents(),
        journal.secret("token"),
        state.passes.latest(),
        [(one.operation_id, one.serial, one.plan_id) for one in journal.operations()],
        posted,
        gone,
    )


def without_the_push(seen: tuple[object, ...]) -> tuple[object, ...]:
    """What a push adds to the journal and the history is its own."""
    parts = list(seen)
    events, operations = parts[1], parts[7]
    assert isinstance(events, list)
    assert isinstance(operations, list)
    assert "StatePushed" in str(events[-1])
    assert operations[0][0].startswith("push-")
    parts[1], parts[7] = events[:-1], operations[1:]
    return tuple(parts)


class TestMoving:
    @pytest.mark.slow
    def test_a_state_is_the_same_wherever_it_is_put(self, place: Place, tmp_path: Path) -> None:
        """From a file to a server and from a server to a file, through the text of a file; and it goes on counting there."""
        with opened(place("one"), tmp_path) as one, opened(place("another"), tmp_path) as another:
            fill(one)
            (tmp_path / "pulled.json").write_text(one.copies.text_of(one.copies.pull("ada", NOON)))
            done = another.copies.replace(a_replacement(another.copies.read(tmp_path / "pulled.json")))
            assert (done.serial, done.backup) == (1, None)
            assert without_the_push(everything(another)) == everything(one)
            claim = another.claims.claim("uid-lab", "launch", LIMIT)
            assert claim is not None
            another.journal.open(an_opening(claim, 4))
            numbers = [row.sequence for row in another.journal.events()]
            assert numbers == list(range(1, len(numbers) + 1))

    def test_the_past_is_append_only_again_afterwards(self, place: Place, tmp_path: Path, request: pytest.FixtureRequest) -> None:
        url = place("one")
        with opened(url, tmp_path) as state:
            fill(state)
            state.copies.replace(a_replacement(state.copies.pull("ada", NOON)))
        for table in ("journal", "entries", "postings"):
            with pytest.raises(Exception, match="append-only"):
                _execute(url, tmp_path, request, f"DELETE FROM {table}")

    def test_a_row_that_was_missing_is_still_missed(self, place: Place, tmp_path: Path, request: pytest.FixtureRequest) -> None:
        """A state can't be washed by moving it."""
        url = place("one")
        with opened(url, tmp_path) as state:
            fill(state)
        _behind_the_triggers(url, tmp_path, request, "DELETE FROM journal WHERE sequence = 2")
        with opened(url, tmp_path) as state:
            pulled = state.copies.pull("ada", NOON)
        with opened(place("two"), tmp_path) as state:
            state.copies.replace(a_replacement(pulled))
            with state.journal.books() as books:
                assert dict(books.rows_gone()) == {"journal": 1}

    def test_members_keep_their_keys(self, place: Place, tmp_path: Path) -> None:
        with opened(place("one"), tmp_path) as state:
            fill(state)
            state.keys.found("ada", KeyChange(by="ada@lab1", at=NOON))
            pulled = state.copies.pull("ada", NOON)
        with opened(place("two"), tmp_path) as state:
            state.copies.replace(a_replacement(pulled))
            assert state.journal.secret("token") == CANARY
            assert [(one.name, one.is_vouched_for) for one in state.keys.members()] == [("ada", True), ("recovery", True)]

    def test_whoever_was_at_work_learns_that_its_claim_is_over(self, place: Place, tmp_path: Path) -> None:
        """No fence is given twice, also where the state that is put back had counted less far; the plan lock stays with its holder."""
        with opened(place("one"), tmp_path) as state:
            fill(state)
            before = state.copies.pull("ada", NOON)
            lock_id = state.claims.take_plan_lock("nodusctl state push", timedelta(0))
            claim = state.claims.claim("uid-lab", "launch", LIMIT)
            other = state.claims.claim("uid-made-since", "launch", LIMIT)
            assert claim is not None
            assert other is not None
            state.copies.replace(a_replacement(before))
            for lost in (claim, other):
                with pytest.raises(StaleClaim):
                    state.journal.close(Closing(claim=lost))
                again = state.claims.claim(lost.object_uid, "launch", LIMIT)
                assert again is not None
                assert again.fence > lost.fence
            lock = state.claims.plan_lock()
            assert lock is not None
            assert lock.id == lock_id

    def test_who_works_on_what_is_part_of_what_is_there(self, place: Place, tmp_path: Path) -> None:
        url = place("one")
        with opened(url, tmp_path) as state, opened(url, tmp_path, holder=foreign_holder()) as theirs:
            fill(state)
            assert state.copies.identity().at_work == ()
            assert theirs.claims.claim("uid-lab", "launch", LIMIT) is not None
            assert state.copies.identity().at_work == ("workspace/lab: bob@elsewhere.example pid 1 (nodusctl apply) at launch",)

    def test_sums_that_were_kept_in_memory_are_not_those_of_another_past(self, place: Place, tmp_path: Path) -> None:
        """Budgets are reckoned anew by a process that had summed the ledger before, also where the new past is the longer one."""
        url = place("one")
        with opened(url, tmp_path) as state, opened(url, tmp_path) as theirs:
            state.journal.consume(a_consumption())
            short = state.copies.pull("ada", NOON)
            fill_ledger(state, 1, 2)
            assert theirs.journal.room([_LIMIT]) == (Money.parse("91.20"),)
            state.copies.replace(a_replacement(short))
            assert theirs.journal.room([_LIMIT]) == (Money.parse("100"),)
            fill_ledger(state, 3, 4, 5)
            assert theirs.journal.room([_LIMIT]) == (Money.parse("86.80"),)
            claim = theirs.claims.preempt("uid-lab", "launch", LIMIT)
            with pytest.raises(HoldRefused, match="left"):
                theirs.journal.open(replace(an_opening(claim, 6), guards=(replace(_LIMIT, limit=Money.parse("17.59")),)))

    def test_a_refusal_in_the_transaction_changes_nothing(self, place: Place, tmp_path: Path) -> None:
        with opened(place("one"), tmp_path) as state:
            fill(state)
            before = everything(state)

            def refuse(present: object) -> None:
                raise LookupError(present)

            with pytest.raises(LookupError):
                state.copies.replace(replace(a_replacement(state.copies.pull("ada", NOON)), check=refuse))
            assert everything(state) == before
            assert state.copies.backups() == ()


class TestKilled:
    def test_a_push_killed_anywhere_leaves_one_state_whole(self, place: Place, tmp_path: Path) -> None:
        url = place("one")
        with opened(url, tmp_path) as state:
            fill(state)
            wanted = [state.journal.snapshot().serial]
            (tmp_path / "first.json").write_text(state.copies.text_of(state.copies.pull("ada", NOON)))
            claim = state.claims.claim("uid-lab", "launch", LIMIT)
            assert claim is not None
            state.journal.consume(a_consumption(*(f"w{number}" for number in range(100)), number=2, serial=1))
            state.claims.drop(claim)
            wanted.append(state.journal.snapshot().serial)
            (tmp_path / "second.json").write_text(state.copies.text_of(state.copies.pull("ada", NOON)))
        for moment in (0.03, 0.07, 0.12, 0.2):
            writer = subprocess.Popen(
                [sys.executable, str(HERE / "store_writer.py"), str(tmp_path), "push", url], stdout=subprocess.PIPE, text=True
            )
            assert writer.stdout is not None
            assert writer.stdout.readline().strip() == "working"
            time.sleep(moment)
            os.kill(writer.pid, signal.SIGKILL)
            writer.wait()
            with opened(url, tmp_path) as state:
                snapshot = state.journal.snapshot()
                assert {1: 1, 2: 101}[snapshot.serial] == len(snapshot.standings)
                assert snapshot.serial in wanted
                with state.journal.books() as books:
                    assert dict(books.rows_gone()) == {}
                for kept in state.copies.backups():
                    state.copies.read(kept.path)


class TestKeeping:
    def test_what_is_replaced_is_kept_first(self, place: Place, tmp_path: Path) -> None:
        """Readable by its owner only, and by its name, moment and serial."""
        with opened(place("one"), tmp_path) as state:
            fill(state)
            pulled = state.copies.pull("ada", NOON)
            state.journal.consume(a_consumption("other", number=2, serial=1))
            before = everything(state)
            done = state.copies.replace(a_replacement(pulled))
            assert done.backup is not None
            assert (done.backup.stat().st_mode & 0o777, done.backup.parent.name) == (0o600, "backups")
            (kept,) = state.copies.backups()
            assert (kept.path, kept.serial, kept.why, kept.kept_at) == (done.backup, 2, "before-push", NOON.replace(microsecond=0))
            state.copies.replace(a_replacement(state.copies.read(kept.path), number=2))
            assert without_the_push(everything(state)) == before

    def test_where_nothing_can_be_kept_nothing_is_replaced(self, tmp_path: Path) -> None:
        (tmp_path / ".nodus").mkdir()
        (tmp_path / ".nodus/backups").write_text("a file where the folder should be")
        with opened(FILE, tmp_path) as state:
            fill(state)
            before = everything(state)
            with pytest.raises(UserError) as refusal:
                state.copies.replace(a_replacement(state.copies.pull("ada", NOON)))
            assert refusal.value.diagnostics[0].code == "StateNotUsable"
            assert everything(state) == before

    def test_the_last_twenty_are_kept_and_all_that_were_kept_by_hand(self, tmp_path: Path) -> None:
        with opened(FILE, tmp_path) as state:
            fill(state)
            state.copies.keep("by-hand", "ada", NOON - timedelta(days=900))
            for number in range(25):
                state.copies.keep("before-push", "ada", NOON + timedelta(minutes=number // 2))
            found = state.copies.backups()
        assert [one.why for one in found] == ["before-push"] * 20 + ["by-hand"]
        assert found[0].kept_at == (NOON + timedelta(minutes=12)).replace(microsecond=0)

    def test_no_secret_is_in_a_pulled_state(self, place: Place, tmp_path: Path) -> None:
        with opened(place("one"), tmp_path) as state:
            fill(state)
            assert state.journal.secret("token") == CANARY
            text = state.copies.text_of(state.copies.pull("ada", NOON))
        assert CANARY not in text
        assert STATE_KEY not in text


class TestFiles:
    @pytest.fixture
    def pulled(self, tmp_path: Path) -> PulledState:
        with opened(FILE, tmp_path) as state:
            fill(state)
            return state.copies.pull("ada", NOON)

    def refusal(self, tmp_path: Path, text: str, *, takes_edited: bool = False) -> tuple[str, str]:
        (tmp_path / "file.json").write_text(text)
        with opened(FILE, tmp_path) as state, pytest.raises(UserError) as refused:
            state.copies.read(tmp_path / "file.json", takes_edited=takes_edited)
        told = refused.value.diagnostics[0]
        assert CANARY not in told.detail
        return told.code, told.detail

    def test_a_file_is_read_as_it_was_pulled(self, pulled: PulledState, tmp_path: Path) -> None:
        (tmp_path / "file.json").write_text(text_of(pulled))
        with opened(FILE, tmp_path) as state:
            assert state.copies.read(tmp_path / "file.json") == pulled
        document = json.loads(text_of(pulled))
        assert list(document)[:6] == ["format", "revision", "lineage", "serial", "project", "pulledTime"]
        assert (document["lineage"], document["serial"]) == (LINEAGE, 1)

    @pytest.mark.parametrize(
        "change",
        [
            lambda text: text[: len(text) // 2],
            lambda text: "kind: Workspace\n",
            lambda text: "[]",
            lambda text: '{"format": "nodusctl-state-1"}',
            lambda text: text.replace('"serial": 1,', '"serial": 7,', 1),
            lambda text: text.replace("uid-lab", "uid-bal"),
        ],
    )
    def test_what_is_no_pulled_state_or_not_as_it_was_is_refused(
        self, pulled: PulledState, tmp_path: Path, change: Callable[[str], str]
    ) -> None:
        assert self.refusal(tmp_path, change(text_of(pulled)))[0] == "StateUnreadable"

    def test_a_newer_file_is_refused(self, pulled: PulledState, tmp_path: Path) -> None:
        assert self.refusal(tmp_path, text_of(replace(pulled, revision="9999")))[0] == "StateNewer"
        assert self.refusal(tmp_path, text_of(pulled).replace("nodusctl-state-1", "nodusctl-state-2", 1))[0] == "StateNewer"

    @pytest.mark.parametrize(
        ("edit", "said"),
        [
            (("records", "body", "{}"), "records: uid-lab can't be read"),
            (("entries", "body", '{"id": "x"}'), "can't be read"),
            (("postings", "amount_micro", 1), "the postings are not those of the entries"),
            (("journal", "kind", "Unheard"), "journal: event 1 can't be read"),
            (("sealed", "value", "no bytes"), "row 1 of sealed has another form"),
        ],
    )
    def test_an_edit_that_was_meant_must_hold_together_all_the_same(
        self, pulled: PulledState, tmp_path: Path, edit: tuple[str, str, object], said: str
    ) -> None:
        table, column, value = edit
        first, *rest = pulled.tables[table]
        spoilt = replace(pulled, tables={**pulled.tables, table: ({**first, column: value}, *rest)})
        code, detail = self.refusal(tmp_path, text_of(spoilt), takes_edited=True)
        assert (code, said in detail) == ("StateUnreadable", True)

    def test_an_edit_that_was_meant_and_holds_together_is_taken(self, pulled: PulledState, tmp_path: Path) -> None:
        document = json.loads(text_of(pulled))
        rows = document["tables"]["names"]["rows"]
        document["tables"]["names"]["rows"] = [[*row[:2], "renamed"] for row in rows]
        (tmp_path / "file.json").write_text(json.dumps(document))
        with opened(FILE, tmp_path) as state:
            read = state.copies.read(tmp_path / "file.json", takes_edited=True)
        assert [row["name"] for row in read.tables["names"]] == ["renamed"]
        assert document["digest"] != digest({key: value for key, value in document.items() if key != "digest"})


class TestOlder:
    def an_older_state(self, path: Path) -> None:
        """As the version before members wrote it."""
        engine = create_engine(f"sqlite:///{path}")
        with engine.begin() as connection:
            migrating.upgrade(connection, "0003")
            hold, record = a_hold(), a_record()
            insert = connection.exec_driver_sql
            insert("INSERT INTO state VALUES (1, ?, 'default', 4, 0, '', '2026-10-26T12:00:00Z')", (LINEAGE,))
            insert("INSERT INTO records VALUES (?, 'workspace', 'lab', ?)", (record.uid, encode(record)))
            insert("INSERT INTO names VALUES (?, 'workspace', 'lab')", (record.uid,))
            columns = "(id, object_uid, attempt_uid, body)"
            insert(f"INSERT INTO entries {columns} VALUES (?, ?, ?, ?)", (hold.id, hold.object_uid, hold.attempt_uid, encode(hold)))
            for position, (side, micro) in enumerate((("available", -4_400_000), ("held", 4_400_000))):
                account = side if side == "available" else "held:attempt-1"
                insert(
                    "INSERT INTO postings VALUES (?, ?, ?, ?, '2026-10', ?, ?)", (hold.id, position, hold.object_uid, side, account, micro)
                )
        engine.dispose()

    def test_an_older_state_is_kept_before_it_is_brought_up(self, tmp_path: Path) -> None:
        (tmp_path / ".nodus").mkdir()
        self.an_older_state(tmp_path / ".nodus/state.db")
        with opened(FILE, tmp_path) as state:
            assert state.journal.snapshot().serial == 4
            (kept,) = state.copies.backups()
            assert (kept.why, kept.serial) == ("before-upgrade", 4)
            assert json.loads(kept.path.read_text())["revision"] == "0003"

    def test_a_file_of_an_older_version_is_brought_up_on_the_way(self, place: Place, tmp_path: Path) -> None:
        self.an_older_state(tmp_path / "older.db")
        engine = create_engine(f"sqlite:///{tmp_path}/older.db")
        with engine.connect() as connection:
            (tmp_path / "older.json").write_text(text_of(pulling.pull(connection, by="ada", at=NOON)))
        engine.dispose()
        with opened(place("one"), tmp_path) as state:
            pulled = state.copies.read(tmp_path / "older.json")
            assert (pulled.revision, pulled.identity.serial) == (REVISION, 4)
            state.copies.replace(a_replacement(pulled))
            assert [one.record for one in state.journal.snapshot()] == [a_record()]
            assert state.journal.entries() == (a_hold(),)
            with state.journal.books() as books:
                assert dict(books.rows_gone()) == {}


def _execute(url: str, root: Path, request: pytest.FixtureRequest, *statements: str) -> None:
    if url.startswith("sqlite"):
        connection = sqlite3.connect(root / url.removeprefix("sqlite:///"))
        try:
            for statement in statements:
                connection.execute(statement)
            connection.commit()
        finally:
            connection.close()
        return
    server: Server = request.getfixturevalue("postgres")
    with server.in_state(url) as driver:
        for statement in statements:
            driver.execute(statement.encode())


def _behind_the_triggers(url: str, root: Path, request: pytest.FixtureRequest, statement: str) -> None:
    table = statement.split()[2]
    if url.startswith("sqlite"):
        name = f"{table}_refuses_delete"
        again = f"CREATE TRIGGER {name} BEFORE DELETE ON {table} BEGIN SELECT RAISE(ABORT, '{table} is append-only'); END"
        _execute(url, root, request, f"DROP TRIGGER {name}", statement, again)
    else:
        _execute(url, root, request, f"ALTER TABLE {table} DISABLE TRIGGER USER", statement, f"ALTER TABLE {table} ENABLE TRIGGER USER")
