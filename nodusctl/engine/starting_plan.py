"""The moment a plan is started: compared, consumed, and all it wants of the state written, in one transaction under the plan lock.

No provider is called here. A plan that is resumed comes through the same door, with the Actions that were never written down.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from nodusctl.base.exits import ExitCode, UserError
from nodusctl.base.ids import Address
from nodusctl.engine.refusing import secret_moved
from nodusctl.engine.sealing_secrets import sealed_values
from nodusctl.engine.secret_values import fingerprints
from nodusctl.executor.outside import Outside
from nodusctl.plan.hashing import plan_hash
from nodusctl.plan.plan import Plan
from nodusctl.planner.records import RecordsAfter, records_after
from nodusctl.ports.journal import Consumption
from nodusctl.state.records import PutRecord
from nodusctl.state.snapshot import Snapshot


@dataclass(frozen=True, slots=True, kw_only=True)
class SecretValues:
    """Values read for this apply, in clear: by Secret address, then key. Sealed at once; never in a plan."""

    by_address: Mapping[Address, Mapping[str, bytes]] = field(default_factory=dict, repr=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class Start:
    """One plan about to be started, or resumed.

    ``plan`` is the plan as it was reviewed, ``repriced`` the Actions to write now, at today's rates. ``written`` are Actions an earlier
    start of it wrote, ``requests`` further records that a resumption writes; both are empty at a first start. ``is_reviewed`` means that
    other bytes of a Secret than the plan saw are refused.
    """

    plan: Plan
    repriced: Plan
    outside: Outside
    command: str
    secrets: SecretValues
    is_reviewed: bool
    written: tuple[str, ...] = ()
    requests: tuple[PutRecord, ...] = ()

    @property
    def skipped(self) -> frozenset[Address]:
        """Objects that are left out because something blocks them."""
        return frozenset(reason.address for reason in self.plan.reasons if reason.address is not None)


def write_down(start: Start, snapshot: Snapshot) -> Snapshot:
    """Consume the plan; the state as it is then. The caller holds the plan lock and has compared ``snapshot``.

    UserError (11) for a Secret whose source gives other bytes than were reviewed.
    """
    journal, outside = start.outside.journal, start.outside
    after = records_after(
        start.repriced,
        snapshot,
        outside.ids,
        plan_hash=plan_hash(start.plan),
        by=outside.owner,
        now=outside.clock.now(),
        skipped=start.skipped,
        secret_hmacs=_hmacs(start, snapshot),
    )
    if not (after.records or start.requests):
        return snapshot
    journal.consume(_consumption(start, snapshot, after))
    return journal.snapshot()


def _hmacs(start: Start, snapshot: Snapshot) -> dict[Address, Mapping[str, str]]:
    """Fingerprints of the values read now. UserError (11) where a reviewed plan saw other bytes."""
    found: dict[Address, Mapping[str, str]] = {}
    planned = {action.address: action.secret_hmacs for action in start.repriced.actions}
    for address, values in start.secrets.by_address.items():
        if address not in planned:
            continue
        fresh = fingerprints(start.outside.journal, values) or {}
        standing = snapshot.get(address)
        known = standing.status.secret.hmacs if standing is not None and standing.status.secret is not None else {}
        then = planned[address]
        found[address] = {**known, **fresh}
        if start.is_reviewed and then is not None and any(then.get(key) != text for key, text in fresh.items()):
            raise UserError(secret_moved(address), exit_code=ExitCode.REFUSED)
    return found


def _consumption(start: Start, snapshot: Snapshot, after: RecordsAfter) -> Consumption:
    plan, outside = start.plan, start.outside
    now_written = (str(action.address) for action in start.repriced.actions if action.address not in start.skipped)
    is_resumption = bool(start.written)
    return Consumption(
        operation_id=outside.ids.new_uid(),
        command=start.command,
        by=outside.owner,
        at=outside.clock.now(),
        lineage=plan.basis.lineage,
        serial=snapshot.serial if is_resumption else plan.basis.serial,
        plan_hash=plan_hash(plan),
        plan_id=plan.id,
        action_addresses=tuple(dict.fromkeys((*start.written, *now_written))),
        records=(*after.records, *start.requests),
        statuses=after.statuses,
        sealed=sealed_values(start.secrets.by_address, after, outside.journal, snapshot),
        project=plan.basis.project,
        is_resumption=is_resumption,
    )
