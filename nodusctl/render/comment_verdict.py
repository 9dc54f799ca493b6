"""The first words of a comment: what happens, what it costs, what blocks it. Counts and amounts are the plan's own."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

from nodusctl.base.money import ZERO, Money
from nodusctl.plan.actions import Action, Verb
from nodusctl.plan.plan import Basis, Plan, Totals
from nodusctl.planner.summing import totals as totals_of
from nodusctl.render.comment_text import shortened, span
from nodusctl.render.counting import counted
from nodusctl.render.plan_comparison import comparison_lines, unchanged_lines
from nodusctl.render.plan_text import SUMMARY_WORDS, left_alone
from nodusctl.render.spans import moment_text

MOST_BY_VERB = 20
_LONGEST_WORD, _LONGEST_SENTENCE = 100, 400


def verdict_lines(plan: Plan, stale: str) -> Iterator[str]:
    """The verdict, the change against now, and why the plan can't be applied any more where that is so (``stale``, else empty)."""
    yield f"### Plan for {span(shortened(plan.basis.project, _LONGEST_WORD))}"
    yield ""
    yield f"**{verdict(plan)}**"
    yield ""
    yield from comparison_lines(plan.comparison, _remark(plan))
    yield from unchanged_lines(plan.comparison)
    if stale:
        yield f"**This plan can't be applied any more:** {span(shortened(stale, _LONGEST_SENTENCE))}"


def verdict(plan: Plan) -> str:
    """``2 to create, 1 to remove. Costs $1.00 to $2.00 (likely to unlucky, p50 to p90), at most $3.00. Blocked by 1 reason.``"""
    changes = f"{counts_text(plan.counts)}." if plan.actions else left_alone(plan) or "No changes."
    blocked = f"Blocked by {counted(len(plan.reasons), 'reason')}." if plan.reasons else "Not blocked." if plan.actions else ""
    return " ".join(part for part in (changes, cost_text(plan), blocked) if part)


def counts_text(counts: Mapping[Verb, int]) -> str:
    """``2 to create, 1 to remove``, in the order of the plan's own summary."""
    return ", ".join(f"{counts[verb]} {words}" for verb, words in SUMMARY_WORDS if counts.get(verb))


def by_verb(plan: Plan) -> Iterator[str]:
    """What each verb is for, of a plan short enough to be read so; nothing for a longer one."""
    if not plan.actions or len(plan.actions) > MOST_BY_VERB:
        return
    yield ""
    for verb, words in SUMMARY_WORDS:
        addresses = ", ".join(span(str(action.address)) for action in plan.actions if action.verb is verb)
        if addresses:
            yield f"- {words}: {addresses}"


def counts_of(actions: Iterable[Action]) -> dict[Verb, int]:
    """How many Actions of each verb."""
    found: dict[Verb, int] = {}
    for action in actions:
        found[action.verb] = found.get(action.verb, 0) + 1
    return found


def cost_text(plan: Plan) -> str:
    """The totals as a sentence; an amount with an unknown price in it says at least."""
    totals = plan.totals
    if totals is None:
        left_out = _left_out_text(plan)
        if left_out:
            return f"Costs nothing more. {left_out}"
        was_asked = plan.comparison is not None or not plan.actions
        return "Costs nothing more." if was_asked else "What it costs is unknown: it was planned without asking for prices."
    return " ".join(filter(None, (f"Costs {_amounts(totals)}{_of_which(plan, totals)}.", _left_out_text(plan))))


def _amounts(totals: Totals) -> str:
    least = "at least " if totals.is_at_least else ""
    most = f"at most {totals.at_most_usd.shown}" if totals.has_limit and not totals.is_at_least else f"at most: {_most(totals)}"
    return f"{_band(totals.p50_usd, totals.p90_usd, least)}, {most}"


def _of_which(plan: Plan, totals: Totals) -> str:
    """The parts of "at most" that this plan doesn't add or can't: what is blocked by itself, and disks that stay as they are."""
    if not totals.has_limit or totals.is_at_least or plan.comparison is None:
        return ""
    blocked = frozenset() if plan.plan_scoped else {one.address for one in plan.reasons if not one.is_always_skipped}
    changing = {change.address for change in plan.comparison.changes}
    lines = [(line.address, line.at_most_usd) for line in plan.costs if line.at_most_usd]
    held = sum((amount for address, amount in lines if address in blocked), ZERO)
    kept = sum((amount for address, amount in lines if address.kind == "volume" and address not in changing | blocked), ZERO)
    told = [f"{held.shown} is blocked"] if held else []
    told += [f"{kept.shown} a month is storage that doesn't change"] if kept else []
    return f", of which {' and '.join(told)}" if told else ""


def _left_out_text(plan: Plan) -> str:
    """What the objects that apply leaves out would cost; they are in no total."""
    left_out = {reason.address for reason in plan.reasons if reason.is_always_skipped}
    would = totals_of(line for line in plan.costs if line.address in left_out and line.offering)
    return f"What apply leaves out would cost {_amounts(would)}." if would is not None else ""


def _remark(plan: Plan) -> str:
    """What the compared amounts are not; where every line has an end, what stops them."""
    totals = plan.totals
    is_bounded = totals is not None and totals.has_limit and not totals.is_at_least and any(line.offering for line in plan.costs)
    return f"a rate, not a bill{': caps and windows stop it at the amounts below' if is_bounded else ''}"


def _most(totals: Totals) -> str:
    return f"at least {totals.at_most_usd.shown}, as a price is unknown" if totals.has_limit else "no limit"


def foot_text(plan: Plan) -> str:
    """What the plan was made from, and how long its prices count."""
    basis = plan.basis
    parts = [
        "no state yet" if basis.is_fresh_state else f"state serial {basis.serial}",
        f"the state as it was written down at {moment_text(basis.snapshot_at)}" if basis.snapshot_at is not None else "",
        _base(basis),
        f"price book {span(shortened(basis.book_version, _LONGEST_WORD))}" if basis.book_version else "",
        f"prices count as current until {moment_text(plan.valid_until)}" if plan.valid_until is not None else "",
        f"planned {moment_text(plan.created_at)} by {span(shortened(plan.created_by, _LONGEST_WORD))}",
    ]
    return " · ".join(part for part in parts if part)


def _base(basis: Basis) -> str:
    if not basis.base_commit:
        return ""
    ref = f" of {span(shortened(basis.base_ref, _LONGEST_WORD))}" if basis.base_ref else ""
    return f"base commit {span(shortened(basis.base_commit, _LONGEST_WORD))}{ref}"


def _band(p50: Money, p90: Money, least: str) -> str:
    """``$1.00 to $2.00 (likely to unlucky, p50 to p90)``, or the one amount both come to."""
    return f"{least}{p50.shown}" if p50 == p90 else f"{least}{p50.shown} to {p90.shown} (likely to unlucky, p50 to p90)"
