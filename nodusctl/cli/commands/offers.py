"""``nodusctl offers``: the catalogue of this project's providers, with the age of every price."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from nodusctl.base.exits import ExitCode
from nodusctl.cli.app import one_command
from nodusctl.cli.options import JsonOption, wiring_of
from nodusctl.cli.output.slow import told_when_slow
from nodusctl.cli.words import usage_error
from nodusctl.engine.inspect_offers import list_offers
from nodusctl.render.offer_lists import offers_document, offers_text

if TYPE_CHECKING:
    from nodusctl.placement.request import CapacityRequest


def offers(
    context: typer.Context,
    *,
    gpu: Annotated[str, typer.Option("--gpu", metavar="TYPE", help="A GPU or family: H100, l4, H100-SXM.", show_default=False)] = "",
    count: Annotated[int, typer.Option("--count", metavar="N", min=1, help="GPUs a machine.")] = 1,
    cpu: Annotated[str, typer.Option("--cpu", metavar="Q", help="At least so many cores, such as 4.", show_default=False)] = "",
    memory: Annotated[str, typer.Option("--memory", metavar="Q", help="At least so much memory, such as 64Gi.", show_default=False)] = "",
    region: Annotated[str, typer.Option("--region", metavar="CLASS", help="A region class: us, eu.", show_default=False)] = "",
    max_rate: Annotated[
        str, typer.Option("--max-rate", metavar="USD", help="At most so much an hour, such as 5.00.", show_default=False)
    ] = "",
    with_spot: Annotated[bool, typer.Option("--interruptible", help="Interruptible capacity too.")] = False,
    is_json: JsonOption = False,
) -> ExitCode:
    """What can be launched now: shape, place, rate, where the price came from and how old it is. Best first."""
    wiring = wiring_of(context)
    spec = _spec(gpu=gpu, count=count, cpu=cpu, memory=memory, region=region, max_rate=max_rate, with_spot=with_spot)
    output = wiring.output(is_json=is_json)
    with told_when_slow(output, wiring.wall, "asking the providers what they offer"):
        found = list_offers(
            _request(spec) if spec else None,
            project=wiring.project.file,
            providers=wiring.providers,
            prices=wiring.prices,
            now=wiring.clock.now(),
        )
    output.result("result", lambda style: offers_text(found, style), lambda: offers_document(found))
    return ExitCode.DONE


def _spec(*, gpu: str, count: int, cpu: str, memory: str, region: str, max_rate: str, with_spot: bool) -> dict[str, object]:
    """The options as the part of a Workspace's spec that asks for the same; empty where none was given."""
    resources: dict[str, object] = {name: value for name, value in (("cpu", cpu), ("memory", memory)) if value}
    if gpu or count > 1:
        resources["gpu"] = {"type": [gpu] if gpu else [], "count": count}
    placement: dict[str, object] = {"regions": [region]} if region else {}
    if max_rate:
        placement["maxRateUSDPerHour"] = max_rate
    if with_spot:
        placement["interruptible"] = "Allow"
    return {name: part for name, part in (("resources", resources), ("placement", placement)) if part}


def _request(spec: dict[str, object]) -> CapacityRequest:
    from nodusctl.placement.request import request_from_spec

    try:
        return request_from_spec(spec)
    except ValueError as fault:
        usage_error("An option has no readable value", f"{fault}.")


app = one_command(offers)
