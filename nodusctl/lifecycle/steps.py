"""Steps: what is due next for one object. Each says because of what.

Three families. A ``Mark`` only writes. A ``Look`` only reads. The rest call the outside world, with an intent before and an outcome after.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum

from nodusctl.attempts.intents import Intent
from nodusctl.lifecycle.windows import Opening
from nodusctl.state.terms import Terms


class MarkKind(StrEnum):
    """What a Mark writes; ``marks.py`` holds one function for each."""

    TERMINATE = "terminate"
    BEGIN_STOP = "begin-stop"
    BEGIN_RESTART = "begin-restart"
    BEGIN_START = "begin-start"
    SETTLE_SPEC = "settle-spec"
    REST = "rest"
    FAIL = "fail"
    LOSE_START = "lose-start"
    SKIP_QUIESCE = "skip-quiesce"
    GIVE_UP_SAVE = "give-up-save"
    CLOSE_ATTEMPT = "close-attempt"
    REMOVE = "remove"
    DROP_RESTORE = "drop-restore"
    BEGIN_RECOVERY = "begin-recovery"
    SKIP_START = "skip-start"
    SKIP_OPENING = "skip-opening"
    SETTLE_WINDOWS = "settle-windows"
    POST_STORAGE = "post-storage"


@dataclass(frozen=True, slots=True, kw_only=True)
class _Due:
    because: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Settle(_Due):
    """Turn an open intent into a known outcome by asking the provider for its token."""

    intent: Intent


@dataclass(frozen=True, slots=True, kw_only=True)
class Resend(_Due):
    """Send the same request under the same token again: absence is proved, or the call is one that only states a goal."""

    intent: Intent


@dataclass(frozen=True, slots=True, kw_only=True)
class Abandon(_Due):
    """Close an intent whose call is proved not to have happened."""

    intent: Intent


@dataclass(frozen=True, slots=True, kw_only=True)
class QueueAttempt(_Due):
    """Open a new Attempt for the slot."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CreateDisk(_Due):
    """Make the home Volume's disk where the machine will be placed."""

    terms: Terms


@dataclass(frozen=True, slots=True, kw_only=True)
class DropEmptyDisk(_Due):
    """Delete a disk this Attempt made in a place that turned out sold out; it never held anything (rules R6, R14)."""

    disk_id: str
    provider: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Launch(_Due):
    """Start a machine on these terms."""

    terms: Terms


@dataclass(frozen=True, slots=True, kw_only=True)
class Look(_Due):
    """Ask the provider about the Attempt's machine."""


@dataclass(frozen=True, slots=True, kw_only=True)
class AttachHome(_Due):
    """Attach the home Volume's disk."""


@dataclass(frozen=True, slots=True, kw_only=True)
class HandOverKeys(_Due):
    """First verified login: install the durable host key, read back, and verify it by a second connection."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PushSecrets(_Due):
    """Put environment, secrets and login keys on the machine, and read them back."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Probe(_Due):
    """Ask the machine whether its tools answer and its edge is armed."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Renew(_Due):
    """Move the machine's edge: the hold is raised before it is told, and lowered after it has read back an earlier one."""

    until: datetime
    bound: str


@dataclass(frozen=True, slots=True, kw_only=True)
class AskPrices(_Due):
    """Ask what the approved offers cost now: a start nobody watches stays inside the ceilings."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ReadFacts(_Due):
    """Ask a machine that is about to end what was last done on it; it can't be asked afterwards."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Quiesce(_Due):
    """Close the door and end the user's processes."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Release(_Due):
    """End the machine, or ask whether it has ended."""


@dataclass(frozen=True, slots=True, kw_only=True)
class DetachHome(_Due):
    """Detach the home Volume's disk, confirmed."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SaveHome(_Due):
    """Commit the next revision from the quiet disk."""

    number: int


@dataclass(frozen=True, slots=True, kw_only=True)
class RestoreDisk(_Due):
    """Make a Volume's live disk equal to one of its revisions. ``asked`` is the request's whole text."""

    number: int
    revision_id: str
    asked: str


@dataclass(frozen=True, slots=True, kw_only=True)
class DropRevision(_Due):
    """Delete one revision of a Volume (of the home, where the object is a Workspace)."""

    number: int
    revision_id: str


@dataclass(frozen=True, slots=True, kw_only=True)
class GrowDisk(_Due):
    """Grow a Volume's disk in place."""

    size_bytes: int


@dataclass(frozen=True, slots=True, kw_only=True)
class DeleteDisk(_Due):
    """Delete a Volume's disk and its revisions."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Mark(_Due):
    """Write something down and go on. ``opening`` is the one a start is for, or that is passed over."""

    what: MarkKind
    reason: str = ""
    message: str = ""
    opening: Opening | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Wait(_Due):
    """Nothing to do before ``until``; waiting holds nothing.

    ``code`` is a reason of errors.py where it waits because something brought nothing: a pass that waits for no time ends on it.
    """

    until: datetime
    code: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class GiveUp(_Due):
    """This pass can do no more for the object; what is open stays stored and the next pass goes on. ``code`` is a reason of errors.py."""

    code: str


Call = (
    Settle
    | Resend
    | CreateDisk
    | DropEmptyDisk
    | Launch
    | Look
    | AttachHome
    | HandOverKeys
    | PushSecrets
    | Probe
    | AskPrices
    | ReadFacts
    | Renew
    | Quiesce
    | Release
    | DetachHome
    | SaveHome
    | RestoreDisk
    | DropRevision
    | GrowDisk
    | DeleteDisk
)
Step = Call | Abandon | QueueAttempt | Mark
