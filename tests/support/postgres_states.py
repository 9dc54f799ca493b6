"""States on a real PostgreSQL server: opened, founded, asked behind their back, and written to by other processes."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import pytest

from nodusctl.attempts.attempt import fold
from nodusctl.attempts.intents import IntentState
from nodusctl.base.clock import SystemWall, Wall
from nodusctl.base.exits import UserError
from nodusctl.ports.journal import Closing
from nodusctl.store.opening import State, open_state
from nodusctl.store.sealing import KeyMaterial
from nodusctl.testing.store_hooks import LIMIT, STATE_KEY, a_capture, a_consumption, an_opening
from support.postgres import Server

WRITER = Path(__file__).parent.parent / "contract" / "store_writer.py"


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
    return subprocess.Popen([sys.executable, str(WRITER), "/", what, url], stdout=subprocess.PIPE, text=True)


def ask(postgres: Server, url: str, statement: str) -> list[tuple[object, ...]]:
    with postgres.in_state(url) as connection:
        cursor = connection.execute(statement.encode())
        return cursor.fetchall() if cursor.description is not None else []


def one_step(state: State, number: int) -> None:
    claim = state.claims.preempt("uid-lab", "launch", LIMIT)
    opening = an_opening(claim, number)
    state.journal.open(opening)
    state.journal.close(Closing(claim=claim, intent=replace(opening.intent, state=IntentState.CLOSED), entries=(a_capture(number),)))


def holds_whole_steps(state: State) -> None:
    """Read while nobody writes: a server may go on with the turn of a process for a moment after that was killed."""
    journal = state.journal
    while True:
        version = journal.version()
        attempts, entries, intents, events = journal.attempts(), journal.entries(), journal.open_intents(), journal.events()
        if journal.version() == version:
            break
    holds = {entry.attempt_uid for entry in entries if entry.id.startswith("hold")}
    captures = {entry.attempt_uid for entry in entries if entry.id.startswith("capture")}
    open_ones = {intent.attempt_uid for intent in intents}
    assert {attempt.uid for attempt in attempts} == holds == captures | open_ones
    assert len(captures & open_ones) == 0
    assert attempts == fold(row.event for row in events)
    with journal.books() as books:
        assert books.rows_gone() == {}
