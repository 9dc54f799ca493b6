"""``nodusctl apply``: a saved plan as it was reviewed, or a fresh one after a question."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Annotated

import typer

from nodusctl.base.exits import ExitCode
from nodusctl.cli.app import one_command
from nodusctl.cli.apply_settings import apply_settings, says_ci
from nodusctl.cli.applying import Approved, apply_approved, approve_fresh, approve_saved
from nodusctl.cli.options import (
    AcceptBaseMovedOption,
    AcceptNoEdgeOption,
    AllowDeletesOption,
    BaseOption,
    CiOption,
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
from nodusctl.cli.reviewing import Reviewed, approve_hash
from nodusctl.cli.shared_state import refuse_unshared_state
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
    resumes: Annotated[
        bool, typer.Option("--resume", help="Carry on what is left of a saved plan that was started, inside the same offers and ceilings.")
    ] = False,
    is_ci: CiOption = False,
    base: BaseOption = "",
    accepts_base_moved: AcceptBaseMovedOption = False,
    is_local_fine: Annotated[
        bool, typer.Option("--local-state", help="In CI, keep a state file in the checkout all the same; it goes with the job.")
    ] = False,
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
        "--base": base,
        "--accept-base-moved": accepts_base_moved,
    }
    saved = _saved_plan(words, wiring.start)
    _refuse_unreviewed(saved, plan_hash, wiring, is_ci=is_ci, resumes=resumes)
    if saved is not None and not plan_hash:
        _refuse_planning_options(planning)
        settings = apply_settings(wiring, parallelism=parallelism, timeout=timeout, lock_timeout=lock_timeout)
        refuse_unshared_state(wiring, is_ci=says_ci(wiring, flag=is_ci), is_local_fine=is_local_fine)
        return _finish(approve_saved(saved, settings, resumes=resumes), wiring)
    wiring.select([word for word in words if saved is None or wiring.start / word != saved])
    request = PlanRequest(
        paths=wiring.project.paths,
        restarts=tuple(address_of(one) for one in restarts or ()),
        allow_deletes=allow_deletes,
        prunes=prunes,
        skips_blocked=skips_blocked,
        accepts_no_edge=accepts_no_edge,
        accepts_base_moved=accepts_base_moved,
    )
    # Asked only now: that a path isn't there is said first.
    require_answerable(wiring.surroundings, is_agreed=is_agreed or bool(plan_hash))
    settings = apply_settings(wiring, parallelism=parallelism, timeout=timeout, lock_timeout=lock_timeout, skips_blocked=skips_blocked)
    refuse_unshared_state(wiring, is_ci=says_ci(wiring, flag=is_ci), is_local_fine=is_local_fine)
    if plan_hash:
        return _finish(approve_hash(Reviewed(plan_hash, saved, base), request, wiring, settings), wiring)
    return _finish(approve_fresh(request, wiring, settings, base=base, is_agreed=is_agreed), wiring)


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


def _refuse_unreviewed(saved: Path | None, plan_hash: str, wiring: Wiring, *, is_ci: bool, resumes: bool) -> None:
    """In CI what runs was reviewed: a plan or its hash is named. What is resumed is a plan that was started."""
    if resumes and (saved is None or plan_hash):
        usage_error("--resume goes on with a saved plan", "Name the plan file, and no --plan-hash.", "nodusctl apply PLAN --resume")
    if says_ci(wiring, flag=is_ci) and saved is None and not plan_hash:
        usage_error(
            "In CI, apply runs only what was reviewed",
            "There is neither a saved plan nor a plan hash.",
            "nodusctl apply PLAN --ci\nnodusctl apply --plan-hash H --ci",
        )


def _refuse_planning_options(given: Mapping[str, object]) -> None:
    named = [name for name, value in given.items() if value]
    if named:
        usage_error("A saved plan takes no planning options", f"Given: {', '.join(named)}.", "make a new plan with them, then apply that")


app = one_command(apply)
