"""What plan, apply, destroy and delete share: making a plan from the wired ports, and saying it."""

from __future__ import annotations

from collections.abc import Sequence

from nodusctl.base.ids import Address
from nodusctl.cli.output.protocol import Output
from nodusctl.cli.output.slow import told_when_slow
from nodusctl.cli.wiring import Wiring
from nodusctl.engine.locking import lock_note
from nodusctl.engine.plan import PlanRequest, make_plan
from nodusctl.engine.removal import plan_removal
from nodusctl.plan.plan import Plan
from nodusctl.render.plan_json import plan_document
from nodusctl.render.plan_text import plan_text


def fresh_plan(wiring: Wiring, request: PlanRequest) -> Plan:
    """The plan of the project's files as they are now."""
    project = wiring.project
    with told_when_slow(wiring.output(is_json=False), wiring.wall, "planning: reading files, asking providers"):
        return make_plan(
            root=project.folder,
            project=project.file,
            request=request,
            journal=wiring.journal,
            providers=wiring.providers,
            prices=wiring.prices,
            secrets=wiring.secrets,
            clock=wiring.clock,
            ids=wiring.ids,
            who=wiring.who,
            passes=wiring.reading.passes,
        )


def removal_plan(wiring: Wiring, addresses: Sequence[Address], *, discards_home: bool) -> Plan:
    """The plan that removes these objects, or everything."""
    with told_when_slow(wiring.output(is_json=False), wiring.wall, "planning: asking providers"):
        return plan_removal(
            project=wiring.project.file,
            addresses=addresses,
            discards_home=discards_home,
            journal=wiring.journal,
            providers=wiring.providers,
            prices=wiring.prices,
            secrets=wiring.secrets,
            clock=wiring.clock,
            ids=wiring.ids,
            who=wiring.who,
        )


def say_plan(plan: Plan, wiring: Wiring, output: Output) -> None:
    """Its remarks, then the plan itself."""
    output.diagnose(plan.diagnostics)
    output.result("plan", lambda style: plan_text(plan, style), lambda: plan_document(plan))


def say_lock(wiring: Wiring, output: Output) -> None:
    """A note where another command holds the state; this one neither waits nor breaks it."""
    lock = wiring.claims.plan_lock()
    if lock is not None:
        output.diagnose([lock_note(lock, wiring.wall.now())])
