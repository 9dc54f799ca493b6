"""What runs and is in no Action: a reviewer sees that it goes on, and at which rate."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from nodusctl.plan.actions import Action
from nodusctl.plan.plan import RunningOn
from nodusctl.planner.classes import is_up
from nodusctl.planner.comparing import approved_running
from nodusctl.state.snapshot import Snapshot


def running_on(actions: Iterable[Action], snapshot: Snapshot) -> Iterator[RunningOn]:
    """Objects with machines that no Action touches, by address."""
    touched = {address for action in actions for address in (action.address, action.moved_from)}
    up = (one for one in snapshot if is_up(one) and one.record.address not in touched and one.record.deletion_requested_at is None)
    for standing in sorted(up, key=lambda one: one.record.address):
        approval = standing.record.approval
        terms = next(iter(approval.terms), None) if approval is not None else None
        yield RunningOn(
            address=standing.record.address,
            offering=terms.offering if terms is not None else "",
            rate_usd_per_hour=approved_running(standing).rate_usd_per_hour if terms is not None else None,
        )
