"""An offer with what is known about it at planning time: the rate that holds, its startup band, what its provider can serve.

Placement never looks a price up: a rate arrives here, None where it is unknown.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import timedelta

from nodusctl.base.money import Money
from nodusctl.provider.offers import Offer


@dataclass(frozen=True, slots=True, kw_only=True)
class Candidate:
    """One offer to be matched and ranked. ``rate`` is USD per hour; ``tools`` and ``egress_policies`` None where not looked at."""

    offer: Offer
    rate: Money | None
    startup_p50: timedelta
    startup_p90: timedelta
    tools: frozenset[str] | None = None
    egress_policies: frozenset[str] | None = None


def candidate(
    offer: Offer,
    rate: Money | None,
    *,
    tools: frozenset[str] | None = None,
    egress_policies: frozenset[str] | None = None,
) -> Candidate:
    """A candidate with the offer's own priors as its startup band."""
    return Candidate(
        offer=offer,
        rate=rate,
        startup_p50=offer.startup_p50,
        startup_p90=offer.startup_p90,
        tools=tools,
        egress_policies=egress_policies,
    )


def count_offers(candidates: Iterable[Candidate]) -> int:
    """How many offers a person would count: a shape sold both on demand and interruptible in one zone is one."""
    return len({(c.offer.provider, c.offer.zone, c.offer.id, c.offer.instance_type) for c in candidates})
