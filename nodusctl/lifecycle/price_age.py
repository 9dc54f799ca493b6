"""Prices past their time to live at a launch (money.md, "Price book"): asked again, and where nobody can say, not simply believed."""

from __future__ import annotations

from datetime import datetime

from nodusctl.lifecycle.situation import Situation
from nodusctl.state.terms import Terms


def needs_prices(situation: Situation) -> bool:
    """True before a start nobody watches, and before one at a price past its time to live; once an Attempt and pass."""
    if situation.sightings.rates is not None:
        return False
    session, approval = situation.status.session, situation.record.approval
    is_unattended = session is not None and session.is_unattended
    return is_unattended or any(is_past(one, situation.now) for one in (approval.terms if approval is not None else ()))


def stale_words(situation: Situation, terms: Terms) -> str:
    """Why these terms are too old to launch on; empty where they may be used.

    An old price that nobody could refresh will do only where the plan that was approved already printed its age, and something ends the
    machine for money: a cap, a Block Budget, a granted balance.
    """
    if not is_past(terms, situation.now) or (situation.sightings.rates or {}).get(terms.offer_key) is not None:
        return ""
    approval = situation.record.approval
    was_printed = approval is not None and is_past(terms, approval.approved_at)
    limits = (situation.cap_usd, situation.budget_left_usd, situation.funds_left_usd)
    has_money_edge = any(limit is not None for limit in limits)
    if was_printed and has_money_edge:
        return ""
    seen = f"the price of {terms.offering} was seen at {terms.price_observed_at:%Y-%m-%d %H:%M} UTC and nobody could say what it is now"
    return f"{seen}; {'no cap or Budget bounds it' if was_printed else 'it was younger when it was approved'}"


def is_past(terms: Terms, moment: datetime) -> bool:
    """True where the price had outlived its time at ``moment``; a price without an age never does."""
    ttl, observed_at = terms.price_ttl, terms.price_observed_at
    return ttl is not None and observed_at is not None and moment - observed_at > ttl
