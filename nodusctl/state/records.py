"""A Record: one desired object as stored.

Three specs meet in a diff: what the file says now, what it said when last applied (``applied``), and the live one (``spec``).
A record keeps the last two.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from nodusctl.base.ids import Address
from nodusctl.base.money import Money
from nodusctl.state.terms import Approval


@dataclass(frozen=True, slots=True, kw_only=True)
class Record:
    """One desired object.

    ``spec`` is canonical (long form, camelCase, JSON values) with defaults; ``applied`` is as the file wrote it, canonical, without
    defaults, or None for an object no file made. ``source`` is the file, relative to the project. ``is_retained`` marks a Volume
    whose YAML is gone. ``storage_usd_per_gib_month`` is what a Volume's disk costs by its last applied plan: it grows at this price.
    """

    uid: str
    address: Address
    generation: int
    created_at: datetime
    spec: Mapping[str, Any]
    applied: Mapping[str, Any] | None = None
    labels: Mapping[str, str] = field(default_factory=dict)
    annotations: Mapping[str, str] = field(default_factory=dict)
    applied_labels: Mapping[str, str] = field(default_factory=dict)
    applied_annotations: Mapping[str, str] = field(default_factory=dict)
    source: str = ""
    is_retained: bool = False
    approval: Approval | None = None
    deletion_requested_at: datetime | None = None
    discards_home: bool = False
    storage_usd_per_gib_month: Money | None = None


@dataclass(frozen=True, slots=True)
class PutRecord:
    """Write a record, new or changed; the same uid under another address is a move."""

    record: Record


@dataclass(frozen=True, slots=True)
class RemoveRecord:
    """Remove a record whose outside things are confirmed gone. The sealed values of a Secret go with its record."""

    uid: str


RecordChange = PutRecord | RemoveRecord
