"""In what order fitting offers are tried (money.md): Balanced, Cost or Speed; smallest first for CPU work.

* Balanced: rate x (1 + startup p90 / 15 min).
* Cost: expected USD over the horizon, startup included, rounded up to the offer's increment and minimum.
* Speed: startup p90, then rate.
* Ties: own hardware, then offering id.

Interruptible capacity enters by expected cost. An interruption is assumed with a prior of 5 % an hour; each one is paid for twice: the
replacement's startup p90 and 10 minutes of work done again. So its hour counts as rate x (1 + 0.05 x (startup p90 + 10 min) / 1 h).
``Allow`` ranks both kinds together by that; ``Prefer`` puts interruptible offers first and on-demand offers after them.

The surprise: an unknown rate ranks last rather than being removed, so that "nothing fits" and "nothing has a price" stay two answers.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import timedelta
from fractions import Fraction
from typing import assert_never

from nodusctl.base.money import Money
from nodusctl.placement.candidates import Candidate
from nodusctl.placement.request import CapacityRequest, Interruptible, Profile
from nodusctl.placement.rounding import billed_seconds
from nodusctl.provider.offers import Availability
from nodusctl.state.terms import Terms

BALANCE_PERIOD = timedelta(minutes=15)
INTERRUPTIONS_PER_HOUR = Fraction(5, 100)
WORK_DONE_AGAIN = timedelta(minutes=10)
DEFAULT_HORIZON = timedelta(hours=730)


@dataclass(frozen=True, slots=True, kw_only=True)
class Ranked:
    """A candidate and the score it was ranked by: USD for Balanced and Cost (None: unknown price), the startup p90 for Speed."""

    candidate: Candidate
    score_usd: Money | None
    score_startup: timedelta

    @property
    def key(self) -> str:
        """The offer's key."""
        return self.candidate.offer.key


def rank(request: CapacityRequest, fitting: Iterable[Candidate], horizon: timedelta = DEFAULT_HORIZON) -> tuple[Ranked, ...]:
    """Best first. ``horizon`` is how long the machine is expected to run (only Cost looks at it)."""
    scored = ((one, _facts(one)) for one in fitting)
    ranked = [
        Ranked(
            candidate=one, score_usd=_score(request.profile, facts, horizon) if facts is not None else None, score_startup=one.startup_p90
        )
        for one, facts in scored
    ]
    return tuple(sorted(ranked, key=lambda one: _sort_key(request, one)))


def score_of_terms(terms: Terms, profile: Profile) -> Money:
    """What an offer was ranked by, from the terms it was approved with."""
    facts = _Scored(
        rate=terms.rate_usd_per_hour,
        is_interruptible=terms.is_interruptible,
        startup_p50=terms.startup_p50,
        startup_p90=terms.startup_p90,
        increment_seconds=terms.increment_seconds,
        minimum_seconds=terms.minimum_seconds,
    )
    return _score(profile, facts, DEFAULT_HORIZON)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Scored:
    """What a score is made of."""

    rate: Money
    is_interruptible: bool
    startup_p50: timedelta
    startup_p90: timedelta
    increment_seconds: int
    minimum_seconds: int

    @property
    def effective_rate(self) -> Fraction:
        """USD per hour with expected interruptions paid for."""
        rate = Fraction(self.rate.micro, 10**6)
        if not self.is_interruptible:
            return rate
        paid_twice = self.startup_p90 + WORK_DONE_AGAIN
        return rate * (1 + INTERRUPTIONS_PER_HOUR * Fraction(paid_twice // timedelta(microseconds=1), 3600 * 10**6))


def _facts(candidate: Candidate) -> _Scored | None:
    """None where the rate is unknown."""
    if candidate.rate is None:
        return None
    return _Scored(
        rate=candidate.rate,
        is_interruptible=candidate.offer.is_interruptible,
        startup_p50=candidate.startup_p50,
        startup_p90=candidate.startup_p90,
        increment_seconds=candidate.offer.increment_seconds,
        minimum_seconds=candidate.offer.minimum_seconds,
    )


def shown_expectation(ranked: Sequence[Ranked], choice: Ranked) -> str:
    """The arithmetic behind choosing between interruptible and on-demand capacity; empty where only one of them fits."""
    priced = [one for one in ranked if one.candidate.rate is not None]
    spot = next((one for one in priced if one.candidate.offer.is_interruptible), None)
    steady = next((one for one in priced if not one.candidate.offer.is_interruptible), None)
    if spot is None or steady is None:
        return ""
    facts, rate, other = _facts(spot.candidate), spot.candidate.rate, steady.candidate.rate
    assert facts is not None and rate is not None and other is not None
    expected = Money.from_fraction(facts.effective_rate)
    lost_minutes = (spot.candidate.startup_p90 + WORK_DONE_AGAIN) / timedelta(minutes=1)
    taken = "interruptible" if choice.candidate.offer.is_interruptible else "on demand"
    return (
        f"interruptible {rate.shown}/h x (1 + {INTERRUPTIONS_PER_HOUR.numerator / INTERRUPTIONS_PER_HOUR.denominator:g} interruptions/h "
        f"x {lost_minutes:g} min lost each) = {expected.shown}/h expected; on demand {other.shown}/h; taken: {taken}"
    )


def _score(profile: Profile, facts: _Scored, horizon: timedelta) -> Money:
    rate = facts.effective_rate
    match profile:
        case Profile.BALANCED | Profile.SPEED:
            factor = 1 + _ratio(facts.startup_p90, BALANCE_PERIOD) if profile is Profile.BALANCED else 1
            return Money.from_fraction(rate * factor)
        case Profile.COST:
            seconds = _ratio(facts.startup_p50 + horizon, timedelta(seconds=1))
            return Money.from_fraction(rate * billed_seconds(seconds, facts.increment_seconds, facts.minimum_seconds) / 3600)
        case _ as never:
            assert_never(never)


def _sort_key(request: CapacityRequest, one: Ranked) -> tuple[object, ...]:
    offer = one.candidate.offer
    is_second_choice = request.interruptible is Interruptible.PREFER and not offer.is_interruptible
    size: Sequence[int] = () if offer.accelerator is not None else (offer.vcpu_milli, offer.memory_bytes)
    cost = (one.score_usd is None, one.score_usd.micro if one.score_usd is not None else 0)
    by_profile = (one.score_startup, *cost) if request.profile is Profile.SPEED else cost
    return (
        one.score_usd is None,
        offer.availability is Availability.SOLD_OUT,
        is_second_choice,
        tuple(size),
        by_profile,
        not offer.is_own_hardware,
        offer.id,
        offer.key,
    )


def _ratio(part: timedelta, whole: timedelta) -> Fraction:
    return Fraction(part // timedelta(microseconds=1), whole // timedelta(microseconds=1))
