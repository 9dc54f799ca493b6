"""What a new, changed or removed Budget does to what runs now: a plan says it beside the change (money.md, "Budgets").

Nothing stops at once, whatever the limit: what is held is paid for. A limit acts where more is to be held: a start, or a renewal.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace

from nodusctl.base.money import ZERO, Money, total
from nodusctl.ledger.budgets import BudgetRule, budget_rule
from nodusctl.ledger.room import used_under
from nodusctl.ledger.storage import stretches_of
from nodusctl.plan.actions import Action, Verb
from nodusctl.planner.world import World
from nodusctl.state.snapshot import Standing


def with_budget_notes(actions: Iterable[Action], world: World) -> tuple[Action, ...]:
    """The same Actions; those of Budgets with the consequence of each."""
    labels = {standing.record.uid: standing.record.labels for standing in world.snapshot}
    return tuple(_noted(one, world, labels) if one.address.kind == "budget" else one for one in actions)


def _noted(action: Action, world: World, labels: Mapping[str, Mapping[str, str]]) -> Action:
    note = _removed(action, world) if action.verb is Verb.DELETE else _changed(action, world, labels)
    return replace(action, notes=(*action.notes, note)) if note else action


def _removed(action: Action, world: World) -> str:
    standing = world.snapshot.get(action.address)
    rule = budget_rule(action.address, standing.record.spec) if standing is not None else None
    if rule is None or not rule.blocks:
        return ""
    running = _holding(rule, world)
    held = f"; {_said(running)}" if running else ""
    return f"nothing bounds what it covered any more, but other Budgets and each object's own cap{held}"


def _changed(action: Action, world: World, labels: Mapping[str, Mapping[str, str]]) -> str:
    if action.spec is None:
        return ""
    rule, standing = budget_rule(action.address, action.spec), world.snapshot.get(action.address)
    before = budget_rule(action.address, standing.record.spec) if standing is not None else None
    if before is not None and not rule.blocks:
        return "it only tells from now on: it stops no start and no renewal" if before.blocks else ""
    if not rule.blocks or (before is not None and before.blocks and rule.limit >= before.limit):
        return ""
    guard = rule.guard(world.basis.project, labels, world.now, stretches_of(world.snapshot))
    used, running = used_under(guard, world.tally), _holding(rule, world)
    if not running and used <= rule.limit:
        return ""
    until = f"no start and no renewal beyond {rule.limit.shown}" + (" a month" if rule.is_monthly else "")
    left = f"{used.shown} is spent or held, {max(rule.limit - used, ZERO).shown} left"
    return f"{_said(running)}; nothing stops at once, {until} ({left})"


def _holding(rule: BudgetRule, world: World) -> tuple[Standing, ...]:
    """Objects that hold money now and count for it."""
    return tuple(one for one in world.snapshot if one.held_usd > ZERO and rule.covers(world.basis.project, one.record.labels))


def _said(running: tuple[Standing, ...]) -> str:
    held: Money = total(one.held_usd for one in running)
    if not running:
        return "nothing runs under it"
    return f"{len(running)} running Workspace{'s hold' if len(running) > 1 else ' holds'} {held.shown}"
