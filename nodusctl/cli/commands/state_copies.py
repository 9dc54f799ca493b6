"""``nodusctl state pull|push|backup|restore``: the state as a whole, out of where it is kept and back."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from nodusctl.base.exits import ExitCode
from nodusctl.cli.apply_settings import apply_settings
from nodusctl.cli.options import JsonOption, LockTimeoutOption, YesOption, wiring_of
from nodusctl.cli.output.slow import told_when_slow
from nodusctl.cli.prompt import agrees, require_answerable
from nodusctl.cli.wiring import Wiring
from nodusctl.cli.words import usage_error
from nodusctl.engine.plan_files import write_whole
from nodusctl.engine.state_copies import Keeper, WholeState, find_kept, keep_by_hand
from nodusctl.engine.state_copies import pull as pull_state
from nodusctl.engine.state_copies import push as push_state
from nodusctl.engine.state_copies import restore as restore_state
from nodusctl.render.state_copies import backup_document, backups_text, outcome_document, outcome_text

_COPYING = "copying the state"
ForceOption = Annotated[
    bool, typer.Option("--force", help="Also another state, one that lacks what is here, or an edited file; what is here is kept first.")
]


def pull(
    context: typer.Context,
    *,
    out: Annotated[
        str, typer.Option("-o", "--out", metavar="FILE", help="Write it to FILE, mode 0600, and not to stdout.", show_default=False)
    ] = "",
    is_json: JsonOption = False,
) -> ExitCode:
    """The whole state as one JSON document, lineage and serial first. What is sealed stays sealed: no secret is in it."""
    wiring = wiring_of(context)
    output = wiring.output(is_json=is_json)
    if is_json and not out:
        usage_error("A pulled state is a document of its own", "With --json it goes to a file.", "nodusctl state pull -o FILE --json")
    copies = wiring.reading.copies
    with told_when_slow(output, wiring.wall, _COPYING):
        state = pull_state(copies, wiring.who, wiring.clock.now())
        text = copies.text_of(state)
    if not out:
        # Past the redactor: a sealed value that happened to look like something else would be lost.
        wiring.surroundings.stdout.write(text)
        return ExitCode.DONE
    path = wiring.start / out
    try:
        write_whole(path, text)
    except OSError as fault:
        usage_error("The state can't be written there", f"{path}: {fault.strerror}.")
    said = f"{path}: serial {state.identity.serial}, lineage {state.identity.lineage}."
    document = {"path": str(path), "serial": state.identity.serial, "lineage": state.identity.lineage}
    output.result("result", lambda style: said, lambda: document)
    return ExitCode.DONE


def push(
    context: typer.Context,
    *,
    file: Annotated[str, typer.Argument(metavar="FILE", help="A pulled state.")],
    is_forced: ForceOption = False,
    lock_timeout: LockTimeoutOption = "",
    is_json: JsonOption = False,
) -> ExitCode:
    """Put a pulled state in the place of the one here, which is kept first: to move a state to another place, or a copy forward."""
    wiring = wiring_of(context)
    output = wiring.output(is_json=is_json)
    with told_when_slow(output, wiring.wall, _COPYING):
        done = push_state(wiring.start / file, state=_whole(wiring), keeper=_keeper(wiring, lock_timeout), is_forced=is_forced)
    output.result("result", lambda style: outcome_text(done, "Pushed"), lambda: outcome_document(done))
    return ExitCode.DONE


def backup(
    context: typer.Context,
    *,
    lists: Annotated[bool, typer.Option("--list", help="Show what is kept, newest first, and keep nothing.")] = False,
    is_json: JsonOption = False,
) -> ExitCode:
    """Keep the state as it is, until somebody removes the file. Pushes, restores and upgrades keep it by themselves, the last 20."""
    wiring = wiring_of(context)
    output = wiring.output(is_json=is_json)
    copies = wiring.reading.copies
    if lists:
        found = copies.backups()
        output.result("result", lambda style: backups_text(found, style), lambda: {"backups": [backup_document(one) for one in found]})
        return ExitCode.DONE
    with told_when_slow(output, wiring.wall, _COPYING):
        kept = keep_by_hand(copies, wiring.who, wiring.clock.now())
    output.result("result", lambda style: f"Kept in {kept.path}.", lambda: backup_document(kept))
    return ExitCode.DONE


def restore(
    context: typer.Context,
    *,
    name: Annotated[str, typer.Argument(metavar="BACKUP|FILE", help="The name of a backup, or a pulled state.")],
    is_agreed: YesOption = False,
    is_forced: Annotated[bool, typer.Option("--force", help="Also another state; what is here is kept first.")] = False,
    lock_timeout: LockTimeoutOption = "",
    is_json: JsonOption = False,
) -> ExitCode:
    """Go back to a kept state. Machines made since have no record then: orphans finds them. Plans made before fit no more."""
    wiring = wiring_of(context)
    output = wiring.output(is_json=is_json)
    require_answerable(wiring.surroundings, is_agreed=is_agreed)
    path = find_kept(name, wiring.start, wiring.reading.copies.backups())
    if not is_agreed:
        output.remark(_what_goes(wiring, path))
        if not agrees(wiring.surroundings, "Go back to it?"):
            output.remark("Nothing was changed.")
            return ExitCode.ERROR
    with told_when_slow(output, wiring.wall, _COPYING):
        done = restore_state(path, state=_whole(wiring), keeper=_keeper(wiring, lock_timeout), is_forced=is_forced)
    output.result("result", lambda style: outcome_text(done, "Restored"), lambda: outcome_document(done))
    output.remark("See what runs and isn't in it, and what it has that runs no more:\n  nodusctl orphans\n  nodusctl drift")
    return ExitCode.DONE


def _what_goes(wiring: Wiring, path: Path) -> str:
    copies = wiring.reading.copies
    present, kept = copies.identity(), copies.read(path).identity
    events = max(present.last_event.number - kept.last_event.number, 0)
    entries = max(present.last_entry.number - kept.last_entry.number, 0)
    return (
        f"The state is at serial {present.serial}; {path.name} was at {kept.serial}. {events} events and {entries} ledger entries "
        "written since would stand in the backup alone, which is made first."
    )


def _whole(wiring: Wiring) -> WholeState:
    return WholeState(copies=wiring.writing.copies, claims=wiring.writing.claims)


def _keeper(wiring: Wiring, lock_timeout: str) -> Keeper:
    return Keeper(
        project=wiring.project.name,
        operation_id=wiring.ids.new_uid(),
        command=wiring.command,
        by=wiring.who,
        at=wiring.clock.now(),
        lock_timeout=apply_settings(wiring, lock_timeout=lock_timeout).lock_timeout,
    )
