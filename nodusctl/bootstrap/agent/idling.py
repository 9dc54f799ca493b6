"""The keeper's part in idleness: a look a minute by a child, what it shows, a warning before the stop, and the stop.

The machine stops itself only after a look made at or behind the deadline has found nothing: what can't be looked at is not idle, and the
armed edge bounds that. Between two looks a tick costs three small files.
"""

from __future__ import annotations

import contextlib
import os
import signal
import sys
from collections.abc import Collection

from . import activity, edge, judging, looking, processes, samples, terminals
from .layout import Layout, read_text, write_text
from .samples import Sample, Terminal

_LOOK_LIMIT_SECONDS = 30.0


class Idling:
    """Asked once a tick."""

    def __init__(self, layout: Layout) -> None:
        self._layout = layout
        now = edge.boot_clock()
        # The first look compares with nothing: whatever runs by then counts.
        self._seen = Sample(clock=now, wall=edge.wall_time(now))
        self._looked = now
        self._looker = 0
        self._warned: dict[str, dict[str, float]] = {"idle": {}, "edge": {}}
        activity.begin(layout)

    def step(self, ended: Collection[int]) -> bool:
        """Take in a look that has been made, and begin the next where it is due; True when the machine has been idle for too long."""
        if self._looker in ended:
            self._looker = 0
            self._take_in()
            left = activity.idle_remaining_seconds(self._layout)
            if judging.is_over(left) and self._seen.clock >= self._looked:
                return True
            self._warn(left)
        now = edge.boot_clock()
        if self._looker:
            if now - self._looked > _LOOK_LIMIT_SECONDS:
                self._give_up()
        elif now >= self._due(now):
            self._begin_look(now)
        return False

    def evidence(self) -> str:
        """Why the machine is idle, for people."""
        last = activity.last_fact(self._layout)
        since = activity.last_used(self._layout)[1]
        return f"idle since {since} (timeout {activity.timeout_seconds(self._layout)} s); last activity: {last or 'none'}"

    def say_farewell(self, why: str) -> None:
        """Tell whoever sits at a terminal that the machine stops now."""
        terminals.tell([one for one in self._seen.terminals if one.is_attached], terminals.farewell(why))

    def _due(self, now: float) -> float:
        left, timeout = activity.idle_remaining_seconds(self._layout), activity.timeout_seconds(self._layout)
        return judging.next_look(self._looked, left, timeout, edge.remaining_seconds(self._layout), now)

    def _begin_look(self, now: float) -> None:
        self._looked = now
        child = os.fork()
        if child:
            self._looker = child
            return
        status = 1
        with contextlib.suppress(BaseException):
            processes.become_worker()
            text = samples.text_of(looking.look(self._layout, self._seen))
            write_text(self._layout.sample_file, text, is_synced=False)
            status = 0
        os._exit(status)

    def _give_up(self) -> None:
        sys.stderr.write("a look at the machine took too long and was given up\n")
        with contextlib.suppress(ProcessLookupError):
            os.kill(self._looker, signal.SIGKILL)
        self._looker = 0

    def _take_in(self) -> None:
        with contextlib.suppress(ValueError, KeyError, TypeError):
            sample = samples.sample_from(read_text(self._layout.sample_file))
            if sample.clock >= self._looked:
                facts = judging.facts_between(self._seen, sample, looking.TICKS_PER_SECOND)
                self._seen = sample
                if facts:
                    activity.note(self._layout, facts)

    def _warn(self, idle_left: float | None) -> None:
        """Tell each terminal once of each deadline that is near."""
        now, edge_left = edge.boot_clock(), edge.remaining_seconds(self._layout)
        timeout = activity.timeout_seconds(self._layout)
        if timeout is not None and idle_left is not None and idle_left <= judging.idle_lead(timeout):
            since = edge.wall_time(activity.last_used(self._layout)[0])
            self._tell("idle", now + idle_left, terminals.idle_warning(idle_left, since))
        if edge_left <= judging.WARNING_SECONDS:
            self._tell("edge", now + edge_left, terminals.edge_warning(edge_left, edge.wall_time(now + edge_left)))

    def _tell(self, kind: str, deadline: float, line: str) -> None:
        told = terminals.tell(judging.unwarned(self._seen.terminals, self._warned[kind], deadline), line)
        if told:
            self._warned[kind].update({one.name: deadline for one in told})
            self._seen = self._seen._replace(terminals=_replaced(self._seen.terminals, told))
            activity.was_warned(self._layout, [one.name for one in told])


def _replaced(known: tuple[Terminal, ...], changed: Collection[Terminal]) -> tuple[Terminal, ...]:
    by_name = {one.name: one for one in changed}
    return tuple(by_name.get(one.name, one) for one in known)
