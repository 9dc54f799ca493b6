"""``nodusctl secret set NAME KEY``: a value from stdin, never from the command line, where every process could read it."""

from __future__ import annotations

import io
import re
from typing import Annotated

import typer

from nodusctl.base.exits import ExitCode
from nodusctl.base.ids import Address
from nodusctl.cli.app import PlainCommand, family
from nodusctl.cli.hidden_input import read_hidden
from nodusctl.cli.options import JsonOption, LockTimeoutOption, wiring_of
from nodusctl.cli.output.heart import beating
from nodusctl.cli.surroundings import Surroundings
from nodusctl.cli.words import address_of, duration_of, usage_error
from nodusctl.engine.secret_setting import set_value

_NAME = r"[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?"
_KEY = r"[-._a-zA-Z0-9]{1,253}"

app = family("Values of Secrets.")


@app.callback()
def _secret() -> None:
    """Values of Secrets."""


@app.command("set", cls=PlainCommand)
def set_(
    context: typer.Context,
    *,
    name: Annotated[str, typer.Argument(metavar="NAME", help="wandb or secret/wandb; made where there is none.")],
    key: Annotated[str, typer.Argument(metavar="KEY", help="One key of it, such as WANDB_API_KEY.")],
    lock_timeout: LockTimeoutOption = "0s",
    is_json: JsonOption = False,
) -> ExitCode:
    """Store a value read from stdin as a new version; on a terminal it is asked for and not shown. Equal bytes change nothing."""
    wiring = wiring_of(context)
    output = wiring.output(is_json=is_json)
    address = address_of(name if "/" in name else f"secret/{name}")
    if address.kind != "secret":
        usage_error("Only a Secret has values to set", f"It says {name!r}.", f"nodusctl secret set {address.name} {key}")
    if not re.fullmatch(_NAME, address.name):
        usage_error("The name has the wrong form", "It is at most 63 lower-case letters, digits and '-'.")
    if not re.fullmatch(_KEY, key):
        usage_error("A Secret key has the wrong form", "It is at most 253 letters, digits, '-', '_' and '.'.")
    value = _value(wiring.surroundings, address, key)
    with beating(output.progress()) as progress:
        done = set_value(
            address,
            key,
            value,
            outside=wiring.outside(progress),
            command=wiring.command,
            lock_timeout=duration_of("--lock-timeout", lock_timeout),
        )
    said = f"{address.name}@{done.version}" + ("" if done.is_new else " (the same value; no new version)")
    output.result("result", lambda style: said, lambda: {"address": str(address), "version": done.version, "isNew": done.is_new})
    return ExitCode.DONE


def _value(surroundings: Surroundings, address: Address, key: str) -> bytes:
    """All of stdin without one last line break; on a terminal one line, not echoed."""
    if surroundings.stdin.isatty():
        return read_hidden(surroundings, f"Value of {key} of {address.name}: ").encode()
    raw = getattr(surroundings.stdin, "buffer", None)
    whole = raw.read() if raw is not None and not isinstance(surroundings.stdin, io.StringIO) else surroundings.stdin.read().encode()
    return bytes(whole).removesuffix(b"\n").removesuffix(b"\r")
