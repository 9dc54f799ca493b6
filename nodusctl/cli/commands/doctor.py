"""``nodusctl doctor [PROVIDER]``: is this host, project, state and provider healthy; each finding with the command that mends it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Annotated

import typer

from nodusctl.base.clock import SystemClock
from nodusctl.base.exits import ExitCode, UserError
from nodusctl.base.timestamps import format_time
from nodusctl.cli.app import one_command
from nodusctl.cli.host_facts import host_facts
from nodusctl.cli.options import JsonOption, wiring_of
from nodusctl.cli.output.slow import told_when_slow
from nodusctl.cli.ticker_warning import ticker_warning
from nodusctl.cli.wiring import Wiring
from nodusctl.engine.checkup import Area, host_areas, mended
from nodusctl.engine.checkup_providers import provider_areas
from nodusctl.engine.checkup_state import member_areas, state_areas
from nodusctl.render.checkups import checkup_document, checkup_text


def doctor(
    context: typer.Context,
    *,
    provider: Annotated[
        str,
        typer.Argument(metavar="PROVIDER", help="Only this one: an instance of the project, or a provider type.", show_default=False),
    ] = "",
    is_json: JsonOption = False,
) -> ExitCode:
    """Look at this host, the project, its state and its providers. Exit 1 where anything is an error or a warning."""
    wiring = wiring_of(context)
    output = wiring.output(is_json=is_json)
    with told_when_slow(output, wiring.wall, "asking the providers how they are"):
        checkup = mended(_areas(wiring, provider))
    if is_json:
        output.diagnose(checkup.findings)
    output.result("result", lambda style: checkup_text(checkup, style), lambda: checkup_document(checkup))
    return ExitCode.DONE if checkup.is_healthy else ExitCode.ERROR


def _areas(wiring: Wiring, wanted: str) -> Iterator[Area]:
    try:
        project = wiring.project
    except UserError as fault:
        yield from host_areas(host_facts(wiring, None))
        yield Area(kind="project", name="nodusctl.yaml", note="can't be read", findings=fault.diagnostics)
        return
    if not wanted:
        facts = host_facts(wiring, project.state_folder)
        yield from host_areas(facts)
        yield Area(kind="project", name=project.name, note=str(project.folder) + ("" if project.has_file else ", without a nodusctl.yaml"))
        has_own_time = not isinstance(wiring.clock, SystemClock)
        yield from state_areas(journal=wiring.journal, claims=wiring.claims, host=facts, has_own_time=has_own_time)
        yield from member_areas(wiring.reading.keys)
        yield from _ticker_areas(wiring)
    types = {one.name: one.type for one in project.file.providers}
    yield from provider_areas(wiring.plugins, types, wanted)


def _ticker_areas(wiring: Wiring) -> Iterator[Area]:
    """When the last tick was, and whether anything here needs one that doesn't come."""
    try:
        found, last = ticker_warning(wiring), next(iter(wiring.reading.passes.latest(1)), None)
    except UserError:
        return  # that the state can't be read is a finding of its own
    note = f"last {'good' if last.is_good else 'failed'} at {format_time(last.started_at)}" if last is not None else "none was made"
    yield Area(kind="state", name="ticks", note=note, findings=(found,) if found is not None else ())


app = one_command(doctor)
