"""Orphans, and what is about to be done with one, as text and as JSON."""

from __future__ import annotations

from typing import Any

from nodusctl.base.money import Money, total
from nodusctl.engine.adopting import Adoption
from nodusctl.engine.deleting_orphans import Deletion
from nodusctl.engine.forgetting import Forgetting, LeftBehind
from nodusctl.engine.orphans import Group, Orphan, OrphanReport
from nodusctl.render.counting import counted
from nodusctl.render.spans import moment_text
from nodusctl.render.style import Style
from nodusctl.render.tables import table

_TITLES = {
    Group.OURS: "Ours, and no record has it",
    Group.FOREIGN: "Another state's: shown, never touched without --state-id",
    Group.BEING_MADE: "Being made",
}


def orphans_text(report: OrphanReport, style: Style) -> str:
    """The three groups, each with its prices, and what all of ours costs a day."""
    parts = [_group(group, report, style) for group in Group if report.of(group)]
    ours = [one.day_usd for one in report.of(Group.OURS)]
    known = [amount for amount in ours if amount is not None]
    at_least = "at least " if len(known) < len(ours) else ""
    unasked = f" {counted(len(report.failures), 'provider')} could not be asked." if report.failures else ""
    end = f"{counted(len(ours), 'orphan')} of this state, {at_least}{total(known).shown} a day.{unasked}"
    return "\n\n".join([*parts, style.paint(end if ours else f"No orphans of this state.{unasked}", "bold")])


def _group(group: Group, report: OrphanReport, style: Style) -> str:
    heads = ["ID", "KIND", "PROVIDER", "OBJECT", "MADE", "SO FAR", "A DAY"]
    heads += ["STATE", "PROJECT", "OWNER", "LAST SEEN"] if group is Group.FOREIGN else ["WHY"]
    rows = [_row(one, group, report) for one in report.of(group)]
    return style.paint(_TITLES[group], "bold") + "\n" + table(heads, rows, style, right={"SO FAR", "A DAY"}, indent=2)


def _row(one: Orphan, group: Group, report: OrphanReport) -> list[str]:
    owner = one.owner
    cells = [one.id, one.kind, one.provider, owner.address, moment_text(one.made_at), _amount(one.cost_usd), _amount(one.day_usd)]
    seen = moment_text(report.seen_at)
    return cells + ([owner.state_id or "?", owner.project, owner.owner, seen] if group is Group.FOREIGN else [one.why])


def _amount(amount: Money | None) -> str:
    return amount.shown if amount is not None else "unknown"


def orphans_document(report: OrphanReport) -> dict[str, Any]:
    """The same as JSON; an unknown price is null."""
    groups = {
        group.value: [orphan_document(one) | {"lastSeenTime": moment_text(report.seen_at)} for one in report.of(group)] for group in Group
    }
    return {"groups": groups, "failures": dict(report.failures)}


def orphan_document(one: Orphan) -> dict[str, Any]:
    """One orphan."""
    owner = one.owner
    return {
        "id": one.id,
        "kind": one.kind,
        "provider": one.provider,
        "address": owner.address,
        "stateId": owner.state_id,
        "project": owner.project,
        "owner": owner.owner,
        "objectUid": owner.object_uid,
        "attemptUid": owner.attempt_uid,
        "why": one.why,
        "createdTime": moment_text(one.made_at),
        "costUSD": _text(one.cost_usd),
        "usdPerDay": _text(one.day_usd),
    }


def _text(amount: Money | None) -> str | None:
    return str(amount) if amount is not None else None


def deletion_plan_text(one: Orphan, style: Style) -> str:
    """What would be deleted, whose it was, and what it costs."""
    loses = "its content and revisions are lost" if one.disk is not None else "what isn't on a disk of its own is lost"
    whose = f" of state {one.owner.state_id}, project {one.owner.project}" if one.group is Group.FOREIGN else ""
    return "\n".join(
        (
            f"{style.paint('-', 'red', 'bold')}  {one.kind} {one.id} at {one.provider}  {style.paint('destroys data', 'red')}",
            f"     made for {one.owner.address or 'nobody known'}{whose}; {_amount(one.cost_usd)} so far, {_amount(one.day_usd)} a day",
            f"     note: {loses}; what it has cost is charged to no object",
        )
    )


def deletion_text(done: Deletion, style: Style) -> str:
    """What became of it."""
    one = done.orphan
    if done.is_gone:
        return f"{one.kind} {one.id} is gone, confirmed by {one.provider}."
    return f"{one.kind} {one.id} is not confirmed gone: {done.detail}. Ask again:\n  nodusctl orphans"


def deletion_document(done: Deletion) -> dict[str, Any]:
    """The same as JSON."""
    return {"deleted": orphan_document(done.orphan), "isGone": done.is_gone, "detail": done.detail}


def adoption_text(adoption: Adoption, style: Style) -> str:
    """What would be taken up by what."""
    one = adoption.orphan
    lines = [f"{style.paint('<=', 'blue', 'bold')} {style.paint(str(adoption.address), 'bold')}  {one.kind} {one.id} at {one.provider}"]
    if one.group is Group.FOREIGN:
        lines.append(f"     from state {one.owner.state_id}, project {one.owner.project}, owner {one.owner.owner}")
    lines += [f"     {style.paint('note:', 'bold')} {note}" for note in adoption.notes]
    return "\n".join([*lines, "", style.paint("Plan: 1 to adopt.", "bold")])


def adoption_document(adoption: Adoption) -> dict[str, Any]:
    """The same as JSON."""
    return {
        "adopt": orphan_document(adoption.orphan),
        "into": str(adoption.address),
        "uid": adoption.uid,
        "billedFrom": moment_text(adoption.billed_from),
        "notes": list(adoption.notes),
    }


def forgetting_text(forgetting: Forgetting, style: Style) -> str:
    """What goes from the state, what is posted, and what will be an orphan."""
    lines = [f"{style.paint('-', 'red', 'bold')}  {style.paint(str(forgetting.address), 'bold')}  record only; its provider isn't touched"]
    if forgetting.charged_usd is not None:
        lines.append(f"     charge posted: {forgetting.charged_usd.shown} until now, estimated; what is held goes back")
    lines += [f"     its open step {step} is given up; what it made, if anything, will be an orphan" for step in forgetting.open_steps]
    lines += [f"     {style.paint('orphan:', 'yellow')} {_left(one)}" for one in forgetting.left]
    if forgetting.source:
        lines.append(f"     note: {forgetting.source} still has it; the next apply makes it anew unless it goes there too")
    return "\n".join([*lines, "", style.paint(f"Plan: 1 to forget, {counted(len(forgetting.left), 'orphan')} left behind.", "bold")])


def _left(one: LeftBehind) -> str:
    ends = f", ends itself {moment_text(one.ends_at)}" if one.ends_at is not None else ""
    return f"{one.kind} {one.id} at {one.provider}, {_amount(one.day_usd)} a day{ends}"


def forgetting_document(forgetting: Forgetting) -> dict[str, Any]:
    """The same as JSON."""
    return {
        "forget": str(forgetting.address),
        "uid": forgetting.uid,
        "chargedUSD": _text(forgetting.charged_usd),
        "orphans": [
            {
                "kind": one.kind,
                "id": one.id,
                "provider": one.provider,
                "usdPerDay": _text(one.day_usd),
                "endsTime": moment_text(one.ends_at),
            }
            for one in forgetting.left
        ],
    }
