"""Why nothing fits: how many offers each constraint left, and the smallest change that leaves one.

The hint relaxes the constraint that emptied the funnel and goes on filtering, so that a reader sees at once when a second
constraint would empty it again.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from nodusctl.placement.candidates import Candidate, count_offers
from nodusctl.placement.match import CONSTRAINTS, Constraint
from nodusctl.placement.request import CapacityRequest


@dataclass(frozen=True, slots=True, kw_only=True)
class FunnelStep:
    """What one constraint left."""

    constraint: str
    remaining: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Funnel:
    """``total`` offers, then what each constraint left; the last step is 0 where nothing fits, and ``hint`` then says what would."""

    total: int
    steps: tuple[FunnelStep, ...]
    hint: str = ""

    @property
    def remaining(self) -> int:
        """Offers that fit."""
        return self.steps[-1].remaining if self.steps else self.total

    @property
    def last_constraint(self) -> str:
        """The constraint that emptied the funnel, or empty where offers are left."""
        return self.steps[-1].constraint if self.steps and not self.steps[-1].remaining else ""

    @property
    def shown(self) -> str:
        """``40 -> family 12 -> count 6 -> memory 0``."""
        return " -> ".join([str(self.total), *(f"{step.constraint} {step.remaining}" for step in self.steps)])

    def as_json(self) -> dict[str, object]:
        """For ``--json``: ``total``, ``steps`` of ``{constraint, remaining}``, ``hint``."""
        steps = [{"constraint": step.constraint, "remaining": step.remaining} for step in self.steps]
        return {"total": self.total, "steps": steps, "hint": self.hint}


@dataclass(frozen=True, slots=True, kw_only=True)
class Matching:
    """The candidates that fit, and the funnel that led to them."""

    fitting: tuple[Candidate, ...]
    funnel: Funnel


def match(request: CapacityRequest, candidates: Sequence[Candidate]) -> Matching:
    """Filter ``candidates`` by every constraint in order, stopping at the one that leaves nothing."""
    steps, left, stopped_at = _narrow(request, candidates, CONSTRAINTS)
    hint = ""
    if stopped_at is not None:
        hint = _hint(request, left, stopped_at)
        left = ()
    return Matching(fitting=tuple(left), funnel=Funnel(total=count_offers(candidates), steps=tuple(steps), hint=hint))


def _narrow(
    request: CapacityRequest,
    candidates: Sequence[Candidate],
    constraints: Sequence[Constraint],
) -> tuple[list[FunnelStep], Sequence[Candidate], Constraint | None]:
    """The steps, what was left before the constraint that left nothing (or at the end), and that constraint."""
    steps: list[FunnelStep] = []
    left, count = candidates, count_offers(candidates)
    for constraint in constraints:
        kept = [c for c in left if constraint.keeps(request, c)]
        remaining = count if len(kept) == len(left) else count_offers(kept)
        if constraint.is_stated(request) or remaining != count:
            steps.append(FunnelStep(constraint=constraint.name, remaining=remaining))
        if not kept and left:
            return steps, left, constraint
        left, count = kept, remaining
    return steps, left, None


def _hint(request: CapacityRequest, left: Sequence[Candidate], stopped_at: Constraint) -> str:
    change = stopped_at.relax(request, left)
    if change is None:
        return ""
    kept = [c for c in left if stopped_at.keeps(change.request, c)]
    rest = CONSTRAINTS[CONSTRAINTS.index(stopped_at) + 1 :]
    steps, before, again = _narrow(change.request, kept, rest)
    count = count_offers(kept)
    parts = [f"{change.shown} gives {count} {'offer' if count == 1 else 'offers'}"]
    parts += [f"then {step.constraint} {step.remaining}" for step in steps]
    if again is not None and (next_change := again.relax(change.request, before)) is not None:
        parts[-1] += f" ({next_change.nearest_offered})"
    return ", ".join(parts)
