"""An Action: one object's part of a plan, complete enough to be carried out with nothing but the state."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

from nodusctl.base.ids import Address
from nodusctl.plan.changes import ChangeClass, FieldChange
from nodusctl.state.terms import Terms


class Verb(StrEnum):
    """What happens to the object; the marks of cli.md are ``+ ~ ± - <=`` and, for a kept Volume, a move and a home's
    revisions, ``=``, ``>`` and ``<<`` (restore) or ``-`` (prune)."""

    CREATE = "create"
    UPDATE = "update"
    RESTART = "restart"
    DELETE = "delete"
    KEEP = "keep"
    MOVE = "move"
    ADOPT = "adopt"
    RESTORE = "restore"
    PRUNE = "prune"


@dataclass(frozen=True, slots=True, kw_only=True)
class ActionFacts:
    """The facts an Action relies on, re-checked at apply. Empty strings and zeros for an object that doesn't exist yet.

    ``disk`` is the standing of a Volume's live disk where a restore replaces it (``3`` saved, ``3+`` newer than revision 3).
    """

    uid: str = ""
    generation: int = 0
    phase: str = ""
    revision: int = 0
    holder: str = ""
    disk: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Action:
    """One object's part.

    ``spec`` is the desired canonical spec with defaults (None for a removal); ``applied``/``labels``/``annotations`` as written.
    ``restores_revision`` belongs to RESTORE, ``keeps_revisions`` (how many stay) to PRUNE; both are 0 elsewhere.
    ``terms`` are the offers apply may try, in order, with their ceilings. ``secret_hmacs`` stand in the file, not in the plan hash.
    """

    verb: Verb
    address: Address
    facts: ActionFacts = ActionFacts()
    spec: Mapping[str, Any] | None = None
    applied: Mapping[str, Any] | None = None
    labels: Mapping[str, str] = field(default_factory=dict)
    annotations: Mapping[str, str] = field(default_factory=dict)
    changes: tuple[FieldChange, ...] = ()
    change_class: ChangeClass = ChangeClass.FREE
    source: str = ""
    line: int = 0
    moved_from: Address | None = None
    discards_home: bool = False
    restores_revision: int = 0
    keeps_revisions: int = 0
    terms: tuple[Terms, ...] = ()
    secret_hmacs: Mapping[str, str] | None = None
    notes: tuple[str, ...] = ()
