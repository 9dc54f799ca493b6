"""A glance shows what a Snapshot shows, in brief, whoever gives it; and an idle pass leaves the same note either way."""

from __future__ import annotations

import sqlite3
from dataclasses import dataclass, replace
from datetime import timedelta
from itertools import count
from pathlib import Path

import pytest
from support.open_states import kept

from nodusctl.attempts.intents import IntentState
from nodusctl.base.exits import UserError
from nodusctl.base.ids import Address
from nodusctl.lifecycle.passing import brief_of
from nodusctl.ports.journal import Closing, Journal
from nodusctl.ports.passes import Glance, Passes, PassNote
from nodusctl.state.records import PutRecord
from nodusctl.state.requests import RESTORE_REQUEST, STOP_REQUEST
from nodusctl.state.status import Condition, ObjectStatus, Phase, WindowsStanding
from nodusctl.store import channels
from nodusctl.store.holders import this_holder
from nodusctl.store.light_passes import LightPasses, passes_beside
from nodusctl.store.memory import MemoryState
from nodusctl.store.no_copies import NoCopies
from nodusctl.store.opening import State, open_state
from nodusctl.store.revision import PASSES_KEPT
from nodusctl.store.sealing import KeyMaterial
from nodusctl.testing.store_hooks import (
    LIMIT,
    LINEAGE,
    NOON,
    STATE_KEY,
    MovedWall,
    a_capture,
    a_consumption,
    a_hold,
    a_record,
    an_intent,
    an_opening,
)

URL = "sqlite:///.nodus/state.db"
KEY = KeyMaterial(text=STATE_KEY)


def opened(root: Path) -> State:
    return kept(open_state(URL, root=root, key=KEY, wall=MovedWall(), holder_command="nodusctl tick"))


@dataclass(frozen=True)
class Seen:
    """A state, and the passes that are tested over it."""

    state: State
    passes: Passes

    @property
    def journal(self) -> Journal:
        return self.state.journal

    @property
    def whole(self) -> Glance:
        """What the glance must be."""
        snapshot = self.journal.snapshot()
        return Glance(lineage=snapshot.lineage, briefs=tuple(brief_of(one) for one in snapshot))


def never() -> Passes:
    raise AssertionError("the light way gave up on a state that it must know")


@pytest.fixture(params=["light", "opened", "memory"])
def seen(request: pytest.FixtureRequest, tmp_path: Path) -> Seen:
    if request.param == "memory":
        memory, nowhere = MemoryState(key=KEY, wall=MovedWall()), tmp_path / "nowhere"
        claims = memory.claims(this_holder("nodusctl tick"))
        state = State(
            journal=memory.journal,
            claims=claims,
            passes=memory.passes,
            keys=memory.keys,
            copies=NoCopies(nowhere),
            path=nowhere,
            close=lambda: None,
        )
        return Seen(state, memory.passes)
    state = opened(tmp_path)
    return Seen(state, passes_beside(URL, tmp_path, never) if request.param == "light" else state.passes)


def a_note(number: int = 1, **changes: object) -> PassNote:
    note = PassNote(
        id=f"pass-{number}",
        started_at=NOON,
        ended_at=NOON + timedelta(seconds=2),
        host="lab1",
        seen=("sim", "metal"),
        failures=("sim: it said “no”",),
        told=("CapOverrun x",),
    )
    return replace(note, **changes)  # type: ignore[arg-type]


WINDOWS = WindowsStanding(
    digest="d1",
    through=NOON,
    used=("2026-10-26T08:00:00Z",),
    skipped="2026-10-25T08:00:00Z",
    skip_reason="MissedWindow",
    skip_message="late",
)
STATUSES = {
    "uid-lab": ObjectStatus(phase=Phase.RUNNING, epoch=3, handled_requests={"stop": "1"}),
    "uid-timed": ObjectStatus(phase=Phase.STOPPED, windows=WINDOWS, start_is_asked=True),
    "uid-gone": ObjectStatus(phase=Phase.TERMINATING),
    "uid-home": ObjectStatus(phase=Phase.READY, handled_requests={"restore": "2 over 2@x"}),
}
SCHEDULE = {"readyBy": "2099-01-01T09:00:00Z", "stopAt": "2099-01-01T17:00:00Z"}
RECORDS = (
    a_record("lab", annotations={STOP_REQUEST: "2026-10-26T12:00:00Z", "a": 'with "quotes", ünïcode and \\'}),
    a_record(
        "timed",
        spec={"state": "Stopped", "schedule": SCHEDULE, "maxCostUSD": "1.00"},
        annotations={"nodus.dev/windows": "daily 09:00-10:00 UTC"},
    ),
    a_record("gone", deletion_requested_at=NOON),
    a_record("home", address=Address("volume", "home"), spec={"size": "1Gi"}, annotations={RESTORE_REQUEST: "1 over 2@x"}),
    a_record("fresh", spec={"schedule": None}),
    a_record("team", address=Address("budget", "team"), spec={"limitUSD": "5.00"}),
)


def found(seen: Seen, **changes: object) -> None:
    consumption = replace(a_consumption(), records=tuple(PutRecord(record) for record in RECORDS), statuses=STATUSES)
    seen.journal.consume(replace(consumption, **changes))  # type: ignore[arg-type]


def test_a_state_that_does_not_exist_is_seen_empty_and_not_made(seen: Seen) -> None:
    assert seen.passes.glance() == Glance()
    assert seen.state.path is not None
    assert not seen.state.path.exists()


def test_a_glance_is_every_object_in_brief(seen: Seen) -> None:
    found(seen)
    assert seen.passes.glance() == seen.whole
    assert seen.passes.glance().lineage == LINEAGE
    assert [str(one.address) for one in seen.passes.glance().briefs] == [
        "budget/team",
        "volume/home",
        "workspace/fresh",
        "workspace/gone",
        "workspace/lab",
        "workspace/timed",
    ]
    timed = seen.passes.glance().briefs[-1]
    assert (timed.windows, timed.spec) == (WINDOWS, {"schedule": SCHEDULE, "state": "Stopped"})


def test_an_open_intent_is_seen_at_its_object_and_its_target(seen: Seen) -> None:
    found(seen)
    claim = seen.state.claims.claim("uid-lab", "attach", LIMIT)
    assert claim is not None
    intent = an_intent(target_uid="uid-home")
    seen.journal.open(replace(an_opening(claim), intent=intent))
    open_ones = {one.uid for one in seen.passes.glance().briefs if one.has_open_intent}
    assert open_ones == {"uid-lab", "uid-home"}
    assert seen.passes.glance() == seen.whole
    seen.journal.close(Closing(claim=claim, intent=replace(intent, state=IntentState.CLOSED)))
    assert not any(one.has_open_intent for one in seen.passes.glance().briefs)


def test_a_save_that_failed_may_be_news(seen: Seen) -> None:
    failed = Condition(type="StateSaved", status="False", reason="SaveFailed", last_transition_at=NOON)
    for condition, is_news in ((replace(failed, status="True", reason="Saved"), False), (failed, True)):
        found(seen, statuses={**STATUSES, "uid-timed": ObjectStatus(phase=Phase.STOPPED, conditions=(condition,))}, **next_plan(seen))
        assert seen.passes.may_be_news() is is_news


_NUMBERS = count(1)


def next_plan(seen: Seen) -> dict[str, object]:
    number = next(_NUMBERS)
    return {
        "operation_id": f"operation-{number}",
        "plan_hash": f"hash-{number}",
        "plan_id": f"p-{number}",
        "serial": seen.journal.snapshot().serial,
    }


@pytest.mark.parametrize(("micro", "is_news"), [(1_000_000, False), (1_000_001, True)])
def test_a_charge_above_the_cap_may_be_news_and_one_at_it_is_none(seen: Seen, micro: int, is_news: bool) -> None:
    found(seen)
    claim = seen.state.claims.claim("uid-timed", "stop", LIMIT)
    assert claim is not None
    entries = (a_hold(uid="uid-timed"), a_capture(uid="uid-timed", micro=micro))
    seen.journal.close(Closing(claim=claim, entries=entries))
    assert seen.passes.may_be_news() is is_news


def test_a_pass_is_remembered_as_it_was(seen: Seen) -> None:
    found(seen)
    for number in (1, 2):
        seen.passes.note(a_note(number))
    assert seen.state.passes.latest() == (a_note(2), a_note(1))
    assert seen.state.passes.latest(1) == (a_note(2),)


class TestLight:
    """What the way without SQLAlchemy leaves to the other one."""

    def both(self, root: Path) -> tuple[LightPasses, list[State]]:
        """The light way, and every state that was opened because it gave up."""
        states: list[State] = []

        def in_full() -> Passes:
            states.append(opened(root))
            return states[-1].passes

        return LightPasses(root / ".nodus/state.db", in_full), states

    def test_only_so_many_passes_are_kept(self, tmp_path: Path) -> None:
        state = opened(tmp_path)
        state.journal.consume(a_consumption())
        light = LightPasses(tmp_path / ".nodus/state.db", never)
        for number in range(PASSES_KEPT + 3):
            light.note(a_note(number))
        kept = state.passes.latest(PASSES_KEPT * 2)
        assert (len(kept), kept[0].id, kept[-1].id) == (PASSES_KEPT, f"pass-{PASSES_KEPT + 2}", "pass-3")

    def test_an_older_schema_is_left_to_the_state_opened_in_full(self, tmp_path: Path) -> None:
        with opened(tmp_path) as state:
            state.journal.consume(a_consumption())
            whole = state.passes.glance()
        with sqlite3.connect(tmp_path / ".nodus/state.db") as file:
            file.execute("UPDATE alembic_version SET version_num = 'one from tomorrow'")
        file.close()
        light, states = self.both(tmp_path)
        with pytest.raises(UserError) as refusal:
            light.glance()
        assert (refusal.value.diagnostics[0].code, len(states)) == ("StateNewer", 1)
        assert whole.briefs

    @pytest.mark.parametrize("content", [b"", b"kind: Workspace\n", b"SQLite format 3\x00" + b"\x00garbage" * 200])
    def test_a_file_that_is_no_state_is_told_as_ever(self, tmp_path: Path, content: bytes) -> None:
        (tmp_path / ".nodus").mkdir()
        (tmp_path / ".nodus/state.db").write_bytes(content)
        light, states = self.both(tmp_path)
        if not content:
            assert light.glance() == Glance()
        else:
            with pytest.raises(UserError) as refusal:
                light.glance()
            assert refusal.value.diagnostics[0].code == "StateUnreadable"
        assert len(states) == 1
        assert (tmp_path / ".nodus/state.db").read_bytes() == content

    def test_a_status_of_a_newer_version_is_told(self, tmp_path: Path) -> None:
        with opened(tmp_path) as state:
            state.journal.consume(replace(a_consumption(), statuses={"uid-lab": ObjectStatus(phase=Phase.STOPPED)}))
        with sqlite3.connect(tmp_path / ".nodus/state.db") as file:
            file.execute("""UPDATE statuses SET body = replace(body, '"Stopped"', '"Hovering"')""")
        file.close()
        light, _ = self.both(tmp_path)
        with pytest.raises(UserError) as refusal:
            light.glance()
        assert refusal.value.diagnostics[0].code == "StateNewer"

    def test_a_busy_state_is_told(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        with opened(tmp_path) as state:
            state.journal.consume(a_consumption())
        monkeypatch.setattr(channels, "BUSY_SECONDS", 0.05)
        blocker = sqlite3.connect(tmp_path / ".nodus/state.db", isolation_level=None)
        blocker.execute("BEGIN IMMEDIATE")
        light, states = self.both(tmp_path)
        assert len(light.glance().briefs) == 1, "who reads waits for nobody"
        with pytest.raises(UserError) as refusal:
            light.note(a_note())
        assert (refusal.value.diagnostics[0].code, len(states)) == ("StateBusy", 1)
        blocker.execute("ROLLBACK")
        blocker.close()
        light.note(a_note())
        assert states[0].passes.latest() == (a_note(),)

    def test_a_glance_changes_no_byte(self, tmp_path: Path) -> None:
        with opened(tmp_path) as state:
            state.journal.consume(a_consumption())
        path = tmp_path / ".nodus/state.db"
        before = path.read_bytes()
        light = LightPasses(path, never)
        assert light.glance().briefs
        assert not light.may_be_news()
        assert path.read_bytes() == before
