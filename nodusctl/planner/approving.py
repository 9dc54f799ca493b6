"""What a plan asks a reviewer to approve: the offers of each Action in order, and prices that have left an earlier approval behind.

The surprise: a Workspace may stand in a plan though its files are unchanged. Where an unattended start was passed over because no approved
offer was inside its ceiling (PriceMoved), every later window would be too, until somebody approves today's prices. That Action stands there
only while those are really above the ceilings, so applying it makes the next plan empty.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from nodusctl.plan.actions import Action
from nodusctl.plan.changes import ChangeClass, FieldChange
from nodusctl.planner.drafts import APPROVED_RATE, Asked, Draft, updated
from nodusctl.planner.market import Marketplace
from nodusctl.planner.needs import Urgency
from nodusctl.planner.noting import notes_for
from nodusctl.planner.seating import Seated, terms_of
from nodusctl.planner.world import World
from nodusctl.pricing.ceiling import shown_change
from nodusctl.state.snapshot import Standing


def with_reapprovals(drafts: Iterable[Draft], market: Marketplace, world: World) -> tuple[Draft, ...]:
    """The drafts, with a re-pricing Action for each unchanged Workspace whose starts are passed over for their price."""
    return tuple(reapproved(one, world) if _needs_approval(one, market) else one for one in drafts)


def with_terms(drafts: Iterable[Draft], seats: Iterable[Seated], market: Marketplace, world: World) -> tuple[Action, ...]:
    """The Actions of the drafts, with the offers apply may try and what is to be remarked."""
    by_address = {one.need.address: one for one in seats}
    actions = []
    for one in drafts:
        if one.action is None:
            continue
        seat = by_address.get(one.address)
        terms = terms_of(seat, market) if seat is not None and seat.need.urgency is Urgency.REQUIRED else ()
        notes = notes_for(one, seat, market, world)
        actions.append(_with_new_rate(replace(one.action, terms=terms, notes=(*one.action.notes, *notes)), one.standing))
    return tuple(actions)


def may_be_reapproved(one: Draft) -> bool:
    """True where today's prices decide whether this unchanged Workspace stands in the plan."""
    return one.action is None and one.standing is not None and _was_passed_over(one.standing)


def _needs_approval(one: Draft, market: Marketplace) -> bool:
    if not may_be_reapproved(one) or one.standing is None:
        return False
    approval = one.standing.record.approval
    known = {candidate.candidate.offer.key for candidate in market.candidates}
    today = [(terms, market.priced(terms.offer_key).rate) for terms in (approval.terms if approval else ()) if terms.offer_key in known]
    priced = [(terms, rate) for terms, rate in today if rate is not None]
    return bool(priced) and all(rate > terms.ceiling_usd_per_hour for terms, rate in priced)


def _was_passed_over(standing: Standing) -> bool:
    windows = standing.status.windows
    return standing.status.reason == "PriceMoved" or (windows is not None and windows.skip_reason == "PriceMoved")


def reapproved(one: Draft, world: World) -> Draft:
    """The draft with the Action that approves today's prices, and nothing else."""
    assert one.standing is not None, "only a Workspace with an approval comes here"
    approval = one.standing.record.approval
    before = f"{approval.terms[0].rate_usd_per_hour.shown}/h" if approval is not None and approval.terms else None
    change = FieldChange(path=APPROVED_RATE, before=before, after=None, change_class=ChangeClass.REPRICES)
    return replace(one, action=updated(one, (change,), Asked(now=world.now, window_lead=world.window_lead), world.snapshot))


def _with_new_rate(action: Action, standing: Standing | None) -> Action:
    approval = standing.record.approval if standing is not None else None
    if not action.terms or approval is None or not approval.terms:
        return action
    rate, before = action.terms[0].rate_usd_per_hour, approval.terms[0].rate_usd_per_hour
    return replace(action, changes=tuple(_told(one, f"{rate.shown}/h", shown_change(before, rate)) for one in action.changes))


def _told(change: FieldChange, after: str, note: str) -> FieldChange:
    return replace(change, after=after, note=note) if change.path == APPROVED_RATE else change
