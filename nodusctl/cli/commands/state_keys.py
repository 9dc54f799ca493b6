"""``nodusctl state keys``: who can open the sealed values of a state that several people share."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Annotated

import typer

from nodusctl.base.diagnostics import error
from nodusctl.base.exits import ExitCode, UserError
from nodusctl.cli.app import PlainCommand, family
from nodusctl.cli.apply_settings import apply_settings
from nodusctl.cli.options import JsonOption, LockTimeoutOption, wiring_of
from nodusctl.cli.output.protocol import Output
from nodusctl.cli.wiring import Wiring
from nodusctl.cli.words import usage_error
from nodusctl.engine.state_keys import KeyedState, found_team, membership, rotate_key, still_knows, unvouched
from nodusctl.ports.keys import KeyChange
from nodusctl.render.members import members_document, members_text, own_document

app = family("The state's key, and who has it.")
RecoveryOption = Annotated[
    str,
    typer.Option(
        "--recovery-file", metavar="FILE", help="Write the recovery key to FILE (new, mode 0600) and not to stdout.", show_default=False
    ),
]
NameArgument = Annotated[str, typer.Argument(metavar="MEMBER", help="A member's name, such as ada.")]


@app.callback()
def _keys() -> None:
    """The state's key, and who has it."""


@app.command("new", cls=PlainCommand)
def new(context: typer.Context, *, is_json: JsonOption = False) -> ExitCode:
    """Print your public key, of a pair made where you have none. Its secret half stays on this computer; the public one you give away."""
    wiring = wiring_of(context)
    output = wiring.output(is_json=is_json)
    own = wiring.reading.keys.make_own()
    output.result("result", lambda style: own.public_key, lambda: own_document(own))
    output.remark(f"The secret half {'now lies' if own.is_new else 'lies'} in {own.place}. Have a member let you in:")
    output.remark(f"  nodusctl state keys add NAME {own.public_key}")
    return ExitCode.DONE


@app.command("list", cls=PlainCommand)
def list_(context: typer.Context, *, is_json: JsonOption = False) -> ExitCode:
    """Who can open the state, since when, and who let them in."""
    wiring = wiring_of(context)
    found = membership(wiring.reading.keys)
    output = wiring.output(is_json=is_json)
    output.diagnose(unvouched(found.members))
    output.result("result", lambda style: members_text(found, style), lambda: members_document(found))
    return ExitCode.DONE


@app.command("init", cls=PlainCommand)
def init(
    context: typer.Context,
    *,
    name: Annotated[str, typer.Argument(metavar="[MEMBER]", help="What you are called; default: your account.", show_default=False)] = "",
    recovery_file: RecoveryOption = "",
    lock_timeout: LockTimeoutOption = "",
    is_json: JsonOption = False,
) -> ExitCode:
    """Make the state a team's: a new key, held in the state for you and for recovery, and every sealed value sealed again under it."""
    wiring = wiring_of(context)
    output = wiring.output(is_json=is_json)
    _require_outlet(recovery_file, wiring, is_json=is_json)
    settings = apply_settings(wiring, lock_timeout=lock_timeout)
    who = name or wiring.who.partition("@")[0].lower()
    done = found_team(who, state=_state(wiring), change=_change(wiring), command=wiring.command, lock_timeout=settings.lock_timeout)
    said = f"{who} has the key now; {done.values} values were sealed again under it."
    output.result("result", lambda style: said, lambda: {"members": list(done.members), "values": done.values})
    _give_recovery(done.recovery_secret, recovery_file, wiring, output)
    return ExitCode.DONE


@app.command("add", cls=PlainCommand)
def add(
    context: typer.Context,
    *,
    name: NameArgument,
    public_key: Annotated[str, typer.Argument(metavar="PUBLIC-KEY", help="What they printed with: nodusctl state keys new.")],
    is_json: JsonOption = False,
) -> ExitCode:
    """Let somebody in: the state's key, held for their pair too. Ask them in person whether the public key is theirs."""
    wiring = wiring_of(context)
    output = wiring.output(is_json=is_json)
    wiring.writing.keys.add(name, public_key, _change(wiring))
    output.result("result", lambda style: f"{name} can open the state now.", lambda: {"name": name, "publicKey": public_key.strip()})
    return ExitCode.DONE


@app.command("remove", cls=PlainCommand)
def remove(
    context: typer.Context,
    *,
    name: NameArgument,
    rotates: Annotated[bool, typer.Option("--rotate", help="And make a new key at once.")] = False,
    lock_timeout: LockTimeoutOption = "",
    is_json: JsonOption = False,
) -> ExitCode:
    """Take somebody's copy of the key away. They may still know the key, until it is rotated; their account at the database is apart."""
    wiring = wiring_of(context)
    output = wiring.output(is_json=is_json)
    if rotates:
        settings = apply_settings(wiring, lock_timeout=lock_timeout)
        rotate_key(state=_state(wiring), change=_change(wiring), command=wiring.command, lock_timeout=settings.lock_timeout, without=name)
    else:
        wiring.writing.keys.remove(name, _change(wiring))
        output.diagnose([still_knows(name)])
    said = f"{name} is no member any more{', and the key is another one' if rotates else ''}."
    output.result("result", lambda style: said, lambda: {"name": name, "isRotated": rotates})
    return ExitCode.DONE


@app.command("rotate", cls=PlainCommand)
def rotate(context: typer.Context, *, lock_timeout: LockTimeoutOption = "", is_json: JsonOption = False) -> ExitCode:
    """Make a new key for those who are members now, and seal every value again under it. Saved plans with Secrets must be made anew."""
    wiring = wiring_of(context)
    output = wiring.output(is_json=is_json)
    settings = apply_settings(wiring, lock_timeout=lock_timeout)
    done = rotate_key(state=_state(wiring), change=_change(wiring), command=wiring.command, lock_timeout=settings.lock_timeout)
    said = f"A new key, for {', '.join(done.members)}; {done.values} values were sealed again under it."
    output.result("result", lambda style: said, lambda: {"members": list(done.members), "values": done.values})
    return ExitCode.DONE


@app.command("recovery", cls=PlainCommand)
def recovery(context: typer.Context, *, recovery_file: RecoveryOption = "", is_json: JsonOption = False) -> ExitCode:
    """Make another recovery key in place of the one there is, which opens the state no more."""
    wiring = wiring_of(context)
    output = wiring.output(is_json=is_json)
    _require_outlet(recovery_file, wiring, is_json=is_json)
    secret = wiring.writing.keys.renew_recovery(_change(wiring))
    output.result("result", lambda style: "The recovery copy is another one now.", lambda: {"members": ["recovery"]})
    _give_recovery(secret, recovery_file, wiring, output)
    return ExitCode.DONE


def _state(wiring: Wiring) -> KeyedState:
    return KeyedState(keys=wiring.writing.keys, claims=wiring.writing.claims)


def _change(wiring: Wiring) -> KeyChange:
    return KeyChange(by=wiring.who, at=wiring.clock.now())


def _require_outlet(recovery_file: str, wiring: Wiring, *, is_json: bool) -> None:
    """Asked before anything is made: the key is given once, to a new file or to a person."""
    if is_json and not recovery_file:
        usage_error(
            "The recovery key goes to a file here", "JSON has no place for it.", "nodusctl state keys init --json --recovery-file FILE"
        )
    if recovery_file and (wiring.start / recovery_file).exists():
        usage_error("The recovery file is there already", f"It says {recovery_file}; a key is never written over.", "Name a new file.")


def _give_recovery(secret: str, recovery_file: str, wiring: Wiring, output: Output) -> None:
    """Once, and past the redactor, which would take it for what it is."""
    if recovery_file:
        _write_new(wiring.start / recovery_file, secret)
        output.remark(f"The recovery key is in {recovery_file}. Keep it where no computer of yours is; it opens the state for anybody.")
        return
    output.remark("The recovery key, told this once. Keep it where no computer of yours is; it opens the state for anybody who has it:")
    wiring.surroundings.stdout.write(f"{secret}\n")
    wiring.surroundings.stdout.flush()
    output.remark("Whoever has lost their own key gives it so, then lets their new pair in:")
    output.remark("  NODUSCTL_STATE_KEY=RECOVERY-KEY nodusctl state keys add NAME PUBLIC-KEY")


def _write_new(path: Path, secret: str) -> None:
    try:
        descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    except OSError as problem:
        raise UserError(
            error(
                "StateKeyMissing",
                "The recovery key could not be written.",
                f"{path}: {problem.strerror}. The team has its key all the same, and the recovery copy can be made anew.",
                "nodusctl state keys recovery",
            )
        ) from None
    with os.fdopen(descriptor, "w", encoding="utf-8") as stream:
        stream.write(f"{secret}\n")
