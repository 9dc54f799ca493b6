"""What the commands that show a saved plan share: whether it could still be applied, said once."""

from __future__ import annotations

from nodusctl.base.diagnostics import warning
from nodusctl.base.exits import UserError
from nodusctl.cli.output.protocol import Output
from nodusctl.cli.wiring import Wiring
from nodusctl.engine.show import Staleness, staleness
from nodusctl.plan.plan import Plan


def compared(plan: Plan, wiring: Wiring, output: Output) -> Staleness | None:
    """Why it can't be applied any more. A state that can't be read stops nobody from reading a plan.

    A plan made from a snapshot is shown where there is no state, too: there is nothing to compare it with there.
    """
    try:
        if plan.basis.snapshot_at is not None and not wiring.journal.exists():
            return None
        stale = staleness(plan, wiring.journal)
    except UserError as fault:
        detail = "; ".join(f"{one.summary.rstrip('.')}: {one.detail}".rstrip(": ") for one in fault.diagnostics)
        output.diagnose([warning("PlanUncompared", "Nobody can say whether this plan can still be applied", detail)])
        return None
    if stale is not None:
        output.diagnose(
            [warning("PlanStale", "This plan can't be applied any more", stale.detail, "make a new one:\nnodusctl plan -o FILE")]
        )
    return stale
