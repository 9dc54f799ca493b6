"""Which objects a pass looks at, and in which turn: cheap, from a few stored facts, so that ten thousand at rest cost next to nothing.

What may end or is on its way comes first, what only begins comes last: no start that hangs ever delays a stop. The surprise: a Brief is
not a Standing. It holds the few parts that decide, so that a store can give it without reading whole specs and approvals.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from enum import IntEnum
from typing import TYPE_CHECKING, Any

from nodusctl.base.ids import Address
from nodusctl.lifecycle.windows import has_openings, unused_until, windows_digest
from nodusctl.state.requests import RESTART_REQUEST, RESTORE_REQUEST, START_REQUEST, STOP_REQUEST, is_unanswered
from nodusctl.state.status import Phase, StorageStretch, WindowsStanding

if TYPE_CHECKING:
    from nodusctl.state.snapshot import Standing

ALIVE = frozenset({Phase.STARTING, Phase.RUNNING, Phase.RECOVERING, Phase.STOPPING, Phase.TERMINATING})
"""Phases in which something of a Workspace may be outside."""
SPEC_PARTS = ("schedule", "state")
"""What a Brief knows of a spec."""


class Turn(IntEnum):
    """The two halves of a pass."""

    GOES_ON = 1
    BEGINS = 2


@dataclass(frozen=True, slots=True, kw_only=True)
class Brief:
    """What tells whose turn it is. ``spec`` holds ``SPEC_PARTS`` only, as far as they are set.

    ``is_going`` is True once its deletion was asked for; ``storage`` is what a Volume's disk costs.
    """

    uid: str
    address: Address
    phase: Phase = Phase.PENDING
    spec: Mapping[str, Any] = field(default_factory=dict)
    annotations: Mapping[str, str] = field(default_factory=dict)
    handled_requests: Mapping[str, str] = field(default_factory=dict)
    windows: WindowsStanding | None = None
    storage: StorageStretch | None = None
    is_going: bool = False
    start_is_asked: bool = False
    has_open_intent: bool = False

    @property
    def is_alive(self) -> bool:
        """True while something of it may be outside."""
        return self.phase in ALIVE


def brief_of(standing: Standing) -> Brief:
    """The few parts of a whole one."""
    record, status = standing.record, standing.status
    return Brief(
        uid=record.uid,
        address=record.address,
        phase=status.phase,
        spec={name: record.spec[name] for name in SPEC_PARTS if record.spec.get(name) is not None},
        annotations=record.annotations,
        handled_requests=status.handled_requests,
        windows=status.windows,
        storage=status.volume.storage if status.volume is not None else None,
        is_going=record.deletion_requested_at is not None,
        start_is_asked=status.start_is_asked,
        has_open_intent=standing.has_open_intent,
    )


def turn_of(brief: Brief, now: datetime, lead: timedelta) -> Turn | None:
    """The half of a pass an object belongs to; None where nothing can be due."""
    kind = brief.address.kind
    if brief.has_open_intent or brief.is_going:
        return Turn.GOES_ON if kind in {"workspace", "volume"} or brief.is_going else None
    if kind == "volume":
        due = brief.storage.month_ends if brief.storage is not None else None
        is_asked = is_unanswered(RESTORE_REQUEST, brief.annotations, brief.handled_requests)
        return Turn.GOES_ON if is_asked or (due is not None and due <= now) else None
    if kind != "workspace":
        return None
    if brief.is_alive:
        return Turn.GOES_ON
    if brief.phase is Phase.PENDING or brief.start_is_asked or _has_open_request(brief):
        return Turn.BEGINS
    return Turn.BEGINS if _opening_is_due(brief, now, lead) else None


def _has_open_request(brief: Brief) -> bool:
    requests = (START_REQUEST, STOP_REQUEST, RESTART_REQUEST)
    return any(is_unanswered(request, brief.annotations, brief.handled_requests) for request in requests)


def _opening_is_due(brief: Brief, now: datetime, lead: timedelta) -> bool:
    standing = brief.windows
    if not has_openings(brief.spec, brief.annotations):
        return False
    if standing is None or standing.digest != windows_digest(brief.spec, brief.annotations):
        return True
    if brief.spec.get("state", "Running") != "Running":
        return False
    return bool(unused_until(brief.spec, brief.annotations, lead, now, standing))
