"""One Resource against its record: the Action that would bring the state to what the file means, or none.

Offers, costs and reasons come later; a draft knows only what the files and the state say.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Any

from nodusctl.base.ids import Address
from nodusctl.lifecycle.windows import is_open
from nodusctl.plan.actions import Action, Verb
from nodusctl.plan.changes import ChangeClass, FieldChange
from nodusctl.plan.facts import facts_for, home_of
from nodusctl.planner.classes import field_change, heaviest, is_up
from nodusctl.planner.diff import differences, plain
from nodusctl.planner.ignoring import Ignored, with_ignored
from nodusctl.planner.merging import desired_spec, desired_texts
from nodusctl.resources.resource import Resource
from nodusctl.state.records import Record
from nodusctl.state.snapshot import Snapshot, Standing

APPROVED_RATE = "approved rate"
"""The path of a change that approves today's prices and nothing else."""
FormerDefaults = Callable[[str, Mapping[str, Any]], Mapping[str, Any]]
"""``(kind, applied) → applied with today's defaults``; ``applied`` is in long form and was valid when it was applied."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Draft:
    """One object on its way into the plan. ``standing`` is None for a new one; ``action`` None where nothing desired changes."""

    resource: Resource
    standing: Standing | None
    desired: Mapping[str, Any]
    action: Action | None
    ignored_fields: int = 0

    @property
    def address(self) -> Address:
        """Where the object will be."""
        return self.resource.address

    @property
    def changed_fields(self) -> frozenset[str]:
        """Top-level fields of the spec that change (``resources``, ``state``); empty for a new object."""
        changes = self.action.changes if self.action is not None else ()
        return frozenset(change.path.split(".")[1].partition("[")[0] for change in changes if change.path.startswith("spec."))


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """What the person asked for beyond the files, as far as one object is concerned."""

    moved_from: Address | None = None
    restarts: bool = False
    hmacs: Mapping[str, str] | None = None
    renamed: Mapping[str, str] | None = None
    ignored: tuple[Ignored, ...] = ()
    now: datetime
    window_lead: timedelta = timedelta(minutes=15)


def draft(resource: Resource, snapshot: Snapshot, asked: Asked, former_defaults: FormerDefaults) -> Draft:
    """Compare one Resource with its record (with the one it moves from, for a move)."""
    standing = snapshot.get(asked.moved_from or resource.address)
    if standing is None:
        return Draft(resource=resource, standing=None, desired=resource.spec, action=_creation(resource, snapshot, asked))
    record = standing.record
    merged = desired_spec(
        written=resource.written,
        applied=record.applied,
        live=record.spec,
        defaults=resource.spec,
        former_defaults=lambda: former_defaults(resource.kind, record.applied or {}),
    )
    desired, ignored_fields = with_ignored(merged, plain(record.spec), resource.address, asked.ignored)
    changes = (
        *(field_change(resource.kind, one, standing) for one in differences(record.spec, desired)),
        *_text_changes(resource, record),
        *_secret_changes(standing, asked, desired),
        *_return_of_retained(record),
    )
    changes = tuple(_following_a_move(change, asked) for change in changes)
    one = Draft(resource=resource, standing=standing, desired=desired, action=None, ignored_fields=ignored_fields)
    changes = tuple(_within_windows(change, one, asked) for change in changes)
    return replace(one, action=updated(one, changes, asked, snapshot))


def _creation(resource: Resource, snapshot: Snapshot, asked: Asked) -> Action:
    wanted = Action(
        verb=Verb.CREATE,
        address=resource.address,
        spec=plain(resource.spec),
        applied=plain(resource.written),
        labels=dict(resource.labels),
        annotations=dict(resource.annotations),
        change_class=_creation_class(resource, asked),
        source=resource.source,
        line=resource.span.line,
        secret_hmacs=asked.hmacs,
        notes=_secret_note(resource, asked),
    )
    facts = facts_for(Verb.CREATE, resource.address, wanted.change_class, snapshot, volume=home_of(wanted))
    return replace(wanted, facts=facts)


def _creation_class(resource: Resource, asked: Asked) -> ChangeClass:
    is_wanted = resource.address.kind == "workspace" and resource.spec.get("state", "Running") == "Running"
    starts = is_wanted and is_open(resource.spec, resource.annotations, asked.now, asked.window_lead)
    return ChangeClass.STARTS if starts else ChangeClass.FREE


def _within_windows(change: FieldChange, one: Draft, asked: Asked) -> FieldChange:
    """A start outside every window is only permission: the next window starts the machine."""
    annotations = _desired_texts(one.resource, one.standing.record)[1] if one.standing is not None else {}
    if change.change_class is not ChangeClass.STARTS or is_open(one.desired, annotations, asked.now, asked.window_lead):
        return change
    return replace(change, change_class=ChangeClass.FREE, note="its next window starts it")


def updated(one: Draft, changes: tuple[FieldChange, ...], asked: Asked, snapshot: Snapshot) -> Action | None:
    """The Action that makes these changes of an object that is there; None where nothing is to be done."""
    if one.standing is None:
        return None
    resource, record = one.resource, one.standing.record
    restarts = asked.restarts and is_up(one.standing)
    if not (changes or restarts or asked.moved_from):
        return None
    verb = Verb.RESTART if restarts else Verb.MOVE if asked.moved_from else Verb.UPDATE
    classes = [*(change.change_class for change in changes), *([ChangeClass.RESTARTS] if restarts else [])]
    labels, annotations = _desired_texts(resource, record)
    wanted = Action(
        verb=verb,
        address=resource.address,
        spec=dict(one.desired),
        applied=plain(resource.written),
        labels=labels,
        annotations=annotations,
        changes=changes,
        change_class=heaviest(classes),
        source=resource.source,
        line=resource.span.line,
        moved_from=asked.moved_from,
        secret_hmacs=asked.hmacs,
        notes=_secret_note(resource, asked),
    )
    facts = facts_for(verb, record.address, wanted.change_class, snapshot, volume=home_of(wanted))
    return replace(wanted, facts=facts)


def _desired_texts(resource: Resource, record: Record) -> tuple[dict[str, str], dict[str, str]]:
    labels = desired_texts(resource.labels, record.applied_labels, record.labels)
    return labels, desired_texts(resource.annotations, record.applied_annotations, record.annotations)


def _text_changes(resource: Resource, record: Record) -> tuple[FieldChange, ...]:
    labels, annotations = _desired_texts(resource, record)
    sides = (("metadata.labels", record.labels, labels), ("metadata.annotations", record.annotations, annotations))
    return tuple(
        FieldChange(path=f"{path}[{key}]", before=before.get(key), after=after.get(key), change_class=ChangeClass.FREE)
        for path, before, after in sides
        for key in sorted({**before, **after})
        if before.get(key) != after.get(key)
    )


def _secret_changes(standing: Standing, asked: Asked, desired: Mapping[str, Any]) -> tuple[FieldChange, ...]:
    """One line a key whose bytes are others; the values themselves are never here. A key no file writes (``secret set``) stays."""
    known = standing.status.secret.hmacs if standing.status.secret is not None else {}
    if asked.hmacs is None:
        return ()
    kept = {key for group in ("data", "stringData", "valueFrom") for key in desired.get(group) or ()} - set(asked.hmacs)
    return tuple(
        FieldChange(
            path=f"value of {key}",
            before="set" if key in known else None,
            after="set" if key in asked.hmacs else None,
            change_class=ChangeClass.FREE,
            note="a new version" if key in known and key in asked.hmacs else "",
        )
        for key in sorted({*known, *asked.hmacs} - kept)
        if known.get(key) != asked.hmacs.get(key)
    )


def _secret_note(resource: Resource, asked: Asked) -> tuple[str, ...]:
    if resource.address.kind != "secret" or asked.hmacs is not None:
        return ()
    return ("value taken at apply",)


def _return_of_retained(record: Record) -> tuple[FieldChange, ...]:
    if not record.is_retained:
        return ()
    note = "the kept Volume is taken up again, with its uid and content"
    return (FieldChange(path="metadata.retained", before=True, after=False, change_class=ChangeClass.FREE, note=note),)


def _following_a_move(change: FieldChange, asked: Asked) -> FieldChange:
    renamed = asked.renamed or {}
    if change.path == "spec.volume" and change.before in renamed and renamed[change.before] == change.after:
        return replace(change, note="follows the move of its Volume")
    return change
