"""Another process at a state: started by the tests with the state's root, what to do there, and its URL. Ends by itself within seconds."""

from __future__ import annotations

import sys
import time
from dataclasses import replace
from datetime import timedelta
from pathlib import Path

from nodusctl.attempts.intents import IntentState
from nodusctl.base.clock import SystemWall
from nodusctl.ports.journal import Closing, Stale
from nodusctl.ports.keys import KeyChange
from nodusctl.store.opening import State, open_state
from nodusctl.store.sealing import KeyMaterial
from nodusctl.testing.store_hooks import LIMIT, NOON, STATE_KEY, a_capture, a_consumption, a_replacement, an_opening

TURNS = 15


def opened(root: Path, *, read_only: bool = False) -> State:
    key = KeyMaterial(text=STATE_KEY)
    url = sys.argv[3] if len(sys.argv) > 3 else "sqlite:///.nodus/state.db"
    return open_state(url, root=root, key=key, wall=SystemWall(), holder_command="nodusctl apply", read_only=read_only)


def read_nothing(root: Path) -> None:
    state = opened(root, read_only=True)
    print(state.journal.exists(), state.journal.snapshot().serial, "sqlalchemy" in sys.modules, flush=True)


def open_and_hang(root: Path) -> None:
    state = opened(root)
    claim = state.claims.claim("uid-lab", "launch", timedelta(hours=1))
    assert claim is not None
    state.journal.open(an_opening(claim))
    print("hanging", flush=True)
    time.sleep(60)


def steps(root: Path) -> None:
    state = opened(root)
    number = len(state.journal.attempts())
    claim = state.claims.preempt("uid-lab", "launch", LIMIT)
    print("working", flush=True)
    give_up_at = time.monotonic() + 60
    while time.monotonic() < give_up_at:
        number += 1
        opening = an_opening(claim, number)
        state.journal.open(opening)
        closed = replace(opening.intent, state=IntentState.CLOSED)
        state.journal.close(Closing(claim=claim, intent=closed, entries=(a_capture(number),)))


def consume(root: Path) -> None:
    try:
        opened(root).journal.consume(a_consumption())
        print("done")
    except Stale as refusal:
        print(refusal.kind)


def claim_in_turns(root: Path) -> None:
    state, turns = opened(root), 0
    while turns < TURNS:
        claim = state.claims.claim("uid-lab", "launch", LIMIT)
        if claim is None:
            time.sleep(0.001)
            continue
        print(claim.fence)
        turns += 1
        state.claims.drop(claim)


def rotate(root: Path) -> None:
    """Ada's key, again and again."""
    url = sys.argv[3]
    key = KeyMaterial(path=root / "ada/state.key", member_path=root / "ada/member.key")
    state = open_state(url, root=root, key=key, wall=SystemWall(), holder_command="nodusctl state keys rotate")
    print("working", flush=True)
    give_up_at = time.monotonic() + 60
    while time.monotonic() < give_up_at:
        state.keys.rotate(KeyChange(by="ada@lab1", at=NOON))


def push(root: Path) -> None:
    """Two kept states, in turns."""
    state = opened(root)
    files = [state.copies.read(root / name) for name in ("first.json", "second.json")]
    print("working", flush=True)
    give_up_at, turn = time.monotonic() + 60, 0
    while time.monotonic() < give_up_at:
        turn += 1
        state.copies.replace(a_replacement(files[turn % 2], turn))


if __name__ == "__main__":
    acts = {
        "push": push,
        "rotate": rotate,
        "read-nothing": read_nothing,
        "open-and-hang": open_and_hang,
        "steps": steps,
        "consume": consume,
        "claim-in-turns": claim_in_turns,
    }
    acts[sys.argv[2]](Path(sys.argv[1]))
