"""What plan, apply, destroy and delete share: making a plan from the wired ports, and saying it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from nodusctl.base.ids import Address
from nodusctl.cli.output.protocol import Aside, Output
from nodusctl.cli.output.slow import told_when_slow
from nodusctl.cli.wiring import Wiring
from nodusctl.engine.locking import lock_note
from nodusctl.engine.plan import BaseOf, BegunPlan, PlanRequest, begin_plan
from nodusctl.engine.removal import plan_removal
from nodusctl.engine.snapshot_outlook import Sources
from nodusctl.plan.plan import Plan
from nodusctl.render.findings import files_of, findings_of
from nodusctl.render.plan_json import plan_document
from nodusctl.render.plan_text import plan_text

if TYPE_CHECKING:
    from nodusctl.engine.base_git import GitRepository
    from nodusctl.engine.policy_command import PolicyCommand

_PAGE_LIMIT = 250_000
"""Characters; at four bytes each a quarter of the 1 MiB a step's page may have at most."""


def fresh_plan(wiring: Wiring, request: PlanRequest, base: str = "") -> Plan:
    """The plan of the project's files as they are now; against the branch ``base`` where one is named."""
    return finished_plan(begun_plan(wiring, request, base), wiring)


def begun_plan(wiring: Wiring, request: PlanRequest, base: str = "") -> BegunPlan:
    """The same up to where providers are asked."""
    project = wiring.project
    with told_when_slow(wiring.output(is_json=False), wiring.wall, "planning: reading files"):
        return begin_plan(
            planning_sources(wiring),
            root=project.folder,
            project=project.file,
            request=request,
            who=wiring.who,
            base_of=base_of(wiring, base),
        )


def finished_plan(begun: BegunPlan, wiring: Wiring) -> Plan:
    """The rest of it: providers are asked, and the project's policy command judges."""
    with told_when_slow(wiring.output(is_json=False), wiring.wall, "planning: asking providers"):
        plan = begun.finished()
    return judged(plan, wiring)


def judged(plan: Plan, wiring: Wiring) -> Plan:
    """The plan with what the project's policy command says against it."""
    command = policy_command(wiring)
    return command.judged(plan) if command is not None else plan


def policy_command(wiring: Wiring) -> PolicyCommand | None:
    """``policy.command`` of the project; None where there is none."""
    words = wiring.project.file.policy.command
    if not words:
        return None
    from nodusctl.engine.policy_command import PolicyCommand

    return PolicyCommand(words=words, folder=wiring.project.folder, environment=wiring.surroundings.environment, document_of=_document_text)


def _document_text(plan: Plan) -> str:
    import json

    from nodusctl.render.redacted import redacted

    return json.dumps(redacted(plan_document(plan)), ensure_ascii=False)


def base_of(wiring: Wiring, ref: str) -> BaseOf | None:
    """How a plan learns what was merged to ``ref`` meanwhile; None where no branch is named."""
    if not ref:
        return None
    from nodusctl.engine.base_work import base_facts

    project, repository = wiring.project, repository_of(wiring)
    return lambda specs: base_facts(repository, ref, specs, project.folder, project.file)


def repository_of(wiring: Wiring) -> GitRepository:
    """The git repository the project lies in, if it does."""
    from nodusctl.engine.base_git import GitRepository

    return GitRepository(folder=wiring.project.folder, environment=wiring.surroundings.environment)


def planning_sources(wiring: Wiring) -> Sources:
    """The ports a plan is made from."""
    return Sources(
        journal=wiring.journal,
        providers=wiring.providers,
        prices=wiring.prices,
        secrets=wiring.secrets,
        clock=wiring.clock,
        ids=wiring.ids,
        passes=wiring.reading.passes,
    )


def removal_plan(wiring: Wiring, addresses: Sequence[Address], *, discards_home: bool) -> Plan:
    """The plan that removes these objects, or everything."""
    with told_when_slow(wiring.output(is_json=False), wiring.wall, "planning: asking providers"):
        plan = plan_removal(
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
    return judged(plan, wiring)


def say_plan(plan: Plan, wiring: Wiring, output: Output, file: str = "") -> None:
    """Its remarks, then the plan itself. ``file`` is where it is saved."""
    output.diagnose(plan.diagnostics)
    aside = Aside(markdown=lambda: _summary_page(plan, file), findings=lambda: findings_of(plan), files=lambda: files_of(plan))
    output.result("plan", lambda style: plan_text(plan, style), lambda: plan_document(plan), aside)


def _summary_page(plan: Plan, file: str) -> str:
    """The plan as a comment would show it, within what a page beside a log takes."""
    from nodusctl.render.comment import plan_comment
    from nodusctl.render.comment_apply import Applying
    from nodusctl.render.comment_forms import Form

    return plan_comment(plan, Form(limit=_PAGE_LIMIT), Applying(file=file)).body


def say_lock(wiring: Wiring, output: Output) -> None:
    """A note where another command holds the state; this one neither waits nor breaks it."""
    lock = wiring.claims.plan_lock()
    if lock is not None:
        output.diagnose([lock_note(lock, wiring.wall.now())])
