"""Which run of the suite made a thing at a platform, and whether that run is over.

Every run has an id of its own, which all its names, uids and lineages begin with, so that two runs on one platform never meet. It also says
which process made it: what a killed run left behind is known by that and nothing else.
"""

from __future__ import annotations

import hashlib
import os
import re
import uuid
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta

from nodusctl.ports.claims import Holder, Liveness
from nodusctl.provider.tokens import ownership_of
from nodusctl.store.holders import boot_id, liveness, this_holder

PROJECT = "conformance"
OLD = timedelta(hours=12)
"""From then on a thing counts as left over though its process can't be judged: it ran on another computer, or before a boot."""
_UID = re.compile(r"([0-9a-f]{8})-(\d+)-(\d+)-([0-9a-f]{8})-")


@dataclass(frozen=True, slots=True)
class Run:
    """One run: ``id`` is 8 hex digits, ``state_id`` its lineage."""

    id: str
    state_id: str

    @classmethod
    def new(cls) -> Run:
        """A run of this process."""
        made = uuid.uuid4()
        return cls(id=made.hex[:8], state_id=str(made))

    def uid(self, name: str) -> str:
        """A uid of this run: its id, the process, the computer's boot, and a name."""
        return f"{self.id}-{os.getpid()}-{this_holder('').start_ticks}-{_origin()}-{name}"

    def made(self, tags: Mapping[str, str]) -> bool:
        """True for the tags of a thing of this run."""
        owner = ownership_of(tags)
        return owner is not None and owner.attempt_uid.startswith(f"{self.id}-")


def is_left_over(tags: Mapping[str, str], made_at: datetime | None, now: datetime) -> bool:
    """True where a run of this suite made it and that run's process is dead, or can't be judged and the thing is old."""
    owner = ownership_of(tags)
    found = _UID.match(owner.attempt_uid) if owner is not None and owner.project == PROJECT else None
    if found is None:
        return False
    _, pid, start_ticks, origin = found.groups()
    if origin == _origin():
        holder = Holder(user="", host="", pid=int(pid), start_ticks=int(start_ticks), boot_id=boot_id(), command="")
        return liveness(holder) is Liveness.DEAD
    return made_at is not None and now - made_at > OLD


def _origin() -> str:
    return hashlib.sha256(boot_id().encode()).hexdigest()[:8]
