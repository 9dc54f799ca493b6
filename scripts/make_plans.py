"""Writes ``plans/``: the examples planned in a fixed world, for reading and for review like code.

Each example is planned three times, as text, as Markdown (what a reviewer reads) and as JSON: ``01-create`` from nothing, ``02-change``
after an edit (the edits stand below), and ``03-remove``. Clock, uids, names and the simulated world are fixed; between the steps the plans
are really applied in the simulated world. Quickstart is offered a fixed machine, and its plan is only written to the state: no process is
started for it. studio and gpu-local are left out, because what they get depends on the computer they are planned on.

With ``--check`` nothing is written; the exit code says whether the folder is current.
"""

from __future__ import annotations

import argparse
import io
import json
import shutil
import sys
import tempfile
from collections.abc import Callable
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any
from unittest.mock import patch

from nodusctl.base.clock import FixedClock
from nodusctl.base.ids import Address, CountedIds
from nodusctl.cli.planning import fresh_plan, removal_plan
from nodusctl.cli.surroundings import Surroundings
from nodusctl.cli.wiring import Wiring
from nodusctl.engine.applying import ApplySettings, apply_plan
from nodusctl.engine.plan import PlanRequest
from nodusctl.executor.runs import Interrupts
from nodusctl.plan.plan import Plan
from nodusctl.ports.progress import ProgressReport
from nodusctl.ports.providers import LoadedProvider, ProviderSet
from nodusctl.render.comment import plan_markdown
from nodusctl.render.comment_apply import Applying
from nodusctl.render.plan_json import plan_document
from nodusctl.render.plan_text import plan_text
from nodusctl.render.redacted import redacted
from nodusctl.render.style import PLAIN

REPOSITORY = Path(__file__).parent.parent
FOLDER = REPOSITORY / "plans"
NOW = datetime(2026, 10, 26, 7, 0, tzinfo=UTC)


@dataclass(frozen=True, slots=True, kw_only=True)
class Edit:
    """Replaces one text in one file of an example; an empty ``before`` writes a new file, an empty ``after`` with it removes one."""

    file: str
    before: str = ""
    after: str = ""


DEE = """apiVersion: nodus.dev/v1
kind: Workspace
metadata:
  name: dee
  labels: {team: vision, person: dee}
spec:
  image: nodus/workspace-cpu
  resources: {cpu: 4, memory: 16Gi}
  volume: ana-home
  sshKeys: [ana]
  tools: [SSH]
  idleTimeout: 45m
  maxCostUSD: "40.00"
"""
EDITS: dict[str, tuple[Edit, ...]] = {
    "quickstart": (
        Edit(file="lab.yaml", before="idleTimeout: 1h", after="idleTimeout: 2h"),
        Edit(file="lab.yaml", before='maxCostUSD: "5.00"', after='maxCostUSD: "8.00"'),
    ),
    "gpu-workspace": (
        Edit(file="trainer.yaml", before="image: nodus/workspace-pytorch-cuda", after="image: ghcr.io/example/trainer:2"),
        Edit(file="trainer.yaml", before="spec: {size: 200Gi}", after="spec: {size: 300Gi}"),
    ),
    "team": (
        Edit(file="budget.yaml", before='limitUSD: "900.00"', after='limitUSD: "1200.00"'),
        Edit(file="ben.yaml"),
        Edit(file="dee.yaml", after=DEE),
        Edit(file="chi.yaml", before='resources: {gpu: "H100", memory: 128Gi}', after='resources: {gpu: "H100:8", memory: 512Gi}'),
    ),
    "spot": (Edit(file="trainer.yaml", before="{interruptible: Allow,", after="{interruptible: Never,"),),
    "function": (Edit(file="embed.yaml", before="minWorkers: 2", after="minWorkers: 1"),),
    "classroom": (Edit(file="budget.yaml", before='limitUSD: "60.00"', after='limitUSD: "80.00"'),),
    "refusals": (Edit(file="small-cap.yaml", before='maxCostUSD: "0.001"', after='maxCostUSD: "2.00"'),),
}
RESTARTS: dict[str, tuple[Address, ...]] = {"team": (Address("workspace", "chi"),)}
"""What the change of an example also restarts, as ``plan --restart`` does."""
STEPS = {"create": "01-create", "change": "02-change", "remove": "03-remove"}
REMOVAL = Applying(command="nodusctl destroy")
FIXED_MACHINE = (
    "rateUSDPerHour:",
    "isolation: 'off', cpu: 4, memory: 16Gi, hostId: this-computer, root: /nonexistent/plans, rateUSDPerHour:",
)


class Silence:
    """A Progress nobody watches."""

    def report(self, report: ProgressReport) -> None:
        """Nothing."""

    def pulse(self) -> None:
        """Nothing."""


class Equipped:
    """The providers, none of which misses anything: what this computer lacks is no part of a fixed world."""

    def __init__(self, providers: ProviderSet) -> None:
        self._providers = providers

    def __getattr__(self, name: str) -> Any:
        return getattr(self._providers, name)

    def get(self, instance: str) -> LoadedProvider:
        """The instance without its check; of what this computer's provider notes, the first, which its settings fix."""
        loaded = self._providers.get(instance)
        described = loaded.description
        kept = described.notes[:1] if described.is_this_computer else described.notes
        return replace(loaded, check=None, description=replace(described, notes=kept))


def wiring_for(folder: Path, step: str, *, is_local: bool) -> Wiring:
    """The wiring of one step, with everything fixed that differs from computer to computer."""
    wiring = Wiring(
        Surroundings(
            environment={"NODUSCTL_STATE_KEY": "a key for plans/, which guards nothing"},
            arguments=(step,),
            folder=folder,
            stdin=io.StringIO(),
            stdout=io.StringIO(),
            stderr=io.StringIO(),
        )
    )
    wiring.data_folder = folder / ".nodus" / "user"
    wiring.ids = CountedIds(f"{folder.name}/{step}")
    wiring.who = "you@example"
    if is_local:
        wiring.clock = FixedClock(NOW)
        wiring.providers = Equipped(wiring.providers)  # type: ignore[assignment]
    return wiring


def plans_of(example: str, scratch: Path) -> dict[str, Plan]:
    """Step to plan."""
    folder = scratch / example
    shutil.copytree(REPOSITORY / "examples" / example, folder, ignore=shutil.ignore_patterns(".nodus"))
    is_local = example == "quickstart"
    if is_local:
        _replace(folder / "nodusctl.yaml", *FIXED_MACHINE)
    else:
        wiring_for(folder, "init", is_local=False).providers.get("sim").simulation.initialise(NOW)  # type: ignore[union-attr]
    plans: dict[str, Plan] = {}
    plans["create"] = _step(folder, "create", _plan_files, is_local=is_local, applies=True)
    for edit in EDITS[example]:
        _edit(folder / edit.file, edit)
    restarts = RESTARTS.get(example, ())
    plans["change"] = _step(folder, "change", lambda wiring: _plan_files(wiring, restarts), is_local=is_local, applies=False)
    plans["remove"] = _step(folder, "remove", _plan_removal, is_local=is_local, applies=False)
    return plans


def _plan_files(wiring: Wiring, restarts: tuple[Address, ...] = ()) -> Plan:
    return fresh_plan(wiring, PlanRequest(restarts=restarts))


def _plan_removal(wiring: Wiring) -> Plan:
    return removal_plan(wiring, (), discards_home=False)


def _step(folder: Path, step: str, make: Callable[[Wiring], Plan], *, is_local: bool, applies: bool) -> Plan:
    wiring = wiring_for(folder, step, is_local=is_local)
    plan = make(wiring)
    if applies:
        interrupts = Interrupts()
        if is_local:
            interrupts.interrupt()  # nothing new is started: the plan is consumed and its records are written, no more
        apply_plan(
            plan,
            outside=wiring.outside(Silence()),
            rate_of=lambda terms, now: None,
            command=step,
            settings=ApplySettings(parallelism=1, skip_blocked=True),
            interrupts=interrupts,
        )
    wiring.close()
    return plan


def _edit(path: Path, edit: Edit) -> None:
    if edit.before:
        _replace(path, edit.before, edit.after)
    elif edit.after:
        path.write_text(edit.after, encoding="utf-8")
    else:
        path.unlink()


def _replace(path: Path, before: str, after: str) -> None:
    text = path.read_text(encoding="utf-8")
    if text.count(before) != 1:
        sys.exit(f"{path} holds {before!r} {text.count(before)} times; the edits of scripts/make_plans.py need it once")
    path.write_text(text.replace(before, after), encoding="utf-8")


def wanted() -> dict[Path, str]:
    """Every file of the folder, by its path in it."""
    files: dict[Path, str] = {}
    with tempfile.TemporaryDirectory(prefix="nodusctl-plans-") as scratch:
        for example in sorted(EDITS):
            for step, plan in plans_of(example, Path(scratch)).items():
                document = redacted(plan_document(plan))
                name = f"{STEPS[step]}.plan"
                applying = REMOVAL if step == "remove" else Applying(file="plan.nodusplan")
                files[Path(example, f"{name}.txt")] = plan_text(plan, PLAIN) + "\n"
                files[Path(example, f"{name}.md")] = plan_markdown(plan, applying) + "\n"
                files[Path(example, f"{name}.json")] = json.dumps(document, indent=2, ensure_ascii=False) + "\n"
    return files


def main() -> int:
    """0 when all is current or written."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--check", action="store_true", help="write nothing")
    is_check = parser.parse_args().check
    with patch("os.geteuid", return_value=0):  # a computer's identity as a provider goes by its user too
        files = wanted()
    there = {path.relative_to(FOLDER): path.read_text(encoding="utf-8") for path in FOLDER.rglob("*.*")}
    if is_check:
        stale = sorted(str(path) for path in files.keys() | there.keys() if files.get(path) != there.get(path))
        if stale:
            print(f"plans/ is not current ({', '.join(stale)}); run: make plans", file=sys.stderr)
        return 1 if stale else 0
    for path in there.keys() - files.keys():
        (FOLDER / path).unlink()
    for path, text in files.items():
        (FOLDER / path).parent.mkdir(parents=True, exist_ok=True)
        (FOLDER / path).write_text(text, encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
