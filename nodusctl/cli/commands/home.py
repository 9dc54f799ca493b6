"""``nodusctl home list|restore|prune|verify``: the revisions of a home."""

from __future__ import annotations

from typing import Annotated

import typer

from nodusctl.base.exits import ExitCode
from nodusctl.cli.app import PlainCommand, family
from nodusctl.cli.applying import apply_approved, ask_about
from nodusctl.cli.options import JsonOption, LockTimeoutOption, TimeoutOption, YesOption, wiring_of
from nodusctl.cli.output.slow import told_when_slow
from nodusctl.cli.planning import judged
from nodusctl.cli.prompt import require_answerable
from nodusctl.cli.wiring import Wiring
from nodusctl.cli.words import address_of, duration_of
from nodusctl.engine.applying import ApplySettings
from nodusctl.engine.homes import home_facts, plan_home_change, verified
from nodusctl.plan.plan import Plan
from nodusctl.render.homes import home_document, home_text, is_whole, verified_document, verified_text

app = family("Revisions of a home: look, bring one back, drop the oldest, read them again.")
NameArgument = Annotated[str, typer.Argument(metavar="WORKSPACE", help="lab, workspace/lab, or the Volume itself: volume/lab-home.")]


@app.callback()
def _home() -> None:
    """Revisions of a home: look, bring one back, drop the oldest, read them again."""


@app.command("list", cls=PlainCommand)
def list_(context: typer.Context, *, name: NameArgument, is_json: JsonOption = False) -> ExitCode:
    """Every revision with its size and session, and where the live disk stands among them."""
    wiring = wiring_of(context)
    facts = home_facts(address_of(name), journal=wiring.journal)
    wiring.output(is_json=is_json).result("result", lambda style: home_text(facts, style), lambda: home_document(facts))
    return ExitCode.DONE


@app.command("restore", cls=PlainCommand)
def restore(
    context: typer.Context,
    *,
    name: NameArgument,
    revision: Annotated[int, typer.Option("--revision", metavar="N", min=1, help="Which one; home list shows them.")],
    is_agreed: YesOption = False,
    timeout: TimeoutOption = "30m",
    lock_timeout: LockTimeoutOption = "0s",
    is_json: JsonOption = False,
) -> ExitCode:
    """Plan, ask, and make the stopped Workspace's disk what revision N holds. No revision is dropped by it."""
    settings = ApplySettings(timeout=duration_of("--timeout", timeout), lock_timeout=duration_of("--lock-timeout", lock_timeout))
    wiring = _begin(context, is_json=is_json, is_agreed=is_agreed)
    plan = _plan(wiring, name, restores=revision)
    approved = ask_about(plan, wiring, settings, f"Replace the disk by revision {revision}?", is_agreed=is_agreed)
    return approved if isinstance(approved, ExitCode) else apply_approved(approved, wiring)


@app.command("prune", cls=PlainCommand)
def prune(
    context: typer.Context,
    *,
    name: NameArgument,
    keep: Annotated[
        int,
        typer.Option("--keep", metavar="N", min=0, help="How many of the newest stay; default: revisionHistoryLimit.", show_default=False),
    ] = 0,
    is_agreed: YesOption = False,
    timeout: TimeoutOption = "30m",
    lock_timeout: LockTimeoutOption = "0s",
    is_json: JsonOption = False,
) -> ExitCode:
    """Plan, ask, and drop the oldest revisions. The latest one always stays, and so does the live disk."""
    settings = ApplySettings(timeout=duration_of("--timeout", timeout), lock_timeout=duration_of("--lock-timeout", lock_timeout))
    wiring = _begin(context, is_json=is_json, is_agreed=is_agreed)
    approved = ask_about(_plan(wiring, name, keeps=keep), wiring, settings, "Drop these revisions?", is_agreed=is_agreed)
    return approved if isinstance(approved, ExitCode) else apply_approved(approved, wiring)


@app.command("verify", cls=PlainCommand)
def verify(context: typer.Context, *, name: NameArgument, is_json: JsonOption = False) -> ExitCode:
    """Read every byte of every revision again; exit 1 where one is not what was saved."""
    wiring = wiring_of(context)
    output = wiring.output(is_json=is_json)
    facts = home_facts(address_of(name), journal=wiring.journal)
    with told_when_slow(output, wiring.wall, "reading revisions again"):
        found = tuple(verified(facts, providers=wiring.providers))
    output.result("result", lambda style: verified_text(facts, found, style), lambda: verified_document(facts, found))
    return ExitCode.DONE if all(is_whole(one, reply) for one, reply in found) else ExitCode.ERROR


def _begin(context: typer.Context, *, is_json: bool, is_agreed: bool) -> Wiring:
    wiring = wiring_of(context)
    wiring.output(is_json=is_json)
    require_answerable(wiring.surroundings, is_agreed=is_agreed)
    return wiring


def _plan(wiring: Wiring, name: str, *, restores: int = 0, keeps: int = 0) -> Plan:
    plan = plan_home_change(
        address_of(name),
        project=wiring.project.file,
        restores=restores,
        keeps=keeps,
        journal=wiring.journal,
        providers=wiring.providers,
        prices=wiring.prices,
        secrets=wiring.secrets,
        clock=wiring.clock,
        ids=wiring.ids,
        who=wiring.who,
    )
    return judged(plan, wiring)
