"""What an owner asks of a home's revisions or of a session, as it stands in an annotation of the record until it is done.

Only the program writes ``OWN_REQUESTS``; they are not in the list of annotations a file may have. The surprise: a restore's request
names what it was reviewed over. A disk that was used since is another disk, and restoring over it would lose what nobody agreed to lose.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta

from nodusctl.base.timestamps import format_time, parse_time
from nodusctl.state.status import VolumeStanding

STOP_REQUEST = "nodus.dev/stop-requested-at"
START_REQUEST = "nodus.dev/start-requested-at"
RESTART_REQUEST = "nodus.dev/restart-requested-at"
REFRESH_REQUEST = "nodus.dev/refresh-secrets-requested-at"
RESTORE_REQUEST = "nodus.dev/restore-requested"
PRUNE_REQUEST = "nodus.dev/prune-requested"
EXTEND_REQUEST = "nodus.dev/extended"
DEATH_REQUEST = "nodus.dev/declared-dead"
WAKE_REQUEST = "nodus.dev/woken"
OWN_REQUESTS = frozenset({RESTORE_REQUEST, PRUNE_REQUEST, EXTEND_REQUEST, DEATH_REQUEST, WAKE_REQUEST})
ACTION_OF = {
    STOP_REQUEST: "stop",
    START_REQUEST: "start",
    RESTART_REQUEST: "restart",
    REFRESH_REQUEST: "refresh-secrets",
    RESTORE_REQUEST: "restore",
    PRUNE_REQUEST: "prune",
}
"""Under which name ``status.handledRequests`` says what was last done about a request."""
_RESTORE = re.compile(r"(?P<number>[0-9]+) over (?P<over>[0-9]+\+?)@")
_PRUNE = re.compile(r"(?P<keep>[0-9]+)@")


def is_unanswered(request: str, annotations: Mapping[str, str], handled: Mapping[str, str]) -> bool:
    """True while a request holds a value that was not acted on yet."""
    value = annotations.get(request, "")
    return bool(value) and handled.get(ACTION_OF[request]) != value


@dataclass(frozen=True, slots=True)
class RestoreRequest:
    """Restore ``number`` over a disk that stood at ``over`` (see ``standing_mark``)."""

    number: int
    over: str


def restore_request(number: int, standing: VolumeStanding, now: datetime) -> str:
    """The annotation's text: ``1 over 3@2026-10-26T07:00:00Z``."""
    return f"{number} over {standing_mark(standing)}@{format_time(now)}"


def prune_request(keep: int, now: datetime) -> str:
    """The annotation's text: ``2@2026-10-26T07:00:00Z``."""
    return f"{keep}@{format_time(now)}"


def read_restore(annotations: Mapping[str, str]) -> RestoreRequest | None:
    """The restore that stands in a record; None where none does."""
    found = _RESTORE.match(annotations.get(RESTORE_REQUEST, ""))
    return RestoreRequest(int(found["number"]), found["over"]) if found else None


def read_prune(annotations: Mapping[str, str]) -> int | None:
    """How many revisions the owner wanted kept; None where nobody asked."""
    found = _PRUNE.match(annotations.get(PRUNE_REQUEST, ""))
    return int(found["keep"]) if found else None


def asked_at(former: str, now: datetime) -> datetime:
    """When a request is made: now, or just after ``former`` (the annotation's text so far), since an equal text asks for nothing."""
    earlier = former.rpartition("@")[2]
    return max(now, parse_time(earlier) + timedelta(milliseconds=1)) if earlier else now


def standing_mark(standing: VolumeStanding) -> str:
    """``3`` for a disk that equals what was saved or restored last, ``3+`` for one that is newer. Changes with every session and save."""
    return f"{standing.revision}{'+' if standing.is_newer_than_revision else ''}"


@dataclass(frozen=True, slots=True)
class Extension:
    """The session that runs at ``asked_at`` may go on until ``until``."""

    until: datetime
    asked_at: datetime


def extension_request(until: datetime, now: datetime) -> str:
    """The annotation's text: ``2026-10-26T19:00:00Z@2026-10-26T16:00:00Z``."""
    return f"{format_time(until)}@{format_time(now)}"


def read_extension(annotations: Mapping[str, str]) -> Extension | None:
    """The extension that stands in a record; None where none does."""
    until, _, asked = annotations.get(EXTEND_REQUEST, "").partition("@")
    return Extension(parse_time(until), parse_time(asked)) if asked else None


def death_request(machine_id: str, now: datetime) -> str:
    """The annotation's text: ``i-000004@2026-10-26T16:00:00Z``."""
    return f"{machine_id}@{format_time(now)}"


def declared_dead(annotations: Mapping[str, str]) -> str:
    """The machine whose owner said that it is dead; empty where nobody did."""
    return annotations.get(DEATH_REQUEST, "").rpartition("@")[0]


def woken(annotations: Mapping[str, str]) -> dict[str, str]:
    """The annotations once their newest start request is marked as one that a connection made, not a person at a prompt."""
    return {**annotations, WAKE_REQUEST: annotations[START_REQUEST]}


def is_wake(annotations: Mapping[str, str]) -> bool:
    """True where the newest start request was made by a connection."""
    return bool(annotations.get(WAKE_REQUEST)) and annotations.get(WAKE_REQUEST) == annotations.get(START_REQUEST)
