"""What became of an opening, recorded once: started, started late, or passed over with a reason.

The surprise: an opening whose start never got a machine was not started, however long that was tried. So "started" is recorded when the
first machine of its session is accepted, and not when the pass decides to begin.
"""

from __future__ import annotations

from dataclasses import replace

from nodusctl.attempts.events import OccurrenceUsed
from nodusctl.base.timestamps import parse_time
from nodusctl.lifecycle.situation import Situation
from nodusctl.state.status import WindowsStanding


def started(situation: Situation) -> tuple[OccurrenceUsed, ...]:
    """For the launch that was just accepted; empty where no window asked for it, or an earlier machine of this session was accepted."""
    session = situation.status.session
    if session is None or not session.occurrence or _had_machine(situation):
        return ()
    outcome = "started-late" if situation.now > parse_time(session.occurrence) else "started"
    return (OccurrenceUsed(time=situation.now, object_uid=situation.uid, occurrence=session.occurrence, outcome=outcome),)


def unstarted(situation: Situation) -> str:
    """The occurrence of a session that ends without ever having had a machine; empty otherwise."""
    session = situation.status.session
    return session.occurrence if session is not None and not _had_machine(situation) else ""


def passed_over(situation: Situation, occurrence: str, reason: str, message: str) -> OccurrenceUsed:
    """The record of a skip."""
    return OccurrenceUsed(
        time=situation.now, object_uid=situation.uid, occurrence=occurrence, outcome="skipped", reason=reason, message=message
    )


def with_skip(windows: WindowsStanding | None, occurrence: str, reason: str, message: str) -> WindowsStanding | None:
    """The standing that tells of a skip."""
    return replace(windows, skipped=occurrence, skip_reason=reason, skip_message=message) if windows is not None else None


def _had_machine(situation: Situation) -> bool:
    session, current = situation.status.session, situation.attempt
    tried = (*situation.earlier, *((current,) if current is not None else ()))
    return session is not None and any(one.machine is not None and one.timings.queued_at >= session.began_at for one in tried)
