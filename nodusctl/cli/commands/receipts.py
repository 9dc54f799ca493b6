"""``nodusctl receipts [K/N]``: what has been charged, for all or for one object; ``--verify`` recomputes it."""

from __future__ import annotations

from typing import Annotated

import typer

from nodusctl.base.diagnostics import error
from nodusctl.base.exits import ExitCode
from nodusctl.base.ids import Address
from nodusctl.cli.app import one_command
from nodusctl.cli.options import JsonOption, wiring_of
from nodusctl.cli.output.slow import told_when_slow
from nodusctl.cli.wiring import Wiring
from nodusctl.cli.words import address_of, usage_error


def receipts(
    context: typer.Context,
    *,
    name: Annotated[str, typer.Argument(metavar="KIND/NAME", help="An object, also a removed one; default: all.", show_default=False)] = "",
    verify: Annotated[bool, typer.Option("--verify", help="Recompute each from the journal; exit 1 where one differs.")] = False,
    is_csv: Annotated[bool, typer.Option("--csv", help="One line an attempt, with every time, price and segment.")] = False,
    is_json: JsonOption = False,
) -> ExitCode:
    """What each session has cost: times, segments, rate and where it came from."""
    if is_csv and (is_json or verify):
        usage_error("--csv stands alone", fix="leave out --json and --verify, or use --json")
    wiring, owner = wiring_of(context), address_of(name) if name else None
    if owner is not None:
        from nodusctl.engine.naming import refuse_never_seen

        refuse_never_seen(owner, wiring.journal)
    return _verify(owner, wiring, is_json=is_json) if verify else _list(owner, wiring, is_csv=is_csv, is_json=is_json)


def _list(owner: Address | None, wiring: Wiring, *, is_csv: bool, is_json: bool) -> ExitCode:
    from nodusctl.engine.inspect_receipts import attempts_of, receipts_among
    from nodusctl.engine.sessions import sessions_of
    from nodusctl.render import receipts as faces

    now, output = wiring.clock.now(), wiring.output(is_json=is_json)
    with told_when_slow(output, wiring.wall, "reading receipts"):
        attempts = attempts_of(owner, wiring.journal)
        found = receipts_among(attempts, journal=wiring.journal, now=now)
        sessions = sessions_of(found, attempts)
    document = {"receipts": [faces.receipt_document(one) for one in found], "sessions": [faces.session_document(one) for one in sessions]}
    if is_csv:
        from nodusctl.render.receipts_csv import receipts_csv

        output.result("result", lambda style: receipts_csv(sessions), lambda: document)
    elif owner is not None and len(found) == 1:
        output.result("result", lambda style: faces.receipt_text(found[0]), lambda: document)
    else:
        output.result(
            "result",
            lambda style: "\n\n".join(
                part for part in (faces.receipts_text(found, style, now=now), faces.sessions_text(sessions, style)) if part
            ),
            lambda: document,
        )
    return ExitCode.DONE


def _verify(owner: Address | None, wiring: Wiring, *, is_json: bool) -> ExitCode:
    from nodusctl.engine.rate_origins import RateOrigins
    from nodusctl.engine.verifying import of_owner, verify_receipts
    from nodusctl.render.verification import verification_document, verification_text

    types = {one.name: one.type for one in wiring.project.file.providers}
    wanted = of_owner(owner, wiring.journal.snapshot()) if owner is not None else None
    output = wiring.output(is_json=is_json)
    with told_when_slow(output, wiring.wall, "recomputing receipts"), wiring.journal.books() as books:
        origins = RateOrigins(wiring.whole_price_book.book, types)
        found = verify_receipts(books, origins=origins, now=wiring.clock.now(), wanted=wanted)
    output.result("verification", lambda style: verification_text(found, style), lambda: verification_document(found))
    if not found.findings:
        return ExitCode.DONE
    detail = f"{len(found.findings)} differences between what is stored and what the journal says; they are listed above."
    fix = "Nothing may be edited here. Keep a copy of the state, then report it with the output of:\n  nodusctl receipts --verify --json"
    output.diagnose([error("LedgerUnsound", "The ledger doesn't agree with the journal", detail, fix)])
    return ExitCode.ERROR


app = one_command(receipts)
