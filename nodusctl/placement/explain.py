"""Why this offer: what was compared, what comes next, what was left out and by which constraint (objects.md, Attempt placement.explain).

A plan explains from the offers of that moment, an Attempt from the terms that were approved: those are all that is stored of them.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import timedelta

from nodusctl.base.durations import format_duration
from nodusctl.base.money import Money
from nodusctl.placement.candidates import Candidate
from nodusctl.placement.match import CONSTRAINTS
from nodusctl.placement.rank import Ranked, score_of_terms
from nodusctl.placement.request import CapacityRequest, Profile
from nodusctl.state.terms import Terms

MOST_OFFERS = 8
"""How many offers one approval lists, and an explanation with it: enough for every zone of a region, few enough to be read."""
MOST_REJECTED = 20

Row = Mapping[str, str]


@dataclass(frozen=True, slots=True, kw_only=True)
class Explanation:
    """One request against all that was on offer; whoever asks the same shares it. ``order`` are the keys of ``scores``."""

    scores: tuple[Row, ...]
    order: tuple[str, ...]
    rejected: tuple[Row, ...]

    def of(self, chosen: str) -> dict[str, object]:
        """As ``placement.explain`` has it for the object that gets the offer ``chosen``: scores, fallbacks in order, rejected."""
        fallbacks = [key for key in self.order if key != chosen]
        return {"scores": list(self.scores), "fallbacks": fallbacks, "rejected": list(self.rejected)}


def explanation(request: CapacityRequest, candidates: Sequence[Candidate], ranked: Sequence[Ranked]) -> Explanation:
    """The best offers with what they were ranked by, and the first of those left out, each with the constraint that did it."""
    best = ranked[:MOST_OFFERS]
    return Explanation(
        scores=tuple(_score(one.key, one.score_usd, one.score_startup) for one in best),
        order=tuple(one.key for one in best),
        rejected=tuple(_rejected(request, candidates)),
    )


def scores_of_terms(terms: Iterable[Terms], profile: Profile) -> tuple[Row, ...]:
    """The same scores from approved terms, in their order."""
    return tuple(_score(one.offer_key, score_of_terms(one, profile), one.startup_p90) for one in terms)


def _rejected(request: CapacityRequest, candidates: Sequence[Candidate]) -> Iterable[Row]:
    left = MOST_REJECTED
    for one in candidates:
        if not left:
            return
        against = next((rule.name for rule in CONSTRAINTS if not rule.keeps(request, one)), "")
        if against:
            left -= 1
            yield {"offer": one.offer.key, "constraint": against}


def _score(key: str, usd: Money | None, startup_p90: timedelta) -> Row:
    return {"offer": key, "usd": "unknown" if usd is None else str(usd), "startupP90": format_duration(startup_p90)}
