"""Which of the approved terms to try next. Only the approval counts: no start tries what no reviewer saw (rule R6, lifecycle.md)."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta

from nodusctl.attempts.attempt import Attempt, AttemptPhase
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
    """The first approved terms that fit the home's place, are not burnt by a lost machine and not refused just now."""
    approval = situation.record.approval
    fitting = tuple(t for t in (approval.terms if approval else ()) if _fits_home(situation, t))
    burnt = {a.terms.offer_key for a in lost_in_a_row(situation) if a.terms is not None}
    waits: list[datetime] = []
    last_code, last_message = "CapacityUnavailable", "no approved offer is left"
    for terms in fitting:
        if terms.offer_key in burnt:
            continue
        back_at, code, message = _back_at(situation, terms)
        if back_at is not None and back_at <= situation.now:
            return Choice(terms=terms)
        last_code, last_message = code, message
        if back_at is not None:
            waits.append(back_at)
    return Choice(terms=None, back_at=min(waits, default=None), code=last_code, message=last_message)


def lost_in_a_row(situation: Situation) -> tuple[Attempt, ...]:
    """Attempts that ended before they were ever ready, since the last one that was, or since the last new spec."""
    lost: list[Attempt] = []
    for attempt in reversed(situation.earlier):
        was_asked_before = situation.record.approval is not None and attempt.timings.queued_at < situation.record.approval.approved_at
        if attempt.phase is not AttemptPhase.FAILED or attempt.timings.ready_at is not None or was_asked_before:
            break
        lost.append(attempt)
    return tuple(lost)


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
    refusals = [r for r in situation.attempt.refusals if _speaks_for(situation, r.offer_key, r.scope, terms)]
    if not refusals:
        return situation.now, "", ""
    last = refusals[-1]
    if last.code not in HEALS and last.code not in SHUTS_PROVIDER:
        return None, last.code, last.message
    pause = min(_FIRST_PAUSE * 2 ** (len(refusals) - 1), _LONGEST_PAUSE)
    return last.time + pause, last.code, last.message


def _speaks_for(situation: Situation, offer_key: str, scope: str, terms: Terms) -> bool:
    """A refusal speaks for its own offer, and for more where its scope is wider."""
    if offer_key == terms.offer_key:
        return True
    approval = situation.record.approval
    refused = next((t for t in (approval.terms if approval else ()) if t.offer_key == offer_key), None)
    if refused is None or refused.provider != terms.provider:
        return False
    return scope == "account" or (scope == "region" and refused.region == terms.region)
