"""A saved plan met with the present: its own specs planned once more, for today's prices and for what would block it now.

Nothing of the new plan is applied: what runs is what was reviewed. The files are not read either, so a plan may be applied where they are
not, or are others by now.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import cached_property

from nodusctl.base.diagnostics import Diagnostic
from nodusctl.engine.current_rates import CurrentRates
from nodusctl.engine.former_defaults import former_defaults
from nodusctl.engine.market import configured_rates
from nodusctl.engine.planned_objects import resource_of, unreadable, written_after
from nodusctl.engine.repricing import AskedRate
from nodusctl.engine.snapshot_outlook import Sources
from nodusctl.engine.specs import Specs
from nodusctl.engine.worlds import gather
from nodusctl.plan.plan import Plan
from nodusctl.plan.reasons import BlockingReason
from nodusctl.planner.build import build_plan
from nodusctl.planner.world import Reach, World
from nodusctl.resources.project import ProjectFile


def _no_base() -> tuple[Diagnostic, ...]:
    """Where the plan wasn't made against a branch."""
    return ()


def _no_judge(plan: Plan) -> tuple[BlockingReason, ...]:
    """Where the project has no policy command."""
    return ()


class SavedPlanCheck:
    """The ``Recheck`` of one saved plan. Providers are asked once, for prices and reasons together, and only when either is wanted."""

    def __init__(
        self,
        plan: Plan,
        sources: Sources,
        project: ProjectFile,
        *,
        moved_base: Callable[[], tuple[Diagnostic, ...]] = _no_base,
        judge: Callable[[Plan], tuple[BlockingReason, ...]] = _no_judge,
    ) -> None:
        """``moved_base`` says why its branch was overtaken, ``judge`` what the project's policy command says against the plan."""
        self._plan, self._sources, self._project = plan, sources, project
        self._moved_base, self._judge = moved_base, judge

    def moved_base(self) -> tuple[Diagnostic, ...]:
        return self._moved_base()

    def rate_of(self) -> AskedRate:
        rates = CurrentRates(self._sources.providers, self._sources.prices, configured_rates(self._project))
        rates.learn(self._world.markets)
        return rates.today

    def reasons(self) -> tuple[BlockingReason, ...]:
        """Those of the plan as a whole, and those of its own objects; what blocks only others is not this plan's."""
        own = {action.address for action in self._plan.actions}
        made = build_plan(self._world, former_defaults)
        unread = (action for action in self._plan.actions if action.spec is not None and resource_of(action) is None)
        now = (one for one in made.reasons if one.address is None or one.address in own)
        return (*map(unreadable, unread), *now, *self._judge(self._plan))

    @cached_property
    def _world(self) -> World:
        plan, snapshot = self._plan, self._sources.journal.snapshot()
        resources = tuple(one for action in plan.actions if (one := resource_of(action)) is not None)
        written = frozenset(written_after(plan, snapshot))
        specs = Specs(resources=resources, written=written, paths=(), files=0, diagnostics=(), is_read_whole=True)
        world = gather(
            self._sources,
            self._project,
            snapshot,
            specs=specs,
            reach=Reach(written=written),
            allow=plan.allow,
            who=plan.created_by,
            request=_AsReviewed(),
        )
        hmacs = {action.address: action.secret_hmacs for action in plan.actions if action.secret_hmacs is not None}
        return replace(world, secret_hmacs=hmacs)


class _AsReviewed:
    """The circumstances of planning a saved plan once more: providers are asked, and its base was looked at before."""

    is_offline = False
