"""Random lives of two Workspaces on the simulated provider, and what must be true after each step of them.

Steps are a person's commands, passes of ``tick``, the clock (also a sleeping laptop, and a laptop whose clock is wrong), faults of the
cloud, machines that die, and processes killed with -9 in the middle of what they do. Nothing is mocked: real store, real planner, real
executor, and a cloud that keeps its own books.
"""

from __future__ import annotations

import os
import shutil
import tempfile
from collections import Counter
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from fractions import Fraction
from functools import partial
from pathlib import Path
from typing import Any

from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from nodusctl.attempts.attempt import Attempt
from nodusctl.attempts.events import PhaseChanged, Remarked, TermsFrozen
from nodusctl.base.exits import UserError
from nodusctl.base.ids import Address
from nodusctl.base.money import ZERO, Money
from nodusctl.engine.findings import Fault
from nodusctl.executor.outside import Outside
from nodusctl.ledger.entries import EntryKind
from nodusctl.lifecycle.situation import Rules
from nodusctl.plan.plan import Plan
from nodusctl.ports.claims import Liveness
from support import outside_changes
from support.exploding import Fuse, fused
from support.world import HOME_YAML, World, workspace_yaml

MINUTE, HOUR = timedelta(minutes=1), timedelta(hours=1)
BEGIN = datetime(2026, 10, 24, 5, 0, tzinfo=UTC)
"""The day before a night in which Madrid's clocks go back."""
NAMES = ("a", "b")
WINDOWS = "; ".join(
    f"Mon-Sun {hours} Europe/Madrid" for hours in ("01:30-03:15", "08:00-09:30", "11:00-12:00", "12:00-13:00", "16:00-19:00")
)
SLACK = "billing: {selfStop: keeps-billing, endsAt: terminated}\ntimes: {release: 4m, stopBound: 1m}\n"
"""A cloud on which a machine that shuts down goes on billing, and that takes longer to end one than it promises."""
RULES = Rules(lease_term=2 * HOUR)
"""A short lease, so that renewals are part of ordinary lives."""
FAULTS = (
    ("create", "error CapacityUnavailable scope zone"),
    ("create", "error Unauthorized scope account"),
    ("create", "accept-then-drop"),
    ("create", "visible-after 45s"),
    ("create", "error Unavailable"),
    ("get", "error Unavailable"),
    ("get", "forbidden"),
    ("get", "unreachable"),
    ("delete", "error Unavailable"),
    ("delete", "accept-then-drop"),
    ("save", "error Unavailable"),
    ("save", "accept-then-drop"),
    ("save", "partial 40"),
    ("attach", "error Unavailable"),
    ("detach", "accept-then-drop"),
    ("volume-create", "accept-then-drop"),
    ("price", "price 9.99"),
    ("list", "error Unavailable"),
)
TABLE = {
    "Pending": {"Starting", "Failed", "Stopped", "Terminating"},
    "Starting": {"Running", "Pending", "Stopping", "Terminating"},
    "Running": {"Stopping", "Recovering", "Terminating"},
    "Recovering": {"Running", "Failed", "Stopping", "Stopped", "Terminating"},
    "Stopping": {"Stopped", "Pending", "Terminating"},
    "Stopped": {"Pending", "Terminating"},
    "Failed": {"Pending", "Stopped", "Terminating"},
    "Terminating": set(),
}
"""The table of lifecycle.md: a phase and those that may follow it."""


def spec_of(name: str, *, cap: str = "", windows: bool = False, idle: str = "1h", stop_at: datetime | None = None) -> str:
    """The documents of one Workspace and its home."""
    fields: dict[str, Any] = {"idleTimeout": idle, "tools": ["SSH"]}
    if cap:
        fields["maxCostUSD"] = cap
    if stop_at is not None:
        fields["schedule"] = {"stopAt": stop_at.strftime("%Y-%m-%dT%H:%M:%SZ")}
    text = workspace_yaml(name, volume=f"home-{name}", **fields)
    if windows:
        text = text.replace(f"metadata: {{name: {name}}}", f'metadata: {{name: {name}, annotations: {{nodus.dev/windows: "{WINDOWS}"}}}}')
    return HOME_YAML.replace("name: home", f"name: home-{name}") + "---\n" + text


class Skewed:
    """The laptop's clock: the world's, wrong by ``skew``."""

    def __init__(self, inner: Any, skew: timedelta) -> None:
        self._inner, self._skew = inner, skew

    def now(self) -> datetime:
        return self._inner.now() + self._skew

    def sleep(self, seconds: float) -> None:
        self._inner.sleep(seconds)

    def wait(self, until: datetime, signal: Any, calls_in_flight: Any) -> None:
        self._inner.wait(until - self._skew, signal, calls_in_flight)


class Lives(RuleBasedStateMachine):
    """One project on one cloud."""

    def __init__(self) -> None:
        super().__init__()
        self.folder = Path(tempfile.mkdtemp(prefix="lives-"))
        self.world: World
        self.specs: dict[str, dict[str, Any]] = {}
        self.skew, self.was_skewed = timedelta(0), False
        self.furthest = BEGIN
        self.seen_content: dict[str, tuple[str, ...]] = {}
        self.orphans: set[str] = set()

    # What a person does

    @initialize(
        cap=st.sampled_from(["", "0.50", "2.00"]), windows=st.sampled_from([True, True, False]), cloud=st.sampled_from(["", "", SLACK])
    )
    def begin(self, cap: str, windows: bool, cloud: str) -> None:
        self.world = World(self.folder / "p", now=BEGIN, rules=RULES, world=cloud)
        self.specs = {"a": {"cap": cap}, "b": {"windows": windows}}
        self._write()
        self._do(lambda outside: self.world.apply(self._plan(), outside=outside, timeout=HOUR))

    @rule()
    def apply(self) -> None:
        self._do(self._apply)

    def _apply(self, outside: Outside, **request: Any) -> None:
        self.world.apply(self._plan(**request), outside=outside, timeout=10 * MINUTE, skip_blocked=True)

    def _plan(self, **request: Any) -> Plan:
        return self.world.plan(accepts_no_edge=True, **request)

    @rule(name=st.sampled_from(NAMES))
    def restart(self, name: str) -> None:
        self._do(lambda outside: self._apply(outside, restarts=(Address("workspace", name),)))

    @rule(name=st.sampled_from(NAMES), idle=st.sampled_from(["0s", "10m", "1h", "4h"]), hours=st.integers(0, 12))
    def change_the_spec(self, name: str, idle: str, hours: int) -> None:
        """Another idleTimeout and, for most, another stopAt."""
        self.specs[name]["idle"] = idle
        self.specs[name]["stop_at"] = self.world.clock.now() + hours * HOUR if hours else None
        self._write()
        self.apply()

    @precondition(lambda self: bool(self.specs.get("a", {}).get("cap")))
    @rule(more=st.sampled_from(["0.10", "1.00"]))
    def raise_cap(self, more: str) -> None:
        self.specs["a"]["cap"] = str(Money.parse(self.specs["a"]["cap"]) + Money.parse(more))
        self._write()
        self.apply()

    @rule(name=st.sampled_from(NAMES))
    def start(self, name: str) -> None:
        self._do(lambda outside: self._verb("start", name, outside))

    @rule(name=st.sampled_from(NAMES), verb=st.sampled_from(["stop", "stop", "park", "extend"]))
    def stop(self, name: str, verb: str) -> None:
        self._do(lambda outside: self._verb(verb, name, outside))

    @rule(name=st.sampled_from(NAMES))
    def delete_and_make_again(self, name: str) -> None:
        address = Address("workspace", name)
        if self.world.state.journal.snapshot().get(address) is not None:
            self._do(lambda outside: self.world.apply(self.world.removal(address), outside=outside, timeout=10 * MINUTE))

    @rule(name=st.sampled_from(NAMES))
    def forget(self, name: str) -> None:
        """Whatever it has outside is a known orphan from then on."""
        self._do(lambda outside: self._forget(name))

    def _forget(self, name: str) -> None:
        left = {machine.id for machine in self.world.machines(f"workspace/{name}")}
        outside_changes.forget(self.world, Address("workspace", name), even_if_running=True)
        self.orphans |= left

    @precondition(lambda self: bool(self.orphans))
    @rule()
    def delete_orphans(self) -> None:
        for thing in sorted(self.orphans):
            self._do(lambda outside, thing=thing: outside_changes.delete(self.world, thing))
        self.orphans &= {machine.id for machine in self.world.machines()}

    # What cron and the clock do

    @rule(times=st.integers(1, 6), minutes=st.sampled_from([1, 5, 15]))
    def ticks(self, times: int, minutes: int) -> None:
        self._ticks(times, minutes)

    @rule(times=st.integers(4, 16), minutes=st.sampled_from([15, 30, 60]))
    def cron_goes_on_for_hours(self, times: int, minutes: int) -> None:
        self._ticks(times, minutes)

    def _ticks(self, times: int, minutes: int) -> None:
        for _ in range(times):
            self.world.pass_time(minutes * MINUTE)
            self._do(lambda outside: self.world.tick(outside=outside))

    @rule(minutes=st.sampled_from([1, 20, 59, 240, 700, 1500]))
    def the_laptop_sleeps(self, minutes: int) -> None:
        self.world.pass_time(minutes * MINUTE)

    @rule(hours=st.sampled_from([-2, 0, 0, 1]))
    def the_laptops_clock_jumps(self, hours: int) -> None:
        self.skew = hours * HOUR
        self.was_skewed = self.was_skewed or bool(hours)

    # What goes wrong

    @rule(fault=st.sampled_from(FAULTS), match=st.sampled_from(["", "workspace/a", "workspace/b", "volume/*"]), times=st.integers(1, 3))
    def something_will_fail(self, fault: tuple[str, str], match: str, times: int) -> None:
        operation, effect = fault
        self.world.fault(operation, effect, match, times=times)

    @rule()
    def all_is_well_again(self) -> None:
        self.world.heal()

    @rule(which=st.integers(0, 3))
    def a_machine_dies(self, which: int) -> None:
        alive = self.world.machines()
        if alive:
            self.world.cloud.kill(alive[which % len(alive)].id)

    @rule(deed=st.integers(1, 12), command=st.sampled_from(["tick", "tick", "apply", "start a", "stop a", "stop b"]))
    def a_process_is_killed(self, deed: int, command: str) -> None:
        """A child does the command and dies, with -9, just before its n-th deed (or lives, where it has fewer)."""
        self.world.close()
        child = os.fork()
        if not child:
            try:
                self.world = self.world.again()
                outside = fused(self._outside(), Fuse(deed))
                self._command(command, outside)
            finally:
                os._exit(0)
        os.waitpid(child, 0)
        self.world = self.world.again()

    def _command(self, command: str, outside: Outside) -> None:
        verb, _, name = command.partition(" ")
        match verb:
            case "tick":
                self.world.tick(outside=outside)
            case "apply":
                self._apply(outside)
            case _:
                self._verb(verb, name, outside)

    def _verb(self, verb: str, name: str, outside: Outside) -> None:
        from nodusctl.engine import verbs
        from nodusctl.engine.applying import ApplySettings
        from nodusctl.engine.extending import extend
        from nodusctl.executor.runs import Interrupts

        verb_of = {"start": verbs.start, "stop": verbs.stop, "park": partial(verbs.stop, parks=True), "extend": partial(extend, by=HOUR)}
        act: Any = verb_of[verb]
        settings = ApplySettings(timeout=10 * MINUTE)
        act(Address("workspace", name), outside=outside, command=f"nodusctl {verb}", settings=settings, interrupts=Interrupts())

    def _do(self, command: Any) -> None:
        """A command that may be refused, with its reasons, and never falls over."""
        try:
            command(self._outside())
        except UserError as told:
            assert told.diagnostics, "a refusal says why"

    def _outside(self) -> Outside:
        made = self.world.outside()
        return replace(made, clock=Skewed(self.world.clock, self.skew)) if self.skew else made

    def _write(self) -> None:
        self.world.write(*(spec_of(name, **self.specs[name]) for name in NAMES))

    # What must be true

    @invariant()
    def every_machine_is_known(self) -> None:
        """A live machine is that of an open Attempt, a known orphan, or one that an open intent made and nobody has heard of yet."""
        journal = self.world.state.journal
        known = {one.machine.id for one in journal.attempts() if one.is_open and one.machine is not None}
        tokens = {intent.token for intent in journal.open_intents()}
        for machine in self.world.machines():
            is_known = machine.id in known | self.orphans or machine.token in tokens
            assert is_known, f"{machine.id} of {machine.tags} belongs to nobody"
        owners = Counter(one.owner for one in journal.attempts() if one.is_open and one.machine is not None and not one.is_released)
        assert all(count == 1 for count in owners.values()), f"two open Attempts with a machine: {owners}"

    @invariant()
    def every_machine_has_an_end(self) -> None:
        for machine in self.world.machines():
            assert machine.armed_until is not None or machine.ended_at is not None, f"{machine.id} would run for ever"

    @invariant()
    def the_books_are_right(self) -> None:
        """Balanced, and equal to what the Attempts' own times say, recomputed here with nothing of the ledger's arithmetic.

        A capture goes to the laptop's own time, so what runs may be charged to the furthest moment its clock ever showed, and no further.
        A hold covers the time the machine was told to last; where the clock was wrong meanwhile, the edge that is written down is as wrong.
        """
        self.furthest = max(self.furthest, self.world.clock.now() + self.skew)
        self.world.check_books(self.furthest, {Fault.HOLD} if self.was_skewed else ())
        for attempt in self.world.attempts():
            if attempt.is_released:
                assert self._charged(attempt) == _recomputed(attempt), attempt.name

    @invariant()
    def a_cap_holds(self) -> None:
        """An overrun is what a machine cost past its edge and its provider's stop bound, and no more; and it is said.

        Exact to two seconds of the rate: an edge is read back in whole seconds. Where the laptop's clock was wrong, so are the edges.
        """
        for name in NAMES:
            standing = self.world.state.journal.snapshot().get(Address("workspace", name))
            cap = standing.record.spec.get("maxCostUSD") if standing is not None else None
            if standing is None or cap is None:
                continue
            own = [one for one in self.world.attempts() if one.owner_uid == standing.record.uid]
            over = sum((self._charged(one) for one in own), ZERO) - Money.parse(cap)
            if self.was_skewed or over <= ZERO:
                continue
            late = sum((_past_the_bound(one) for one in own), ZERO)
            slack = sum((_seconds_cost(one, 2) for one in own), ZERO)
            assert over <= late + slack, f"{over} above {cap}, and {late} past the bounds"
            said = {event.object_uid for event in self.world.events(Remarked) if event.code == "CapOverrun"}  # type: ignore[attr-defined]
            assert standing.record.uid in said

    def _charged(self, attempt: Attempt) -> Money:
        account = f"charged:{attempt.uid}"
        return sum((entry.moved(account) for entry in self.world.entries() if entry.attempt_uid == attempt.uid), ZERO)

    @invariant()
    def no_revision_is_lost_or_half(self) -> None:
        for name in NAMES:
            standing = self.world.state.journal.snapshot().get(Address("volume", f"home-{name}"))
            if standing is None or standing.status.volume is None or not standing.status.volume.disk_id:
                continue
            volume = standing.status.volume
            numbers = [one.number for one in volume.revisions]
            assert numbers == sorted(set(numbers)), numbers
            content = self.world.cloud.disk_content(volume.disk_id)
            before = self.seen_content.get(volume.disk_id, ())
            assert content[: len(before)] == before, "the home lost what a session wrote"
            self.seen_content[volume.disk_id] = content

    @invariant()
    def no_lock_is_left(self) -> None:
        """What a killed process held is seen to be dead, and nobody else holds anything."""
        lock = self.world.state.claims.plan_lock()
        assert lock is None or lock.liveness is Liveness.DEAD
        assert all(liveness is Liveness.DEAD for *_, liveness in self.world.state.claims.claimed())

    @invariant()
    def phases_move_along_the_table(self) -> None:
        for event in self.world.events(PhaseChanged):
            assert isinstance(event, PhaseChanged)
            if event.before in TABLE and event.after in TABLE:
                assert event.after in TABLE[event.before], f"{event.before} to {event.after}"

    @invariant()
    def nothing_starts_above_its_ceiling(self) -> None:
        for event in self.world.events(TermsFrozen):
            assert isinstance(event, TermsFrozen)
            assert event.terms.rate_usd_per_hour <= event.terms.ceiling_usd_per_hour

    # The end

    def teardown(self) -> None:
        """Once all is well and passes go on, nothing stays open and everything is paid."""
        if not hasattr(self, "world"):
            return
        try:
            self.world.heal()
            self.skew = timedelta(0)
            self.world.pass_time(16 * MINUTE)
            self.delete_orphans()
            assert not self.orphans
            self.world.tick(times=12, every=5 * MINUTE)
            assert self.world.state.journal.open_intents() == ()
            self.every_machine_is_known()
            self.the_books_are_right()
            held = [entry for entry in self.world.entries() if entry.kind is EntryKind.HOLD]
            open_uids = {one.uid for one in self.world.attempts() if one.is_open}
            for entry in held:
                left = sum((one.moved(f"held:{entry.attempt_uid}") for one in self.world.entries()), ZERO)
                assert entry.attempt_uid in open_uids or left == ZERO
        finally:
            self.world.close()
            shutil.rmtree(self.folder, ignore_errors=True)


def _past_the_bound(attempt: Attempt) -> Money:
    """What a machine cost after its edge and its provider's stop bound."""
    ended, edge, terms = attempt.timings.finished_at, attempt.edge_at, attempt.terms
    if ended is None or edge is None or terms is None:
        return ZERO
    return _recomputed(attempt) - _recomputed(attempt, min(ended, edge + terms.stop_bound))


def _seconds_cost(attempt: Attempt, seconds: int) -> Money:
    return Money(attempt.terms.rate_usd_per_hour.micro * seconds // 3600 + 1) if attempt.terms is not None else ZERO


def _recomputed(attempt: Attempt, until: datetime | None = None) -> Money:
    """rate times billed seconds until its end, rounded half-up once, in plain fractions."""
    began, ended, terms = attempt.timings.billing_started_at, until or attempt.timings.finished_at, attempt.terms
    if began is None or ended is None or terms is None:
        return ZERO
    seconds = Fraction(max(ended - began, timedelta(0)) // timedelta(microseconds=1), 10**6)
    if not seconds:
        return ZERO
    increments = -(-seconds // terms.increment_seconds)
    billed = max(increments * terms.increment_seconds, terms.minimum_seconds)
    exact = Fraction(terms.rate_usd_per_hour.micro) * billed / 3600
    return Money(int(exact + Fraction(1, 2)))
