"""First-boot documents in the vault, from a launch's intent until its Attempt is over.

A document is kept whole, because a launch that is sent again after a crash must be the same bytes, also when a newer nodusctl with another
agent sends it. But nearly all of it is the agent's source, the same in every document of a version: that part is kept once, under its
digest, and a document refers to it. It holds no secret and stays.
"""

from __future__ import annotations

import hashlib
import re
from functools import cache

from nodusctl.ports.journal import Journal

SHARED_NAMES = "boot-part/"
_REFERENCE = re.compile("\x00([0-9a-f]{64})\x00")
"""Stands in a kept document for a shared part; no form of document has such a character of its own."""


def boot_name(attempt_uid: str, try_number: int) -> str:
    """Where a first-boot document lies in the vault until the Attempt is over."""
    return f"boot/{attempt_uid}/{try_number}"


def kept_document(journal: Journal, name: str, document: str, shared: str) -> dict[str, str]:
    """What goes to the vault for ``document``; ``shared`` is the part of it that others have too, empty where there is none."""
    before, found, after = document.partition(shared) if shared else (document, "", "")
    if not found:
        return {name: document}
    reference = _digest(shared)
    kept = {name: f"{before}\x00{reference}\x00{after}"}
    part = SHARED_NAMES + reference
    return kept if journal.secret(part) is not None else {**kept, part: shared}


@cache
def _digest(shared: str) -> str:
    return hashlib.sha256(shared.encode()).hexdigest()


def document_in(journal: Journal, name: str) -> str:
    """The document as it was rendered; empty where none is kept."""
    kept = journal.secret(name) or ""
    return _REFERENCE.sub(lambda found: journal.secret(SHARED_NAMES + found[1]) or "", kept)
