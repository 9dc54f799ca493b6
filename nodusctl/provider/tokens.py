"""Client tokens, tags and names: how a thing at a provider is tied to the object it was made for.

A token is fixed and stored before the call, so that a lost reply can be settled by asking for it.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass

TAG_PREFIX = "nodus"


def client_token(state_id: str, object_uid: str, attempt_uid: str, try_number: int, request_digest: str) -> str:
    """``nodus-`` and 40 hex digits of SHA-256 over the five parts."""
    joined = "|".join((state_id, object_uid, attempt_uid, str(try_number), request_digest))
    return "nodus-" + hashlib.sha256(joined.encode()).hexdigest()[:40]


@dataclass(frozen=True, slots=True, kw_only=True)
class Ownership:
    """Whose a machine or disk is (rule R9)."""

    state_id: str
    project: str
    object_uid: str
    address: str
    attempt_uid: str
    owner: str

    def tags(self) -> Mapping[str, str]:
        """As tags: ``nodus-state``, ``nodus-project``, ``nodus-uid``, ``nodus-address``, ``nodus-attempt``, ``nodus-owner``."""
        return {
            f"{TAG_PREFIX}-state": self.state_id,
            f"{TAG_PREFIX}-project": self.project,
            f"{TAG_PREFIX}-uid": self.object_uid,
            f"{TAG_PREFIX}-address": self.address,
            f"{TAG_PREFIX}-attempt": self.attempt_uid,
            f"{TAG_PREFIX}-owner": self.owner,
        }

    @property
    def machine_name(self) -> str:
        """A name that carries the uid: ``nodus-lab-1f0c2b3a``."""
        return f"nodus-{self.address.partition('/')[2]}-{(self.attempt_uid or self.object_uid)[:8]}"


def ownership_of(tags: Mapping[str, str]) -> Ownership | None:
    """Read tags back; None where they aren't ours."""
    if f"{TAG_PREFIX}-state" not in tags:
        return None

    def tag(name: str) -> str:
        return tags.get(f"{TAG_PREFIX}-{name}", "")

    return Ownership(
        state_id=tag("state"),
        project=tag("project"),
        object_uid=tag("uid"),
        address=tag("address"),
        attempt_uid=tag("attempt"),
        owner=tag("owner"),
    )
