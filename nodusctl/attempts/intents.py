"""An Intent: what we are about to do outside, written before the call and closed after it.

An open intent whose writer died is the only trace of a call that may have happened. It is settled by asking the provider for
its token, never by guessing.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum
from typing import Any

from nodusctl.base.ids import Address


class StepKind(StrEnum):
    """The steps that leave this process."""

    LAUNCH = "launch"
    RELEASE = "release"
    CREATE_DISK = "create-disk"
    ATTACH = "attach"
    DETACH = "detach"
    SAVE = "save"
    RESTORE = "restore"
    DELETE_REVISION = "delete-revision"
    GROW = "grow"
    DELETE_DISK = "delete-disk"
    HAND_OVER_KEYS = "hand-over-keys"
    PUSH = "push"
    RENEW = "renew"
    QUIESCE = "quiesce"


class IntentState(StrEnum):
    """Open until the outside world is known to match; cancelled when a stop pre-empts it before its call."""

    OPEN = "open"
    CLOSED = "closed"
    CANCELLED = "cancelled"


@dataclass(frozen=True, slots=True, kw_only=True)
class Intent:
    """One step of one object.

    ``target_uid`` is the object whose outside half changes (a Volume for disk steps). ``request`` is what is asked, without secrets.
    ``opened_at`` is just before the call, the last one where it was sent again; ``absences`` are times since then at which a look-up of
    ``token`` found nothing (rule R3 wants two after the lag bound).
    """

    id: str
    object_uid: str
    address: Address
    target_uid: str
    attempt_uid: str
    step: StepKind
    provider: str
    token: str
    try_number: int
    request_digest: str
    request: Mapping[str, Any] = field(default_factory=dict)
    opened_at: datetime
    state: IntentState = IntentState.OPEN
    outcome: str = ""
    closed_at: datetime | None = None
    absences: tuple[datetime, ...] = ()
    last_detail: str = ""
