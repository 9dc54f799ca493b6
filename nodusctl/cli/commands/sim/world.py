"""``sim calls``, ``sim machines``, ``sim kill``, ``sim resize`` and ``sim activity``: what the world has seen and holds."""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated

import typer

from nodusctl.base.exits import ExitCode
from nodusctl.cli.commands.sim.choosing import ProviderOption, simulation_of
from nodusctl.cli.options import JsonOption, wiring_of
from nodusctl.render.simulation import call_document, calls_text, machine_document, machines_json, machines_text

MatchOption = Annotated[
    str, typer.Option("--match", metavar="A", help="An exact address (workspace/lab) or a glob (workspace/*).", show_default=False)
]
OperationOption = Annotated[
    str, typer.Option("--op", metavar="O", help="An operation, such as create, delete, save or price.", show_default=False)
]


class MachineForm(StrEnum):
    """``sim machines -o``."""

    TABLE = "table"
    NAME = "name"
    JSON = "json"


class ActivityKind(StrEnum):
    """``sim activity --kind``."""

    SSH = "ssh"
    TOOL = "tool"
    PROCESS = "process"


def calls(
    context: typer.Context,
    *,
    operation: OperationOption = "",
    match_: MatchOption = "",
    count: Annotated[bool, typer.Option("--count", help="Print one integer and nothing else.")] = False,
    provider: ProviderOption = "",
    is_json: JsonOption = False,
) -> ExitCode:
    """Calls the world received, in order."""
    wiring = wiring_of(context)
    found = simulation_of(wiring.providers, provider).calls(operation, match_)
    output = wiring.output(is_json=is_json)
    if count:
        output.result("result", lambda style: str(len(found)), lambda: {"count": len(found)})
    else:
        output.result("result", lambda style: calls_text(found, style), lambda: {"calls": [call_document(one) for one in found]})
    return ExitCode.DONE


def machines(
    context: typer.Context,
    *,
    match_: MatchOption = "",
    form: Annotated[MachineForm, typer.Option("-o", "--output", help="How to print them.")] = MachineForm.TABLE,
    include_ended: Annotated[bool, typer.Option("--all", help="Ended machines too.")] = False,
    provider: ProviderOption = "",
) -> ExitCode:
    """Machines of the world, whatever faults hide."""
    wiring = wiring_of(context)
    found = simulation_of(wiring.providers, provider).simulated_machines(match_, include_ended)
    output = wiring.output(is_json=False)
    whole = {"machines": [machine_document(one) for one in found]}
    match form:
        case MachineForm.NAME:
            output.result("result", lambda style: "\n".join(one.id for one in found), lambda: whole)
        case MachineForm.JSON:
            output.result("result", lambda style: machines_json(found), lambda: whole)
        case MachineForm.TABLE:
            output.result("result", lambda style: machines_text(found, style), lambda: whole)
    return ExitCode.DONE


def kill(
    context: typer.Context,
    *,
    machine: Annotated[str, typer.Argument(metavar="MACHINE", help="A machine's id (sim machines -o name).")],
    provider: ProviderOption = "",
    is_json: JsonOption = False,
) -> ExitCode:
    """End a machine as if its host had died."""
    wiring = wiring_of(context)
    simulation_of(wiring.providers, provider).kill(machine)
    wiring.output(is_json=is_json).result("result", lambda style: f"Machine {machine} is dead.", lambda: {"killed": machine})
    return ExitCode.DONE


def resize(
    context: typer.Context,
    *,
    machine: Annotated[str, typer.Argument(metavar="MACHINE", help="A machine's id (sim machines -o name).")],
    offer: Annotated[str, typer.Argument(metavar="OFFER", help="The offer whose hardware it gets, such as cpu-8c-32g-us.")],
    provider: ProviderOption = "",
    is_json: JsonOption = False,
) -> ExitCode:
    """Give a machine other hardware behind everybody's back, as somebody in a console would."""
    wiring = wiring_of(context)
    simulation_of(wiring.providers, provider).resize(machine, offer)
    shown = {"machine": machine, "offer": offer}
    wiring.output(is_json=is_json).result("result", lambda style: f"Machine {machine} has the hardware of {offer} now.", lambda: shown)
    return ExitCode.DONE


def activity(
    context: typer.Context,
    *,
    machine: Annotated[str, typer.Argument(metavar="MACHINE", help="A machine's id (sim machines -o name).")],
    kind: Annotated[ActivityKind, typer.Option("--kind", help="What was used.")],
    detail: Annotated[str, typer.Option("--detail", metavar="TEXT", help="What status says about it.", show_default=False)] = "",
    provider: ProviderOption = "",
    is_json: JsonOption = False,
) -> ExitCode:
    """Pretend that somebody used a machine."""
    wiring = wiring_of(context)
    simulation_of(wiring.providers, provider).record_activity(machine, kind.value, detail)
    shown = {"machine": machine, "kind": kind.value, "detail": detail}
    wiring.output(is_json=is_json).result(
        "result", lambda style: f"Machine {machine} was used: {kind.value} {detail}".rstrip(), lambda: shown
    )
    return ExitCode.DONE
