"""Until when an allocation bills, as far as anybody knows: one rule for all that shows money of a session that isn't settled.

Its confirmed end, else the end its machine's last report told, else now. The surprise: once its armed edge has passed, time that nobody
looked at is not counted further where the machine's own shutdown ends the bill, because settling won't count it either (money.md,
"Charge of an Attempt").
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import datetime, timedelta

from nodusctl.base.money import Money
from nodusctl.pricing.caps import BillingTerms, stop_point
from nodusctl.state.terms import Terms


@dataclass(frozen=True, slots=True, kw_only=True)
class Billing:
    """What is known of one allocation. Each moment is None until it is known; ``edge`` is the armed one, as it was read back last."""

    terms: Terms | None
    began: datetime | None
    edge: datetime | None
    machine_ended: datetime | None
    ended: datetime | None

    def until(self, now: datetime) -> datetime:
        """The end of what is billed; ``now`` while it bills."""
        known, latest = self.ended or self.machine_ended, self._self_stopped
        return known or (now if latest is None else min(now, latest))

    def shown_until(self, now: datetime, set_aside: Money) -> datetime:
        """The same, and once the edge has passed no later than ``set_aside`` (held and charged) pays for.

        An edge that was read back is late by the time the answer took, so that it may lie a moment past what is held for it.
        """
        until = self.until(now)
        if until == now or self.ended is not None or self.machine_ended is not None or self.terms is None or self.began is None:
            return until
        paid = stop_point(replace(BillingTerms.frozen(self.terms), stop_bound=timedelta(0)), set_aside)
        return until if paid is None else min(until, self.began + paid)

    def is_past_edge(self, now: datetime) -> bool:
        """True where nobody has confirmed the end of a machine that must have ended itself."""
        latest = self._self_stopped
        return self.ended is None and latest is not None and latest < now

    @property
    def _self_stopped(self) -> datetime | None:
        """When a machine that kept its edge is gone at the latest; None without one, and where that ends no bill (rule R10)."""
        terms = self.terms
        return self.edge + terms.stop_bound if terms is not None and self.edge is not None and terms.edge_ends_billing else None
