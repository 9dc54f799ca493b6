"""``nodusctl state``: the state itself, what moved it, another name for one of its objects, and who has its key."""

from __future__ import annotations

from typing import Annotated

import typer

from nodusctl.base.diagnostics import Diagnostic, warning
from nodusctl.base.exits import ExitCode
from nodusctl.cli.app import PlainCommand, family
from nodusctl.cli.apply_settings import apply_settings
from nodusctl.cli.commands import state_keys
from nodusctl.cli.commands.state_copies import backup, pull, push, restore
from nodusctl.cli.commands.state_snapshot import snapshot
from nodusctl.cli.options import JsonOption, LockTimeoutOption, YesOption, wiring_of
from nodusctl.cli.prompt import agrees, require_answerable
from nodusctl.cli.words import address_of
from nodusctl.engine.inspect_state import state_facts
from nodusctl.engine.moving import MovableState, Move, Mover, carry_out_move, plan_move
from nodusctl.render.state_facts import history_document, history_text, state_document, state_text

app = family("The state: its history, its objects' names, its copies, who has its key.")
app.add_typer(state_keys.app, name="keys")


@app.callback()
def _state() -> None:
    """The state: its history, its objects' names, its copies, who has its key."""


@app.command("show")
def show(context: typer.Context, is_json: JsonOption = False) -> ExitCode:
    """Where the state is, its lineage and serial, what it holds and has cost, who has a lock, what moved it last."""
    wiring = wiring_of(context)
    facts = state_facts(journal=wiring.journal, claims=wiring.claims)
    output = wiring.output(is_json=is_json)
    output.result("result", lambda style: state_text(facts, style), lambda: state_document(facts))
    return ExitCode.DONE


@app.command("history")
def history(
    context: typer.Context,
    *,
    limit: Annotated[int, typer.Option("--limit", metavar="N", min=1, help="At most so many, newest first.")] = 50,
    is_json: JsonOption = False,
) -> ExitCode:
    """Operations that moved the serial: when, by whom, with which command and plan."""
    wiring = wiring_of(context)
    operations = wiring.journal.operations(limit)
    output = wiring.output(is_json=is_json)
    output.result("result", lambda style: history_text(operations, style), lambda: history_document(operations))
    return ExitCode.DONE


@app.command("mv")
def mv(
    context: typer.Context,
    *,
    old: Annotated[str, typer.Argument(metavar="OLD", help="The object, such as workspace/lab.")],
    new: Annotated[str, typer.Argument(metavar="NEW", help="Its new name: workspace/studio, or studio alone.")],
    is_agreed: YesOption = False,
    lock_timeout: LockTimeoutOption = "",
    is_json: JsonOption = False,
) -> ExitCode:
    """Rename an object in the state. Machine, home and money stay: they belong to the uid. Rename it in the files too."""
    wiring = wiring_of(context)
    output = wiring.output(is_json=is_json)
    before = address_of(old)
    after = address_of(new if "/" in new else f"{before.kind}/{new}")
    require_answerable(wiring.surroundings, is_agreed=is_agreed)
    move = plan_move(before, after, wiring.journal.snapshot())
    if not is_agreed:
        output.remark(_words(move, "would become"))
        if not agrees(wiring.surroundings, "Rename it in the state?"):
            output.remark("Nothing was changed.")
            return ExitCode.ERROR
    settings = apply_settings(wiring, lock_timeout=lock_timeout)
    mover = Mover(operation_id=wiring.ids.new_uid(), command=wiring.command, by=wiring.who, at=wiring.clock.now())
    state = MovableState(journal=wiring.writing.journal, claims=wiring.writing.claims)
    done = carry_out_move(before, after, state=state, mover=mover, lock_timeout=settings.lock_timeout)
    output.diagnose([_rename_in_files(done)] if done.record.source else [])
    output.result("result", lambda style: _words(done, "is now"), lambda: _document(done))
    return ExitCode.DONE


app.command("snapshot")(snapshot)


for _copying in (pull, push, backup, restore):
    app.command(_copying.__name__, cls=PlainCommand)(_copying)


def _words(move: Move, verb: str) -> str:
    named = ", ".join(str(record.address) for record in move.followers)
    return f"{move.old} {verb} {move.new}." + (f" Named by {named}, which follows." if named else "")


def _rename_in_files(move: Move) -> Diagnostic:
    detail = f"{move.record.source} still says {move.old}; a plan would remove {move.new} and make {move.old} anew."
    fix = f"Write name: {move.new.name} there, then see that nothing is left to do:\n  nodusctl plan"
    return warning("FilesBehind", "The files have the old name", detail, fix, address=str(move.new))


def _document(move: Move) -> dict[str, object]:
    return {"old": str(move.old), "new": str(move.new), "uid": move.record.uid, "followers": [str(one.address) for one in move.followers]}
