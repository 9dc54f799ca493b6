"""``extend``: a longer session, inside its cap and its Budgets.

It moves the one end that a schedule, a window or an earlier extension sets. The lease is renewed by ticks and money is never moved, so
where only those would end the session there is nothing to extend. The request is written like any verb's; the renewal that follows from it
raises the hold and tells the machine.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import datetime, timedelta

from nodusctl.attempts.attempt import Attempt
from nodusctl.base.diagnostics import Diagnostic, error
from nodusctl.base.durations import format_duration
from nodusctl.base.exits import UserError
from nodusctl.base.ids import Address
from nodusctl.base.money import Money
from nodusctl.base.timestamps import format_time
from nodusctl.engine import verbs
from nodusctl.engine.applying import ApplyResult, ApplySettings, resume
from nodusctl.engine.locking import under_plan_lock
from nodusctl.executor.outside import Outside
from nodusctl.executor.runs import Interrupts
from nodusctl.executor.situations import situation_of
from nodusctl.lifecycle.edges import budget_edge, cap_edge, funds_edge, session_stop_at
from nodusctl.lifecycle.situation import Sightings, Situation
from nodusctl.lifecycle.windows import zone_of
from nodusctl.pricing.caps import BillingTerms
from nodusctl.state.records import Record
from nodusctl.state.requests import EXTEND_REQUEST, extension_request
from nodusctl.state.status import Phase
from nodusctl.state.terms import Terms


@dataclass(frozen=True, slots=True, kw_only=True)
class Extended:
    """A session that may go on until ``until`` instead of ``before``.

    ``zone`` is that of its windows, empty for UTC. ``extra_usd`` is at its rate, ``at_most_usd`` at what binds: of interruptible capacity
    the ceiling.
    """

    address: Address
    zone: str
    before: datetime
    until: datetime
    extra_usd: Money
    at_most_usd: Money
    result: ApplyResult


def extend(address: Address, by: timedelta, *, outside: Outside, command: str, settings: ApplySettings, interrupts: Interrupts) -> Extended:
    """Let the session under way run longer by ``by``; UserError where none runs, no time ends it, or its money ends before."""
    standing = verbs.workspace(outside, address)
    addresses = {one.record.address: one.record.uid for one in outside.journal.snapshot()}
    situation = situation_of(outside, standing.record.uid, Sightings(), addresses)
    attempt = situation.attempt if situation is not None else None
    if situation is None or attempt is None or attempt.terms is None or situation.status.phase is not Phase.RUNNING:
        raise UserError(_not_running(address, str(standing.status.phase)))
    before = session_stop_at(situation)
    if before is None:
        raise UserError(_without_end(situation, attempt))
    until = before + by
    _refuse_beyond_money(situation, attempt, until)

    def change(record: Record, now: datetime) -> Record:
        return replace(record, annotations={**record.annotations, EXTEND_REQUEST: extension_request(until, now)})

    under_plan_lock(outside.claims, command, settings.lock_timeout, lambda: verbs.write(address, change, outside, command))
    result = resume(outside, (address,), settings, interrupts)
    extra, most = _extra(attempt, attempt.terms, before, until)
    zone = zone_of(standing.record.annotations)
    return Extended(address=address, zone=zone, before=before, until=until, extra_usd=extra, at_most_usd=most, result=result)


def _extra(attempt: Attempt, terms: Terms, before: datetime, until: datetime) -> tuple[Money, Money]:
    began = attempt.timings.billing_started_at or before
    binding = BillingTerms.frozen(terms)
    usual = replace(binding, rate_usd_per_hour=terms.rate_usd_per_hour)
    return _between(usual, began, before, until), _between(binding, began, before, until)


def _between(terms: BillingTerms, began: datetime, before: datetime, until: datetime) -> Money:
    return terms.charge(until - began) - terms.charge(before - began)


def _refuse_beyond_money(situation: Situation, attempt: Attempt, until: datetime) -> None:
    by_cap, by_budget, by_funds = cap_edge(situation, attempt), budget_edge(situation, attempt), funds_edge(situation, attempt)
    if by_cap is not None and until > by_cap:
        cap = situation.cap_usd
        limit = f"maxCostUSD {cap.shown}" if cap is not None else "maxCostUSD"
        raise UserError(
            _beyond("CapTooSmall", situation, f"{limit} lasts until {_shown(by_cap)}", until, "Raise spec.maxCostUSD and apply")
        )
    if by_budget is not None and until > by_budget:
        lasts = f"what its Budgets have left lasts until {_shown(by_budget)}"
        raise UserError(_beyond("BudgetExceeded", situation, lasts, until, "Raise the Budget's limitUSD and apply"))
    if by_funds is not None and until > by_funds:
        lasts = f"what is left of what was granted lasts until {_shown(by_funds)}"
        raise UserError(_beyond("InsufficientCredits", situation, lasts, until, "Grant more (nodusctl credits grant)"))


def _beyond(code: str, situation: Situation, lasts: str, until: datetime, way_out: str) -> Diagnostic:
    address = situation.record.address
    detail = f"{address} was to run until {_shown(until)}, but {lasts}."
    return error(code, "The money doesn't last that long.", detail, f"{way_out}, or extend by less.", address=str(address))


def _not_running(address: Address, phase: str) -> Diagnostic:
    detail = f"{address} is {phase}; only a session that runs can be made longer."
    return error("Conflict", "The Workspace isn't running.", detail, f"Start it:\n  nodusctl start {address.name}", address=str(address))


def _without_end(situation: Situation, attempt: Attempt) -> Diagnostic:
    address, by_cap = situation.record.address, cap_edge(situation, attempt)
    lease = f"its lease of {format_duration(situation.rules.lease_term)}, which a tick renews"
    ends = f"{lease}, and its money at {_shown(by_cap)}" if by_cap is not None else lease
    detail = f"{address} has no window and no stopAt ahead: nothing ends it but idleTimeout, {ends}."
    return error("Conflict", "There is no stop time to extend.", detail, address=str(address))


def _shown(moment: datetime) -> str:
    return format_time(moment.replace(microsecond=0))
