"""Sessions of several Attempts: one receipt each, one sum, in the text and in JSON."""

from __future__ import annotations

from datetime import timedelta

from support.history import START, Past, books_of, session

from nodusctl.attempts.attempt import Attempt
from nodusctl.base.money import total
from nodusctl.engine.inspect_receipts import Receipt, receipt_of
from nodusctl.engine.sessions import Session, first_of, sessions_of
from nodusctl.render.receipts import session_document, sessions_text
from nodusctl.render.receipts_csv import receipts_csv
from nodusctl.render.style import PLAIN

LATER = START + timedelta(days=9)


def sessions(*pasts: Past) -> tuple[Session, ...]:
    books = books_of(*pasts)
    attempts: list[Attempt] = list(books.attempts())
    receipts: list[Receipt] = [
        receipt_of(one, [entry for entry in books.entries() if entry.attempt_uid == one.uid], now=LATER)
        for one in attempts
        if one.machine is not None
    ]
    return sessions_of(receipts, attempts)


def test_a_replacement_belongs_to_the_session_it_goes_on_with() -> None:
    lost, alone = session(0), session(1)
    [first, second] = sessions(lost, alone, session(50, replaces=lost.uid))
    assert [one.attempt.name for one in first.receipts] == ["ws-000-1", "ws-000-2"]
    assert [one.attempt.name for one in second.receipts] == ["ws-001-1"]
    assert first.charge_usd == total(one.charge_usd for one in first.receipts)
    assert first.receipts[1].segments.boot.micro == 0
    assert first.receipts[1].segments.restore.micro > 0
    assert first.is_final


def test_an_attempt_that_never_got_a_machine_does_not_break_the_chain() -> None:
    lost = session(0)
    none = Past(events=session(50, replaces=lost.uid).events[:1], entries=())
    assert [len(one.receipts) for one in sessions(lost, none, session(100, replaces=none.uid))] == [2]


def test_a_circle_in_the_journal_ends() -> None:
    assert first_of("a", {"a": "b", "b": "a"}) in {"a", "b"}


def test_only_sessions_of_several_attempts_get_lines_of_their_own() -> None:
    lost = session(0)
    found = sessions(lost, session(1), session(50, replaces=lost.uid))
    assert sessions_text(found[1:], PLAIN) == ""
    text = sessions_text(found, PLAIN)
    assert "ws-000-1, ws-000-2" in text
    assert "ws-001" not in text
    assert session_document(found[0])["attempts"] == ["ws-000-1", "ws-000-2"]
    rows = receipts_csv(found).splitlines()[1:]
    assert [row.split(",")[0] for row in rows] == [lost.uid, lost.uid, session(1).uid]


def test_a_session_still_runs_while_one_of_its_machines_does() -> None:
    lost = session(0)
    running = Past(events=session(50, replaces=lost.uid).events[:8], entries=session(50).entries[:1])
    [one] = sessions(lost, running)
    assert (one.is_final, one.ended_at) == (False, None)
    assert one.so_far_usd > one.charge_usd
