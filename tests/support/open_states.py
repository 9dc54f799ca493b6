"""States that tests have opened, so that each is closed after the test that opened it, whatever became of that."""

from __future__ import annotations

from nodusctl.store.opening import State

_OPEN: list[State] = []


def kept(state: State) -> State:
    """The same state; it is closed after the test, if it still is open then."""
    _OPEN.append(state)
    return state


def close_all() -> None:
    """Give back every file that is still open."""
    while _OPEN:
        _OPEN.pop().close()
