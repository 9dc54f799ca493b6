"""Gathering a plan from real files, a real state and a simulated cloud."""

from __future__ import annotations

import json
import stat
import threading
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from support.planning import LAB, NOW, OFFERS, WS, document, workspace

from nodusctl.base.clock import FixedClock, SystemWall
from nodusctl.base.diagnostics import error
from nodusctl.base.exits import UserError
from nodusctl.base.ids import Address, CountedIds, RandomIds
from nodusctl.engine.market import ask_markets
from nodusctl.engine.plan import PlanRequest, make_plan
from nodusctl.engine.plan_files import is_plan_file, kept_plan, open_plan, save_plan
from nodusctl.engine.removal import plan_removal
from nodusctl.engine.show import staleness
from nodusctl.engine.specs import read_specs
from nodusctl.engine.validate import validate
from nodusctl.plan.hashing import plan_hash
from nodusctl.plan.plan import Plan
from nodusctl.planner.records import records_after
from nodusctl.plugins.plugins import Plugins
from nodusctl.ports.journal import Consumption, Journal
from nodusctl.ports.providers import ProviderSet
from nodusctl.pricing.book import EMPTY_BOOK, PriceBook
from nodusctl.resources.project import ProjectFile, ProviderSettings, default_project
from nodusctl.resources.resource import ValueSource
from nodusctl.store.memory import MemoryState
from nodusctl.store.sealing import KeyMaterial
from nodusctl.testing.conformance_hooks import a_context

KEY = KeyMaterial(text="a key for tests, which guards nothing at all")


def _project(name: str = "lab") -> ProjectFile:
    base = default_project()
    settings = base.settings.model_copy(update={"project": name})
    return ProjectFile(settings=settings, providers=(ProviderSettings(name="sim", type="simulated", settings={"world": "world.yaml"}),))


class NoBook:
    """A price source with nothing in it."""

    def book(self) -> PriceBook:
        return EMPTY_BOOK


@dataclass
class Sources:
    """Secret sources in memory."""

    values: dict[str, bytes] = field(default_factory=dict)

    def read(self, source: ValueSource) -> bytes:
        if source.env not in self.values:
            raise UserError(error("NotFound", "An environment variable is not set.", f"{source.env} is not set."))
        return self.values[source.env]


@dataclass
class Bench:
    """A project folder with a state in memory and one simulated cloud."""

    root: Path
    journal: Journal
    providers: ProviderSet
    secrets: Sources = field(default_factory=Sources)
    project: ProjectFile = field(default_factory=_project)

    def write(self, name: str, text: str) -> None:
        path = self.root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)

    def plan(self, **asked: Any) -> Plan:
        return make_plan(
            root=self.root,
            project=self.project,
            request=PlanRequest(**asked),
            journal=self.journal,
            providers=self.providers,
            prices=NoBook(),
            secrets=self.secrets,
            clock=FixedClock(NOW),
            ids=RandomIds(),
            who="you@example",
        )

    def remove(self, *names: str) -> Plan:
        return plan_removal(
            project=self.project,
            addresses=[Address.parse(name) for name in names],
            journal=self.journal,
            providers=self.providers,
            prices=NoBook(),
            secrets=self.secrets,
            clock=FixedClock(NOW),
            ids=RandomIds(),
            who="you@example",
        )

    def apply(self, plan: Plan) -> None:
        after = records_after(plan, self.journal.snapshot(), RandomIds(), plan_hash=plan_hash(plan), by="you@example", now=NOW)
        self.journal.consume(
            Consumption(
                operation_id=RandomIds().new_uid(),
                command="nodusctl apply",
                by="you@example",
                at=NOW,
                lineage=plan.basis.lineage,
                serial=plan.basis.serial,
                plan_hash=plan_hash(plan),
                plan_id=plan.id,
                action_addresses=tuple(str(action.address) for action in plan.actions),
                records=after.records,
                statuses=after.statuses,
                project=plan.basis.project,
            )
        )


@pytest.fixture
def bench(tmp_path: Path) -> Bench:
    context = a_context(tmp_path, instance="sim", clock=FixedClock(NOW))
    root = Path(context.project_dir)
    providers = Plugins({"sim": {"type": "simulated", "world": "world.yaml"}}, lambda instance: context)
    memory = MemoryState(key=KEY, wall=SystemWall(), place={"url": "memory", "path": "memory"}, is_read_only=False)
    return Bench(root, memory.journal, providers)


def shown(plan: Plan) -> dict[str, str]:
    return {str(action.address): action.verb.value for action in plan.actions}


def test_plan_then_apply_then_plan_is_empty(bench: Bench) -> None:
    bench.write("ws.yaml", WS + "---\n" + document("Secret", "wandb", "stringData: {token: abcdefgh12}"))
    first = bench.plan()
    assert shown(first) == {"secret/wandb": "create", "volume/lab-home": "create", "workspace/lab": "create"}
    bench.apply(first)
    again = bench.plan()
    assert shown(again) == {} and not again.reasons


def test_a_plan_writes_nothing_in_the_project(bench: Bench) -> None:
    bench.write("ws.yaml", WS)
    before = {path for path in bench.root.rglob("*") if "sim" not in path.parts and ".nodus" not in path.parts}
    bench.plan()
    assert {path for path in bench.root.rglob("*") if "sim" not in path.parts and ".nodus" not in path.parts} == before


def test_all_faults_of_all_files_end_the_plan_at_once(bench: Bench) -> None:
    bench.write("a.yaml", workspace("a", "idleTimout: 30m"))
    bench.write("b.yaml", workspace("b", "volume: nowhere"))
    with pytest.raises(UserError) as refused:
        bench.plan()
    assert {one.span.file for one in refused.value.diagnostics if one.span and one.is_error} == {"a.yaml", "b.yaml"}


def test_a_project_without_objects_is_an_error_and_not_a_removal(bench: Bench) -> None:
    bench.write("ws.yaml", WS)
    bench.apply(bench.plan())
    (bench.root / "ws.yaml").unlink()
    with pytest.raises(UserError) as refused:
        bench.plan()
    assert refused.value.diagnostics[-1].summary == "There is nothing to plan."


def test_a_state_of_another_project_is_refused(bench: Bench) -> None:
    bench.write("ws.yaml", WS)
    bench.apply(bench.plan())
    bench.project = _project("other")
    with pytest.raises(UserError) as refused:
        bench.plan()
    assert "another project" in refused.value.diagnostics[0].summary


def test_a_path_selects_and_resolves_against_everything(bench: Bench) -> None:
    bench.write("disk.yaml", document("Volume", "lab-home"))
    bench.write("team/ws.yaml", workspace("lab", "volume: lab-home"))
    bench.write("team/bad.yaml", workspace("x", "nonsense: 1"))
    made = bench.plan(paths=(bench.root / "team/ws.yaml",))
    assert shown(made) == {"workspace/lab": "create"}
    with pytest.raises(UserError):
        bench.plan(paths=(bench.root / "team",))


def test_a_named_file_that_no_glob_matches_is_read_all_the_same(bench: Bench, tmp_path: Path) -> None:
    outside = tmp_path / "elsewhere.conf"
    outside.write_text(workspace("lab"))
    assert shown(bench.plan(paths=(outside,))) == {"workspace/lab": "create"}


def test_a_target_narrows_the_plan_and_an_unknown_one_is_an_error(bench: Bench) -> None:
    bench.write("ws.yaml", WS)
    assert shown(bench.plan(targets=(Address("volume", "lab-home"),))) == {"volume/lab-home": "create"}
    with pytest.raises(UserError) as refused:
        bench.plan(targets=(Address("workspace", "lap"),))
    assert "workspace/lab" in refused.value.diagnostics[0].fix


def test_files_named_by_provider_settings_are_no_specs(bench: Bench) -> None:
    bench.write("ws.yaml", WS)
    bench.write("world.yaml", workspace("trap"))
    specs = read_specs(root=bench.root, project=bench.project, clock_now=None)
    assert {one.name for one in specs.resources} == {"lab", "lab-home"}


def test_other_peoples_yaml_is_left_alone_and_counted(bench: Bench) -> None:
    bench.write("ws.yaml", WS)
    bench.write("compose.yaml", "services: {}\n---\nmore: true\n")
    made = bench.plan()
    assert [one.code for one in made.diagnostics] == ["Skipped"] and "2 documents" in made.diagnostics[0].detail


def test_a_secret_read_from_outside_is_compared_by_fingerprint_only(bench: Bench) -> None:
    bench.write("s.yaml", document("Secret", "wandb", "valueFrom: {token: {env: WANDB}}"))
    bench.secrets.values["WANDB"] = b"abcdefgh12"
    made = bench.plan()
    assert made.actions[0].secret_hmacs is not None and "abcdefgh12" not in json.dumps(_text(made))
    bench.apply(made)
    assert shown(bench.plan()) == {}
    bench.secrets.values["WANDB"] = b"other-bytes-99"
    (changed,) = bench.plan().actions
    assert [(one.path, one.note) for one in changed.changes] == [("value of token", "a new version")]


def test_a_secret_that_can_not_be_read_now_is_a_warning_and_taken_at_apply(bench: Bench) -> None:
    bench.write("s.yaml", document("Secret", "wandb", "valueFrom: {token: {env: WANDB}}"))
    made = bench.plan()
    assert made.actions[0].secret_hmacs is None and made.actions[0].notes == ("value taken at apply",)
    assert [one.summary for one in made.diagnostics] == ["An environment variable is not set."]


def test_a_removal_by_name_needs_no_files(bench: Bench) -> None:
    bench.write("ws.yaml", WS)
    bench.apply(bench.plan())
    (bench.root / "ws.yaml").unlink()
    assert shown(bench.remove("workspace/lab")) == {"workspace/lab": "delete"}
    assert shown(bench.remove()) == {"workspace/lab": "delete", "volume/lab-home": "delete"}
    with pytest.raises(UserError):
        bench.remove("workspace/lap")


def test_validate_counts_objects_and_takes_old_times_for_granted_only_with_the_state(bench: Bench) -> None:
    bench.write("ws.yaml", WS)
    found = validate(root=bench.root, project=bench.project, clock_now=NOW)
    assert found.is_valid and dict(found.counts) == {"volume": 1, "workspace": 1}
    bench.write("late.yaml", workspace("late", 'ephemeral: true, schedule: {readyBy: "2020-01-01T00:00:00Z"}'))
    assert not validate(root=bench.root, project=bench.project, clock_now=NOW).is_valid
    assert validate(root=bench.root, project=bench.project, clock_now=None).is_valid


def test_a_saved_plan_is_whole_private_and_kept(bench: Bench, tmp_path: Path) -> None:
    bench.write("ws.yaml", WS)
    made, state_folder = bench.plan(), tmp_path / "state"
    kept = save_plan(made, tmp_path / "p.nodusplan", state_folder=state_folder)
    assert stat.S_IMODE((tmp_path / "p.nodusplan").stat().st_mode) == 0o600
    assert open_plan(tmp_path / "p.nodusplan")[0] == made == kept_plan(plan_hash(made), state_folder=state_folder)
    assert kept.name == f"{plan_hash(made)}.nodusplan" and (state_folder / ".gitignore").read_text() == "*\n"
    assert is_plan_file(kept) and not is_plan_file(bench.root / "ws.yaml")
    assert not [path for path in tmp_path.iterdir() if path.name.startswith(".p")]


def test_only_the_last_twenty_plans_are_kept(bench: Bench, tmp_path: Path) -> None:
    for number in range(23):
        bench.write("ws.yaml", workspace(f"w{number}"))
        save_plan(bench.plan(is_offline=True), tmp_path / "p.nodusplan", state_folder=tmp_path / "state")
    assert len(list((tmp_path / "state/plans").iterdir())) == 20


def test_a_damaged_plan_file_is_refused_with_its_reason(bench: Bench, tmp_path: Path) -> None:
    bench.write("ws.yaml", WS)
    save_plan(bench.plan(), tmp_path / "p.nodusplan", state_folder=tmp_path / "state")
    text = (tmp_path / "p.nodusplan").read_text()
    (tmp_path / "p.nodusplan").write_text(text.replace("1h", "9h"))
    with pytest.raises(UserError) as refused:
        open_plan(tmp_path / "p.nodusplan")
    assert refused.value.exit_code == 11 and "not as it was written" in refused.value.diagnostics[0].summary


def test_staleness_names_what_moved_in_the_order_of_refusals(bench: Bench) -> None:
    bench.write("ws.yaml", WS)
    first = bench.plan()
    assert staleness(first, bench.journal) is None
    other = bench.plan()
    bench.apply(first)
    consumed = staleness(first, bench.journal)
    assert consumed is not None and consumed.kind == "consumed" and "you@example" in consumed.detail
    late = staleness(Plan(**{**_fields(other), "id": "another", "actions": other.actions[:1]}), bench.journal)
    assert late is not None and late.kind == "lineage"
    bench.write("ws.yaml", WS.replace("1h", "2h"))
    second, third = bench.plan(), bench.plan(targets=(LAB,))
    bench.apply(second)
    bench.write("ws.yaml", WS.replace("1h", "3h"))
    moved = staleness(Plan(**{**_fields(third), "id": "x", "actions": ()}), bench.journal)
    assert moved is not None and moved.kind == "serial"


class Stuck:
    """A provider set of which one instance never answers."""

    def __init__(self, providers: ProviderSet) -> None:
        self._providers = providers
        self.released = threading.Event()

    def names(self) -> tuple[str, ...]:
        return ("sim", "stuck")

    def get(self, instance: str) -> Any:
        if instance == "stuck":
            self.released.wait(30)
        return self._providers.get("sim")

    def plugins(self) -> tuple[Any, ...]:
        return ()

    def problems(self) -> tuple[Any, ...]:
        return ()


def test_a_provider_that_hangs_costs_its_limit_and_no_more(bench: Bench) -> None:
    stuck = Stuck(bench.providers)
    answered, silent = ask_markets(stuck, {}, limit_seconds=3.0)
    stuck.released.set()
    assert answered.is_ready and answered.offers
    assert silent.why_not == "no answer within 3 s"


def test_an_offline_plan_asks_no_provider_and_reads_no_secret(bench: Bench) -> None:
    bench.write("ws.yaml", WS + "---\n" + document("Secret", "s", "stringData: {k: abcdefgh12}"))
    made = bench.plan(is_offline=True)
    assert not made.reasons and next(one for one in made.actions if one.address.kind == "secret").secret_hmacs is None


def test_counted_ids_make_equal_plans(bench: Bench) -> None:
    bench.write("ws.yaml", WS)

    def again() -> Plan:
        return make_plan(
            root=bench.root,
            project=bench.project,
            request=PlanRequest(),
            journal=bench.journal,
            providers=bench.providers,
            prices=NoBook(),
            secrets=bench.secrets,
            clock=FixedClock(NOW),
            ids=CountedIds(),
            who="you@example",
        )

    assert again() == again() and OFFERS


def _fields(plan: Plan) -> Mapping[str, Any]:
    names: Sequence[str] = tuple(plan.__dataclass_fields__)
    return {name: getattr(plan, name) for name in names}


def _text(plan: Plan) -> Any:
    from nodusctl.plan.encoding import as_json

    return as_json(plan)
