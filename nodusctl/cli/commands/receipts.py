"""``nodusctl receipts [K/N]``: what has been charged, for all or for one object."""

from __future__ import annotations

from typing import Annotated

import typer

from nodusctl.base.exits import ExitCode
from nodusctl.cli.app import one_command
from nodusctl.cli.options import JsonOption, wiring_of
from nodusctl.cli.words import address_of
from nodusctl.engine.inspect_receipts import list_receipts
from nodusctl.render.receipts import receipt_document, receipt_text, receipts_text


def receipts(
    context: typer.Context,
    *,
    name: Annotated[str, typer.Argument(metavar="KIND/NAME", help="An object, also a removed one; default: all.", show_default=False)] = "",
    is_json: JsonOption = False,
) -> ExitCode:
    """What each session has cost: times, segments, rate and where it came from."""
    wiring = wiring_of(context)
    now = wiring.clock.now()
    output = wiring.output(is_json=is_json)
    found = list_receipts(address_of(name) if name else None, journal=wiring.journal, now=now)
    if name and len(found) == 1:
        output.result("result", lambda style: receipt_text(found[0], now=now), lambda: {"receipts": [receipt_document(found[0])]})
        return ExitCode.DONE
    whole = [receipt_document(one) for one in found]
    output.result("result", lambda style: receipts_text(found, style, now=now), lambda: {"receipts": whole})
    return ExitCode.DONE


app = one_command(receipts)
