"""Which of the approved terms to try next. Only the approval counts: no start tries what no reviewer saw (rule R6, lifecycle.md)."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from fractions import Fraction

from nodusctl.attempts.attempt import Attempt, AttemptPhase, RefusedTry
from nodusctl.base.money import Money
from nodusctl.base.timestamps import parse_time
from nodusctl.lifecycle.situation import Situation
from nodusctl.state.terms import Terms

HEALS = frozenset({"CapacityUnavailable", "TooManyRequests", "QuotaExceeded", "DeviceBusy", "Unavailable", "VolumeBusy"})
"""Refusals that time alone may heal; any other ends the try of that offer for good."""
SHUTS_PROVIDER = frozenset({"Unauthorized", "Forbidden", "ProviderIdentityChanged"})
"""Refusals about the account: they are never "no capacity" and never end an object (rule R12)."""
_FIRST_PAUSE = timedelta(minutes=1)
_LONGEST_PAUSE = timedelta(minutes=15)


@dataclass(frozen=True, slots=True, kw_only=True)
class Choice:
    """The terms to try now; or none, with when the first comes back (None: never) and the last refusal's words."""

    terms: Terms | None
    back_at: datetime | None = None
    code: str = "CapacityUnavailable"
    message: str = ""


def choose(situation: Situation) -> Choice:
    """The first approved terms that fit the home's place, are not burnt by a lost machine and not refused just now.

    Where today's prices were asked for, terms above their ceiling are left out and the others come at today's rate.
    """
    approval = situation.record.approval
    fitting = tuple(t for t in (approval.terms if approval else ()) if _fits_home(situation, t))
    burnt = {a.terms.offer_key for a in lost_in_a_row(situation) if a.terms is not None}
    waits: list[datetime] = []
    too_dear: list[str] = []
    last_code, last_message = _left_by(situation, burnt)
    for approved in fitting:
        if approved.offer_key in burnt:
            continue
        now_rate = (situation.sightings.rates or {}).get(approved.offer_key)
        if now_rate is not None and now_rate > approved.ceiling_usd_per_hour:
            too_dear.append(_moved_price(approved, now_rate))
            continue
        today = approved if now_rate is None else replace(approved, rate_usd_per_hour=now_rate)
        for terms in today.on_each():
            back_at, code, message = _back_at(situation, terms)
            if back_at is not None and back_at <= situation.now:
                return Choice(terms=terms)
            last_code, last_message = code, message
            if back_at is not None:
                waits.append(back_at)
    if too_dear and not waits:
        return Choice(terms=None, code="PriceMoved", message="; ".join(too_dear))
    return Choice(terms=None, back_at=min(waits, default=None), code=last_code, message=last_message)


def _moved_price(terms: Terms, rate: Money) -> str:
    before = terms.rate_usd_per_hour
    percent = f"{round(Fraction(rate.micro - before.micro, before.micro) * 100):+d} %" if before else "it was free"
    return f"{terms.offering} was {before.shown}/h when it was approved and is {rate.shown}/h now ({percent})"


def lost_in_a_row(situation: Situation) -> tuple[Attempt, ...]:
    """Attempts that ended before they were ever ready, newest first: since the last one that was, or since a person asked anew."""
    asked_at = _asked_at(situation)
    lost: list[Attempt] = []
    for attempt in reversed(situation.earlier):
        if attempt.phase is not AttemptPhase.FAILED or attempt.timings.ready_at is not None:
            break
        if asked_at is not None and attempt.timings.queued_at < asked_at:
            break
        lost.append(attempt)
    return tuple(lost)


def _asked_at(situation: Situation) -> datetime | None:
    """When a person last approved offers or asked for a start: from then on every approved offer may be tried again."""
    approval, started = situation.record.approval, situation.status.handled_requests.get("start")
    moments = [approval.approved_at] if approval is not None else []
    return max([*moments, parse_time(started)] if started else moments, default=None)


def _left_by(situation: Situation, burnt: Collection[str]) -> tuple[str, str]:
    """Code and message where no offer is left to wait for: what became of the last machine, where there was one."""
    if not burnt:
        return "CapacityUnavailable", "no approved offer is left"
    last = next(attempt for attempt in lost_in_a_row(situation) if attempt.terms is not None)
    return last.stop_reason or "MachineLost", f"no approved offer is left; {last.stop_detail or 'the last machine was lost'}"


def _fits_home(situation: Situation, terms: Terms) -> bool:
    home = situation.home
    if home is None or not home.standing.disk_id:
        return True
    is_empty = not home.standing.revisions and home.standing.holder is None and not home.standing.is_newer_than_revision
    return is_empty or (home.standing.provider == terms.provider and home.standing.location == terms.location)


def _back_at(situation: Situation, terms: Terms) -> tuple[datetime | None, str, str]:
    """When these terms may be tried (again); None for never. With the last refusal's code and message."""
    if situation.attempt is None:
        return situation.now, "", ""
    refusals = [one for one in situation.attempt.refusals if _speaks_for(situation, one, terms)]
    # A person may have mended the credentials since: what an earlier pass was told about the account is asked again.
    if not refusals or (refusals[-1].code in SHUTS_PROVIDER and not situation.failed_times("launch")):
        return situation.now, "", ""
    last = refusals[-1]
    if last.code not in HEALS and last.code not in SHUTS_PROVIDER:
        return None, last.code, last.message
    pause = min(_FIRST_PAUSE * 2 ** (len(refusals) - 1), _LONGEST_PAUSE)
    return last.time + max(pause, last.retry_after or pause), last.code, last.message


def _speaks_for(situation: Situation, refusal: RefusedTry, terms: Terms) -> bool:
    """A refusal speaks for its own offer, and for more where its scope is wider; one of devices for every set that needs all of these."""
    approval = situation.record.approval
    refused = next((one for one in (approval.terms if approval else ()) if one.offer_key == refusal.offer_key), None)
    if refusal.scope == "device" and refusal.unit_ids and refused is not None:
        is_same_host = (refused.provider, refused.location) == (terms.provider, terms.location)
        return is_same_host and set(refusal.unit_ids) <= set(terms.unit_ids)
    if refusal.offer_key == terms.offer_key:
        return True
    if refused is None or refused.provider != terms.provider:
        return False
    return refusal.scope == "account" or (refusal.scope == "region" and refused.region == terms.region)
