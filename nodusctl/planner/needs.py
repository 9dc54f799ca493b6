"""What each object of the plan needs of capacity: whether it must have some, what may be taken, what it would run for.

A change that can't start or replace a machine needs no offer to be applied; its cost line is shown where there is one and nothing blocks.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import Enum
from typing import Any

from nodusctl.base.ids import Address
from nodusctl.base.money import ZERO, Money
from nodusctl.lifecycle.windows import WINDOWS
from nodusctl.placement.request import CapacityRequest, request_from_spec
from nodusctl.plan.actions import Verb
from nodusctl.plan.changes import ChangeClass
from nodusctl.planner.drafts import APPROVED_RATE, Draft
from nodusctl.planner.world import World
from nodusctl.state.snapshot import Standing
from nodusctl.state.status import VolumeStanding

COMPUTE_KINDS = frozenset({"workspace", "function"})
CATALOG_PREFIX = "nodus/"
_NEEDS_OFFERS = frozenset({"resources", "placement", "network", "tools", "image"})
_MOVES_PRICE = frozenset({"maxCostUSD", "schedule", "scaling", "cluster"})
_WINDOWS_PATH = f"metadata.annotations[{WINDOWS}]"


class Urgency(Enum):
    """How much an Action wants an offer."""

    NONE = "none"
    SHOWN = "shown"
    REQUIRED = "required"


@dataclass(frozen=True, slots=True, kw_only=True)
class Need:
    """One object's need. ``pool_rate`` is its Pool's own rate; ``written_tools`` those its file names itself."""

    draft: Draft
    urgency: Urgency
    request: CapacityRequest
    needs_own_image: bool
    pool_rate: Money | None
    volume: Standing | None
    written_tools: tuple[str, ...]

    @property
    def address(self) -> Address:
        """Whose need it is."""
        return self.draft.address

    @property
    def spec(self) -> Mapping[str, Any]:
        """The desired spec."""
        return self.draft.desired

    @property
    def starts_now(self) -> bool:
        """True where apply itself starts a machine, which then posts a hold."""
        action = self.draft.action
        return action is not None and action.change_class in {ChangeClass.STARTS, ChangeClass.RESTARTS}

    @property
    def remaining(self) -> Money | None:
        """The cap less what was charged, None without a cap. Its own present hold ends before a new one is posted."""
        cap = self.spec.get("maxCostUSD")
        if not isinstance(cap, str):
            return None
        charged = self.draft.standing.charged_usd if self.draft.standing is not None else ZERO
        return max(Money.parse(cap) - charged, ZERO)


def need_of(draft: Draft, world: World, moved: Mapping[Address, Address], specs: Mapping[Address, Mapping[str, Any]]) -> Need | None:
    """The need of a Workspace or Function that changes; None for other kinds and for what doesn't change."""
    urgency = _urgency(draft)
    if urgency is Urgency.NONE:
        return None
    spec = draft.desired
    name = spec.get("volume")
    home = Address("volume", name) if isinstance(name, str) else None
    volume = world.snapshot.get(moved.get(home, home)) if home is not None else None
    pool = specs.get(Address("pool", str((spec.get("placement") or {}).get("pool") or "")), {})
    written = draft.resource.written.get("tools")
    written_tools = tuple(written) if isinstance(written, (list, tuple)) else ()
    pool_rate = pool.get("rateUSDPerHour")
    return Need(
        draft=draft,
        urgency=urgency,
        request=request_from_spec(
            spec,
            providers=_providers(volume, pool),
            locations=_locations(volume, specs.get(home, {}) if home is not None else {}),
            written_tools=written_tools,
        ),
        needs_own_image=is_own_image(spec.get("image")),
        pool_rate=Money.parse(pool_rate) if isinstance(pool_rate, str) else None,
        volume=volume,
        written_tools=written_tools,
    )


def is_own_image(image: object) -> bool:
    """True for an image outside the catalog."""
    return isinstance(image, str) and not image.startswith(CATALOG_PREFIX)


def is_bound(standing: VolumeStanding | None) -> bool:
    """True where a disk's place binds the next machine: it holds data, or somebody holds it (rule R7)."""
    if standing is None or not standing.disk_id:
        return False
    return bool(standing.revisions) or standing.holder is not None or standing.is_newer_than_revision


def _urgency(draft: Draft) -> Urgency:
    action = draft.action
    if action is None or draft.address.kind not in COMPUTE_KINDS:
        return Urgency.NONE
    starts = action.change_class in {ChangeClass.STARTS, ChangeClass.RESTARTS}
    approves = any(change.path == APPROVED_RATE for change in action.changes)
    if starts or approves or action.verb in {Verb.CREATE, Verb.RESTART} or draft.changed_fields & _NEEDS_OFFERS:
        return Urgency.REQUIRED
    moves_window = any(change.path == _WINDOWS_PATH for change in action.changes)
    return Urgency.SHOWN if moves_window or draft.changed_fields & _MOVES_PRICE else Urgency.NONE


def _providers(volume: Standing | None, pool: Mapping[str, Any]) -> tuple[str, ...]:
    if volume is not None and volume.status.volume is not None and is_bound(volume.status.volume):
        return (volume.status.volume.provider,)
    return tuple(pool.get("providers") or ())


def _locations(volume: Standing | None, spec: Mapping[str, Any]) -> tuple[str, ...]:
    if volume is not None and volume.status.volume is not None and is_bound(volume.status.volume):
        return (volume.status.volume.location,)
    written = spec.get("location")
    if not isinstance(written, str):
        return ()
    return (written, written.partition("/")[2]) if "/" in written else (written,)
