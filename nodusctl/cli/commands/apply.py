"""``nodusctl apply``: a saved plan as it was reviewed, or a fresh one after a question."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Annotated

import typer

from nodusctl.base.exits import ExitCode
from nodusctl.cli.app import one_command
from nodusctl.cli.apply_settings import apply_settings
from nodusctl.cli.applying import Approved, apply_approved, approve_fresh, approve_hash, approve_saved
from nodusctl.cli.options import (
    AcceptNoEdgeOption,
    AllowDeletesOption,
    FilesOption,
    JsonOption,
    LockTimeoutOption,
    ParallelismOption,
    PruneOption,
    RestartOption,
    SkipBlockedOption,
    TimeoutOption,
    YesOption,
    wiring_of,
)
from nodusctl.cli.prompt import require_answerable
from nodusctl.cli.ticker_warning import say_no_ticker
from nodusctl.cli.wiring import Wiring
from nodusctl.cli.words import address_of, usage_error
from nodusctl.engine.plan import PlanRequest
from nodusctl.engine.plan_files import is_plan_file


def apply(
    context: typer.Context,
    *,
    paths: Annotated[
        list[str] | None, typer.Argument(metavar="PLAN|PATH", help="A saved plan, or files or folders to plan.", show_default=False)
    ] = None,
    files: FilesOption = None,
    is_agreed: YesOption = False,
    plan_hash: Annotated[
        str, typer.Option("--plan-hash", metavar="H", help="Plan afresh and apply only if the hash is H.", show_default=False)
    ] = "",
    parallelism: ParallelismOption = None,
    is_json: JsonOption = False,
    restarts: RestartOption = None,
    skips_blocked: SkipBlockedOption = False,
    allow_deletes: AllowDeletesOption = None,
    prunes: PruneOption = False,
    accepts_no_edge: AcceptNoEdgeOption = False,
    timeout: TimeoutOption = "",
    lock_timeout: LockTimeoutOption = "",
) -> ExitCode:
    """Carry out a saved plan as reviewed, without a question; or plan, show, ask, and carry out."""
    wiring = wiring_of(context)
    words = [*(paths or ()), *(files or ())]
    wiring.output(is_json=is_json)
    planning = {
        "--restart": restarts,
        "--allow-deletes": allow_deletes,
        "--prune": prunes,
        "--skip-blocked": skips_blocked,
        "--accept-no-edge": accepts_no_edge,
    }
    saved = _saved_plan(words, wiring.start)
    if saved is not None and not plan_hash:
        _refuse_planning_options(planning)
        settings = apply_settings(wiring, parallelism=parallelism, timeout=timeout, lock_timeout=lock_timeout)
        return _finish(approve_saved(saved, wiring, settings), wiring)
    wiring.select([word for word in words if saved is None or wiring.start / word != saved])
    request = PlanRequest(
        paths=wiring.project.paths,
        restarts=tuple(address_of(one) for one in restarts or ()),
        allow_deletes=allow_deletes,
        prunes=prunes,
        skips_blocked=skips_blocked,
        accepts_no_edge=accepts_no_edge,
    )
    # Asked only now: that a path isn't there is said first.
    require_answerable(wiring.surroundings, is_agreed=is_agreed or bool(plan_hash))
    settings = apply_settings(wiring, parallelism=parallelism, timeout=timeout, lock_timeout=lock_timeout, skips_blocked=skips_blocked)
    if plan_hash:
        return _finish(approve_hash(plan_hash, saved, request, wiring, settings), wiring)
    return _finish(approve_fresh(request, wiring, settings, is_agreed=is_agreed), wiring)


def _finish(approved: Approved | ExitCode, wiring: Wiring) -> ExitCode:
    if isinstance(approved, ExitCode):
        return approved
    code = apply_approved(approved, wiring)
    say_no_ticker(wiring, wiring.output(is_json=False))
    return code


def _saved_plan(words: Sequence[str], start: Path) -> Path | None:
    found = [start / word for word in words if (start / word).is_file() and is_plan_file(start / word)]
    if len(found) > 1 or (found and len(words) > 1):
        usage_error("One command applies one plan", f"{found[0]} is a saved plan.", f"nodusctl apply {found[0].name}")
    return found[0] if found else None


def _refuse_planning_options(given: Mapping[str, object]) -> None:
    named = [name for name, value in given.items() if value]
    if named:
        usage_error("A saved plan takes no planning options", f"Given: {', '.join(named)}.", "make a new plan with them, then apply that")


app = one_command(apply)
