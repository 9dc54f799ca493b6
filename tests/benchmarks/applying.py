"""What ``apply`` costs an object on the simulated provider, with the state saved at each step, beside the same provider calls made by hand.

Both grow with how many objects there are, so each is the difference of two sizes: what a command costs once is measured in ``start_up``.
The best of a few runs counts, because a busy computer is slow at everything.
"""

from __future__ import annotations

import shutil
import time
from collections import Counter
from collections.abc import Callable
from datetime import timedelta
from pathlib import Path

from nodus_providers.simulated.provider import SimulatedProvider
from nodusctl.base.clock import SystemClock, SystemWall
from nodusctl.base.exits import ExitCode
from nodusctl.bootstrap.rendering import Boots
from nodusctl.ports.boot import BootPlan
from nodusctl.provider.agent import AgentCommand, AgentRequest
from nodusctl.provider.contract import BootForm, ProviderContext
from nodusctl.provider.replies import Done
from nodusctl.provider.requests import LaunchRequest

Command = Callable[..., ExitCode]
Project = Callable[[Path, int], Path]
SMALL, LARGE = 20, 120
LIMIT_SECONDS = 0.020
TIMES = 3


def applying(line: Callable[[str, float, float, str], None], command: Command, project: Project, scratch: Path) -> None:
    """``line`` gets the whole cost of an object, and what of it is ours."""
    took = {count: min(_applied(command, project, scratch / f"apply-{count}", count) for _ in range(TIMES)) for count in (SMALL, LARGE)}
    calls = _calls(scratch / f"apply-{LARGE}")
    by_hand = {count: min(_by_hand(scratch / f"hand-{count}", count, calls) for _ in range(TIMES)) for count in (SMALL, LARGE)}
    whole, hand = (_each(seconds) for seconds in (took, by_hand))
    each = ", ".join(f"{count / LARGE:.0f} {operation}" for operation, count in sorted(calls.items()))
    line("apply, an object", whole, LIMIT_SECONDS, f"{SMALL} objects {took[SMALL]:.2f} s, {LARGE} objects {took[LARGE]:.2f} s")
    line("apply, an object, less the calls themselves", whole - hand, LIMIT_SECONDS, f"by hand {hand * 1000:.1f} ms: {each}")


def _each(seconds: dict[int, float]) -> float:
    return (seconds[LARGE] - seconds[SMALL]) / (LARGE - SMALL)


def _applied(command: Command, project: Project, folder: Path, count: int) -> float:
    shutil.rmtree(folder, ignore_errors=True)
    project(folder, count)
    began = time.perf_counter()
    code = command(folder, "apply", "--yes")
    took = time.perf_counter() - began
    if code is not ExitCode.DONE or command(folder, "plan", "--detailed-exitcode") is not ExitCode.DONE:
        raise RuntimeError("apply did not finish; the benchmark means nothing")
    return took


def _opened(folder: Path) -> SimulatedProvider:
    context = ProviderContext(
        instance="sim",
        project_dir=str(folder),
        state_dir=str(folder / ".nodus"),
        data_dir=str(folder / "user"),
        clock=SystemClock(),
        wall=SystemWall(),
        environment={},
    )
    return SimulatedProvider.open(context, {})


def _calls(folder: Path) -> Counter[str]:
    """The calls an apply made, by operation; prices are asked by the plan."""
    cloud = _opened(folder)
    counted = Counter(call.operation for call in cloud.calls() if call.operation != "price")
    cloud.close()
    return counted


def _by_hand(folder: Path, count: int, calls: Counter[str]) -> float:
    """Seconds of ``count`` objects' share of these calls, one after the other and straight to the provider."""
    shutil.rmtree(folder, ignore_errors=True)
    cloud = _opened(folder)
    plan = BootPlan(host_key="k" * 400, service_key="s", person_keys=("p",), tools=("SSH",), edge_seconds=28_800, idle_timeout_seconds=3600)
    boot = Boots().render(BootForm.BUNDLE, plan)
    began = time.perf_counter()
    ids = [_launched(cloud, number, boot) for number in range(count)]
    for _ in range(calls["get"] // LARGE):
        for machine_id in ids:
            _must(cloud.observe((machine_id,)))
    cloud.simulated_clock().sleep(timedelta(minutes=1).total_seconds())
    for number in range(calls["agent"] // LARGE):
        asked = AgentRequest(command=AgentCommand.SECRETS, files={"environment": "{}"}) if number % 2 else _READY
        for machine_id in ids:
            _must(cloud.ask_agent(machine_id, asked))
    took = time.perf_counter() - began
    cloud.close()
    return took


_READY = AgentRequest(command=AgentCommand.READY)


def _launched(cloud: SimulatedProvider, number: int, boot: str) -> str:
    request = LaunchRequest(
        token=f"token-{number}",
        name=f"machine-{number}",
        offer_id="cpu-4c-16g-us",
        instance_type="sim.c4",
        zone="us-1a",
        is_interruptible=False,
        image="nodus/workspace-cpu",
        boot=boot,
        edge_seconds=28_800,
        tags={"nodus-attempt": f"attempt-{number}"},
    )
    reply = cloud.launch(request)
    if not isinstance(reply, Done):
        raise RuntimeError(f"{reply}; the benchmark means nothing")
    return reply.value.id


def _must(reply: object) -> None:
    if not isinstance(reply, Done):
        raise RuntimeError(f"{reply}; the benchmark means nothing")
