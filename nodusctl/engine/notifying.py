"""Telling: one JSON document for each happening, once, to whatever takes them (the project's ``notify`` command).

It can't break a pass, and a notice that isn't taken is offered again in the next one.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any

from nodusctl.base.ids import Address
from nodusctl.base.redaction import clean
from nodusctl.base.timestamps import format_time
from nodusctl.engine.notices import Notice, Witness, is_known, notices_of, refusal_of, refuses_account
from nodusctl.engine.thresholds import thresholds_crossed
from nodusctl.executor.outside import Outside
from nodusctl.executor.runs import ObjectOutcome
from nodusctl.executor.situations import situation_of
from nodusctl.lifecycle.situation import Sightings, Situation
from nodusctl.ports.journal import StoredObject
from nodusctl.ports.passes import PassNote
from nodusctl.state.snapshot import Snapshot
from nodusctl.state.status import Phase

FORMAT_VERSION = 1
_ENDING = frozenset({Phase.STOPPING, Phase.TERMINATING})
Deliver = Callable[[str], str]
"""Hands one document over; what went wrong, empty where it was taken."""


@dataclass(frozen=True, slots=True, kw_only=True)
class News:
    """``told`` are identities of what stands and was told, now or before; ``unsent`` says what the command didn't take, and why."""

    told: tuple[str, ...] = ()
    unsent: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class PassSeen:
    """What a pass can say of itself: what was due as it found it, what became of it, and the instances that could not be asked."""

    before: Mapping[Address, StoredObject]
    outcomes: Sequence[ObjectOutcome]
    failures: Mapping[str, str]
    host: str


def tell(deliver: Deliver, outside: Outside, seen: PassSeen, earlier: Sequence[PassNote]) -> News:
    """Tell what is new. Never raises: a pass is more important than its news."""
    try:
        return _told(deliver, outside, seen, earlier)
    except Exception as problem:
        return News(unsent=(f"{type(problem).__name__}: {clean(str(problem))}",))


def _told(deliver: Deliver, outside: Outside, seen: PassSeen, earlier: Sequence[PassNote]) -> News:
    told: list[str] = []
    unsent: list[str] = []
    for notice in notices_of(_witness(outside, seen)):
        if is_known(notice, earlier):
            told.append(notice.identity)
        elif not unsent:  # a command that just failed isn't asked again in this pass: it may cost ten seconds each time
            fault = deliver(document_of(notice, outside.project, seen.host, outside.clock.now()))
            unsent += [f"{notice.kind} of {notice.about}: {fault}"] if fault else []
            told += [] if fault else [notice.identity]
    return News(told=tuple(told), unsent=tuple(unsent))


def _witness(outside: Outside, seen: PassSeen) -> Witness:
    after = outside.journal.snapshot()
    refused = {name: said for name, said in seen.failures.items() if refuses_account(said)}
    for one in seen.outcomes:
        standing = after.get(one.address)
        stored = outside.journal.load(standing.record.uid) if standing is not None and one.code == "ProviderNotReady" else None
        found = refusal_of(stored.attempts[-1]) if stored is not None and stored.attempts else None
        refused |= {found[0]: found[1]} if found is not None and found[0] not in refused else {}
    crossed = thresholds_crossed(outside.journal, outside.clock.now())
    before = {address: stored.status for address, stored in seen.before.items()}
    return Witness(before=before, after=after, stopping=_stopping(outside, after), refused=refused, crossed=crossed)


def _stopping(outside: Outside, after: Snapshot) -> tuple[Situation, ...]:
    afresh = replace(outside, built={})
    addresses: dict[Address, str] = {one.record.address: one.record.uid for one in after}
    found = (situation_of(afresh, one.record.uid, Sightings(), addresses) for one in after if one.status.phase in _ENDING)
    return tuple(one for one in found if one is not None)


def document_of(notice: Notice, project: str, host: str, now: datetime) -> str:
    """One line of JSON, without anything secret."""
    parts: dict[str, Any] = {
        "format": FORMAT_VERSION,
        "kind": str(notice.kind),
        "project": project,
        "about": notice.about,
        "summary": notice.summary,
        "detail": clean(notice.detail),
        "fix": notice.fix,
        "time": format_time(now),
        "host": host,
    }
    return json.dumps(parts, ensure_ascii=False) + "\n"
