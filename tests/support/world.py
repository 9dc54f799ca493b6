"""World in, one command, world out: a project folder on one simulated cloud, with the real store, planner and executor.

``World(folder)`` opens it as one process would; ``again()`` opens the same folder as the next process would, with nothing remembered
but what was stored. Commands are the engine's use cases, so that what is tested is what the command line calls.
"""

from __future__ import annotations

import itertools
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, Self

from nodus_providers.simulated.provider import SimulatedProvider
from nodusctl.attempts.attempt import Attempt
from nodusctl.attempts.events import Event
from nodusctl.base.clock import Clock, SystemClock, SystemWall, Wall
from nodusctl.base.ids import Address, RandomIds
from nodusctl.base.money import ZERO, Money
from nodusctl.bootstrap.rendering import Boots
from nodusctl.catalog.prices import CatalogPrices
from nodusctl.cli.project import open_project
from nodusctl.engine import verbs
from nodusctl.engine.applying import ApplyResult, ApplySettings, apply_plan
from nodusctl.engine.budget_room import BudgetRoom
from nodusctl.engine.current_rates import CurrentRates
from nodusctl.engine.extending import Extended, extend
from nodusctl.engine.findings import Fault
from nodusctl.engine.homes import plan_home_change
from nodusctl.engine.market import configured_rates
from nodusctl.engine.passes import Ticker, TickResult
from nodusctl.engine.plan import PlanRequest, make_plan
from nodusctl.engine.rate_origins import RateOrigins
from nodusctl.engine.rechecking import SavedPlanCheck
from nodusctl.engine.removal import plan_removal
from nodusctl.engine.snapshot_outlook import Sources
from nodusctl.engine.ticking import tick
from nodusctl.engine.verifying import verify_receipts
from nodusctl.executor.outside import Outside
from nodusctl.executor.runs import Interrupts, ObjectOutcome
from nodusctl.ledger.balances import balances
from nodusctl.ledger.checks import unsound
from nodusctl.ledger.entries import Entry
from nodusctl.lifecycle.money import charge_of
from nodusctl.lifecycle.situation import Rules
from nodusctl.plan.plan import Plan
from nodusctl.plugins.plugins import ReadyProviders
from nodusctl.ports.progress import ProgressReport
from nodusctl.provider.contract import Provider, ProviderContext
from nodusctl.provider.machines import Machine
from nodusctl.remote.keys import OpenSshKeys
from nodusctl.remote.reach import RoutedReach, SshReach
from nodusctl.resources.resource import ValueSource
from nodusctl.state.snapshot import Standing
from nodusctl.state.status import ObjectStatus, VolumeStanding
from nodusctl.store.light_passes import passes_beside
from nodusctl.store.opening import State, open_state
from nodusctl.store.sealing import KeyMaterial

START = datetime(2026, 3, 2, 9, 0, tzinfo=UTC)
KEY = KeyMaterial(text="a key for tests, long enough to be taken")
LAB, HOME = Address("workspace", "lab"), Address("volume", "home")

HOME_YAML = """\
apiVersion: nodus.dev/v1
kind: Volume
metadata: {name: home}
spec: {size: 1Gi}
"""


def workspace_yaml(name: str = "lab", *, volume: str = "home", annotations: Mapping[str, str] | None = None, **spec: Any) -> str:
    """A small CPU Workspace; ``spec`` adds or replaces fields, ``annotations`` come under ``nodus.dev/``."""
    fields: dict[str, Any] = {"image": "nodus/workspace-cpu", "resources": {"cpu": 4, "memory": "16Gi"}, "idleTimeout": "1h", **spec}
    if volume:
        fields["volume"] = volume
    lines = "\n".join(f"  {key}: {_flow(value)}" for key, value in fields.items())
    marks = {f"nodus.dev/{key}": text for key, text in (annotations or {}).items()}
    metadata = _flow({"name": name, **({"annotations": marks} if marks else {})})
    return f"apiVersion: nodus.dev/v1\nkind: Workspace\nmetadata: {metadata}\nspec:\n{lines}\n"


def _flow(value: Any) -> str:
    if isinstance(value, dict):
        return "{" + ", ".join(f"{key}: {_flow(inner)}" for key, inner in value.items()) + "}"
    if isinstance(value, list | tuple):
        return "[" + ", ".join(_flow(inner) for inner in value) + "]"
    if isinstance(value, str):
        return '"' + value + '"'
    return str(value).lower() if isinstance(value, bool) else str(value)


@dataclass
class Heard:
    """A Progress that remembers what it was told."""

    reports: list[ProgressReport] = field(default_factory=list)

    def report(self, report: ProgressReport) -> None:
        self.reports.append(report)

    def pulse(self) -> None:
        """Nothing to draw."""

    def steps(self, address: Address) -> list[str]:
        """The words said of one object, in order."""
        return [report.step for report in self.reports if report.address == address]


class NoSecrets:
    """A SecretSource of a project without Secrets."""

    def read(self, source: ValueSource) -> bytes:
        raise LookupError(f"nothing may be read here: {source}")


def context_of(folder: Path, instance: str, wall: Wall) -> ProviderContext:
    """Where a provider instance of a project under ``folder`` keeps its things."""
    return ProviderContext(
        instance=instance,
        project_dir=str(folder),
        state_dir=str(folder / ".nodus"),
        data_dir=str(folder / "user"),
        clock=SystemClock(),
        wall=wall,
        environment={},
    )


OPEN: list[World] = []
"""Those whose files are open; what a test leaves here is closed after it."""


class World:
    """One process's view of one project."""

    project_yaml = "project: default\nproviders:\n  sim: {type: simulated}\n"
    person_keys: tuple[str, ...] = ()

    def __init__(
        self, folder: Path, *, world: str = "", now: datetime = START, wall: Wall | None = None, rules: Rules | None = None
    ) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        self.folder, self.wall = folder, wall or SystemWall()
        is_new = not (folder / ".nodus").exists()
        if world:
            (folder / "world.yaml").write_text(world)
        if is_new:
            (folder / "nodusctl.yaml").write_text(self.project_yaml)
        self.project = open_project(folder).file
        settings = self.project.settings
        self.rules = rules or Rules(lease_term=settings.lease_term, window_lead=settings.window_lead)
        self.instances, self.clock = self._open(now if is_new else None)
        self.state: State = open_state("sqlite:///.nodus/state.db", root=folder, key=KEY, wall=self.wall, holder_command="nodusctl test")
        self.heard = Heard()
        self._numbers = itertools.count(1)
        OPEN.append(self)

    def _open(self, now: datetime | None) -> tuple[Mapping[str, Provider], Clock]:
        self.cloud = SimulatedProvider.open(context_of(self.folder, "sim", self.wall), {})
        if now is not None:
            self.cloud.initialise(now)
        return {"sim": self.cloud}, self.cloud.simulated_clock()

    def again(self) -> Self:
        """The same folder, as the next process finds it."""
        return type(self)(self.folder, wall=self.wall, rules=self.rules)

    def close(self) -> None:
        """Give files back."""
        if self in OPEN:
            OPEN.remove(self)
            self.state.close()
            self.cloud.close()

    # What a person writes

    def write(self, *documents: str, name: str = "specs.yaml") -> World:
        """Write the project's documents, in place of those of this file."""
        (self.folder / name).write_text("---\n".join(documents))
        return self

    # What a person commands

    @property
    def providers(self) -> ReadyProviders:
        """The project's instances, loaded."""
        return ReadyProviders(self.instances)

    @property
    def prices(self) -> CatalogPrices:
        """The shipped book of the provider types in use."""
        return CatalogPrices(frozenset(one.type for one in self.project.providers))

    def outside(self, **changes: Any) -> Outside:
        """The executor's ports."""
        providers = self.providers
        room = BudgetRoom(self.state.journal, "default", self.clock.now)
        made = Outside(
            journal=self.state.journal,
            claims=self.state.claims,
            providers=providers,
            reach=RoutedReach(lambda name: providers.get(name).agent, SshReach()),
            keys=OpenSshKeys(),
            boots=Boots(),
            clock=self.clock,
            wall=self.wall,
            ids=RandomIds(),
            progress=self.heard,
            project="default",
            owner="ada@test",
            person_keys=lambda record: self.person_keys,
            rate_of=CurrentRates(providers, self.prices, configured_rates(self.project)),
            room_for=room.left_for,
            guards_of=room.guards_for,
            rules=self.rules,
        )
        return replace(made, **changes)

    def plan(self, **request: Any) -> Plan:
        """What ``nodusctl plan`` makes."""
        return make_plan(root=self.folder, request=PlanRequest(**request), passes=self.state.passes, **self._sources())

    def removal(self, *addresses: Address, discards_home: bool = False) -> Plan:
        """What ``nodusctl delete`` (with addresses) or ``destroy`` (without) makes."""
        return plan_removal(addresses=addresses, discards_home=discards_home, **self._sources())

    def home_plan(self, address: Address = LAB, **change: int) -> Plan:
        """What ``nodusctl home restore`` (``restores``) or ``home prune`` (``keeps``) makes."""
        return plan_home_change(address, **change, **self._sources())

    def _sources(self) -> dict[str, Any]:
        return {
            "project": self.project,
            "journal": self.state.journal,
            "providers": self.providers,
            "prices": self.prices,
            "secrets": NoSecrets(),
            "clock": self.clock,
            "ids": RandomIds(),
            "who": "ada@test",
        }

    def apply(
        self, plan: Plan | None = None, *, interrupts: Interrupts | None = None, outside: Outside | None = None, **settings: Any
    ) -> ApplyResult:
        """``nodusctl apply --yes``; a fresh plan unless one is given."""
        reviewed = plan or self.plan()
        return apply_plan(
            reviewed,
            outside=outside or self.outside(),
            rate_of=CurrentRates(self.providers, self.prices, configured_rates(self.project)).today,
            command="nodusctl apply",
            settings=ApplySettings(**settings),
            interrupts=interrupts or Interrupts(),
            recheck=self.recheck(reviewed) if settings.get("is_saved_plan") else None,
        )

    def recheck(self, plan: Plan) -> SavedPlanCheck:
        """What ``nodusctl apply PLAN`` looks at beside the state."""
        named = {name: value for name, value in self._sources().items() if name not in {"project", "who"}}
        return SavedPlanCheck(plan, Sources(**named, passes=self.state.passes), self.project)

    def start(self, address: Address = LAB, **settings: Any) -> ApplyResult:
        """``nodusctl start``."""
        return verbs.start(
            address, outside=self.outside(), command="nodusctl start", settings=ApplySettings(**settings), interrupts=Interrupts()
        )

    def extend(self, by: timedelta, address: Address = LAB) -> Extended:
        """``nodusctl extend``."""
        return extend(address, by, outside=self.outside(), command="nodusctl extend", settings=ApplySettings(), interrupts=Interrupts())

    def stop(self, address: Address = LAB, *, interrupts: Interrupts | None = None, parks: bool = False, **settings: Any) -> ApplyResult:
        """``nodusctl stop``."""
        return verbs.stop(
            address,
            outside=self.outside(),
            command="nodusctl stop",
            settings=ApplySettings(**settings),
            interrupts=interrupts or Interrupts(),
            parks=parks,
        )

    def delete(self, *addresses: Address, discards_home: bool = False, **settings: Any) -> ApplyResult:
        """``nodusctl delete`` or, without addresses, ``nodusctl destroy``."""
        return self.apply(self.removal(*addresses, discards_home=discards_home), **settings)

    def tick(self, *, outside: Outside | None = None, times: int = 1, every: timedelta = timedelta(minutes=5)) -> TickResult:
        """``nodusctl tick``; with ``times`` as often, ``every`` apart, the last one's result."""
        for number in range(times):
            if number:
                self.pass_time(every)
            given = outside or self.outside()
            result = tick(lambda given=given: given, self.ticker(given), Interrupts())  # type: ignore[misc]
        return result

    def ticker(self, outside: Outside, **changes: Any) -> Ticker:
        """What a pass needs besides ``outside``; the state is glanced at as the command line does, beside the one that is open."""
        made = Ticker(
            passes=passes_beside("sqlite:///.nodus/state.db", self.folder, lambda: self.state.passes),
            clock=outside.clock,
            ids=outside.ids,
            window_lead=outside.rules.window_lead,
            rates=lambda: CurrentRates(self.providers, self.prices, configured_rates(self.project)),
            host="test",
        )
        return replace(made, **changes)

    # What happens in the cloud

    def fault(self, operation: str, effect: str, match: str = "", *, nth: int | None = None, times: int | None = None) -> None:
        """Script a fault."""
        self.cloud.add_fault(operation, match, nth, times, effect)

    def heal(self) -> None:
        """Forget all faults."""
        self.cloud.clear_faults()

    def pass_time(self, span: timedelta) -> None:
        """Let the cloud's time go on."""
        self.clock.sleep(span.total_seconds())

    def tick_until(self, moment: datetime, *, every: timedelta = timedelta(minutes=5)) -> None:
        """Ticks each ``every`` from now on, until the clock stands at ``moment``."""
        begun = self.clock.now()
        for number in range(1, (moment - begun) // every + 1):
            self.pass_time(max(begun + number * every - self.clock.now(), timedelta(0)))
            self.tick()
        self.pass_time(max(moment - self.clock.now(), timedelta(0)))

    def count(self, operation: str, match: str = "") -> int:
        """How many calls the cloud received."""
        return len(self.cloud.calls(operation, match))

    def machines(self, match: str = "") -> tuple[Machine, ...]:
        """Live machines as they are, faults aside."""
        return self.cloud.simulated_machines(match, include_ended=False)

    # What is known

    def standing(self, address: Address = LAB) -> Standing:
        """An object as stored."""
        found = self.state.journal.snapshot().get(address)
        assert found is not None, f"{address} is not in the state"
        return found

    def status(self, address: Address = LAB) -> ObjectStatus:
        """Its status."""
        return self.standing(address).status

    def home(self, address: Address = HOME) -> VolumeStanding:
        """A Volume's outside half."""
        return self.status(address).volume or VolumeStanding()

    def condition(self, type_: str, address: Address = LAB) -> str:
        """A condition's value; empty for none."""
        return next((one.status for one in self.status(address).conditions if one.type == type_), "")

    def attempts(self, address: Address | None = None) -> tuple[Attempt, ...]:
        """All Attempts, or those of one owner."""
        return tuple(one for one in self.state.journal.attempts() if address is None or one.owner == address)

    def attempt(self) -> Attempt:
        """The newest Attempt."""
        return self.attempts()[-1]

    def events(self, kind: type) -> list[Event]:
        """Events of one kind, in order."""
        return [row.event for row in self.state.journal.events() if isinstance(row.event, kind)]

    def entries(self) -> tuple[Entry, ...]:
        """The ledger."""
        return self.state.journal.entries()

    def charged(self) -> Money:
        """What everything has cost so far."""
        return balances(self.entries()).whole.charged

    def held(self) -> Money:
        """What is set aside now."""
        return balances(self.entries()).whole.held

    def check_quiet(self) -> None:
        """Nobody is at work, and the books are right: no lock, no claim, no open intent, charges as recomputed."""
        assert self.state.claims.plan_lock() is None
        assert self.state.claims.claimed() == ()
        assert self.state.journal.open_intents() == ()
        self.check_books()

    def check_books(self, now: datetime | None = None, excused: Collection[Fault] = ()) -> None:
        """The ledger is sound, every settled Attempt was charged what its times say, and ``receipts --verify`` at ``now`` agrees."""
        check_books(self.attempts(), self.entries())
        with self.state.journal.books() as books:
            found = verify_receipts(books, origins=RateOrigins(self.prices.book, {}), now=now or self.clock.now())
        assert [one for one in found.findings if one.fault not in excused] == []


def check_books(attempts: Sequence[Attempt], entries: Sequence[Entry]) -> None:
    """The ledger is sound, its accounts sum to zero, and every closed Attempt was charged exactly what its times say."""
    settled = [one.uid for one in attempts if not one.is_open]
    assert unsound(entries, settled) == ()
    assert sum(posting.amount.micro for entry in entries for posting in entry.postings) == 0
    now = balances(entries)
    for one in attempts:
        if one.uid in settled:
            ended_at = one.timings.finished_at
            expected = charge_of(one, ended_at) if ended_at is not None else ZERO
            assert now.attempt(one.uid).charged == expected, f"{one.name} was charged {now.attempt(one.uid).charged}, not {expected}"


def outcome(result: ApplyResult, address: Address = LAB) -> ObjectOutcome:
    """What became of one object."""
    return next(one for one in result.outcomes if one.address == address)
