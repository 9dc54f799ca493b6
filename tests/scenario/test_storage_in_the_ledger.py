"""What a disk costs is posted to its Volume: at each end of a UTC month, where it grows and where it goes; Budgets count it before."""

from __future__ import annotations

import json
import sqlite3
from contextlib import closing
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from fractions import Fraction
from pathlib import Path

import pytest
from support.world import HOME, LAB, World, workspace_yaml

from nodusctl.attempts.events import DiskGone, DiskGrown, DiskMade
from nodusctl.base.ids import Address
from nodusctl.base.money import ZERO, Money, total
from nodusctl.engine.budget_report import budget_report
from nodusctl.engine.findings import Fault
from nodusctl.engine.inspect_one import describe
from nodusctl.engine.rate_origins import RateOrigins
from nodusctl.engine.spending import GroupBy, Spending, spending_of
from nodusctl.engine.verifying import Verification, of_owner, verify_receipts
from nodusctl.ledger.balances import balances
from nodusctl.ledger.entries import Entry
from nodusctl.lifecycle.passing import turn_of
from nodusctl.lifecycle.situation import Situation
from nodusctl.lifecycle.volume_outcomes import disk_grown
from nodusctl.pricing.book import EMPTY_BOOK
from nodusctl.provider.machines import Disk, DiskState
from nodusctl.state.status import Phase, StorageStretch
from nodusctl.store.light_passes import passes_beside

MID_MARCH = datetime(2026, 3, 15, 12, 0, tzinfo=UTC)
APRIL, MAY = datetime(2026, 4, 1, tzinfo=UTC), datetime(2026, 5, 1, tzinfo=UTC)
DIME = Money.parse("0.10")
TEAM = Address("budget", "team")


def home_yaml(size: str = "100Gi", labels: str = "") -> str:
    return f"apiVersion: nodus.dev/v1\nkind: Volume\nmetadata: {{name: home{labels}}}\nspec: {{size: {size}, deletionPolicy: Delete}}\n"


def budget_yaml(limit: str, extra: str = "") -> str:
    return f'apiVersion: nodus.dev/v1\nkind: Budget\nmetadata: {{name: team}}\nspec: {{limitUSD: "{limit}"{extra}}}\n'


def cost(gib: int, begins: datetime, ends: datetime, rate: Money = DIME) -> Money:
    """The rule in words: size times rate times seconds over 730 hours."""
    seconds = Fraction((ends - begins) // timedelta(microseconds=1), 10**6)
    return Money.from_fraction(Fraction(rate.micro, 10**6) * gib * seconds / (730 * 3600))


@pytest.fixture
def stopped(tmp_path: Path) -> World:
    """lab ran on 15 March and was stopped; its home of 100 GiB is kept."""
    return at_rest(World(tmp_path / "project", now=MID_MARCH))


def at_rest(world: World, *documents: str, home: str = "") -> World:
    world.write(home or home_yaml(), workspace_yaml(), *documents)
    world.apply()
    world.stop()
    assert world.status().phase is Phase.STOPPED
    return world


def until(world: World, moment: datetime) -> World:
    world.pass_time(moment - world.clock.now())
    return world


def storage(world: World) -> list[Entry]:
    return [entry for entry in world.entries() if entry.is_storage]


def amounts(world: World) -> list[Money]:
    uid = storage(world)[0].object_uid if storage(world) else ""
    return [entry.moved(f"charged:{uid}") for entry in storage(world)]


def stretch_of(world: World) -> StorageStretch:
    stretch = world.home().storage
    assert stretch is not None
    return stretch


def grown_at(world: World) -> datetime:
    (grown,) = world.events(DiskGrown)
    assert isinstance(grown, DiskGrown)
    return grown.since


def made_at(world: World) -> datetime:
    (made,) = world.events(DiskMade)
    assert isinstance(made, DiskMade) and made.since is not None
    return made.since


def verified(world: World, now: datetime | None = None) -> Verification:
    with world.state.journal.books() as books:
        return verify_receipts(books, origins=RateOrigins(lambda: EMPTY_BOOK, {}), now=now or world.clock.now())


def costs(world: World, by: GroupBy = GroupBy.OBJECT) -> Spending:
    return spending_of(world.entries(), world.attempts(), world.state.journal.snapshot(), by=by, now=world.clock.now())


def test_a_disk_keeps_the_price_it_was_made_at_and_accrues_from_the_provider_s_own_time(stopped: World) -> None:
    stretch = stretch_of(stopped)
    assert (stretch.usd_per_gib_month, stretch.size_bytes, stretch.since) == (DIME, 100 * 2**30, made_at(stopped))
    assert made_at(stopped) >= MID_MARCH
    assert storage(stopped) == []
    stopped.check_quiet()


def test_a_disk_of_mid_month_is_charged_at_the_end_of_the_month_for_its_part_of_it(stopped: World) -> None:
    until(stopped, APRIL + timedelta(minutes=3)).tick()
    (entry,) = storage(stopped)
    assert amounts(stopped) == [cost(100, made_at(stopped), APRIL)]
    assert entry.time == APRIL - timedelta(microseconds=1)
    assert entry.object_address == "volume/home"
    assert sum(posting.amount.micro for posting in entry.postings) == 0
    assert stopped.home().storage == replace(stretch_of(stopped), since=APRIL)
    stopped.check_quiet()


def test_a_whole_month_of_744_hours_costs_744_of_730(stopped: World) -> None:
    until(stopped, MAY).tick()
    until(stopped, datetime(2026, 6, 1, tzinfo=UTC)).tick()
    assert amounts(stopped)[-1] == Money.from_fraction(Fraction(10) * 744 / 730)


def test_months_in_which_nobody_came_by_are_posted_later_each_in_its_own(stopped: World) -> None:
    until(stopped, datetime(2026, 6, 9, 7, tzinfo=UTC)).tick()
    assert [entry.time.month for entry in storage(stopped)] == [3, 4, 5]
    assert amounts(stopped)[1] == cost(100, APRIL, MAY)
    assert verified(stopped).findings == ()


def test_a_volume_has_a_turn_only_when_a_month_of_it_is_over(stopped: World) -> None:
    def turns(moment: datetime) -> list[str]:
        light = passes_beside("sqlite:///.nodus/state.db", stopped.folder, lambda: stopped.state.passes).glance()
        assert light == stopped.state.passes.glance()
        return [str(one.address) for one in light.briefs if turn_of(one, moment, timedelta(minutes=15)) is not None]

    assert turns(APRIL - timedelta(microseconds=1)) == []
    assert turns(APRIL) == ["volume/home"]
    until(stopped, APRIL).tick()
    assert turns(MAY - timedelta(seconds=1)) == []


def test_a_second_pass_posts_nothing_more(stopped: World) -> None:
    until(stopped, APRIL + timedelta(hours=1)).tick(times=3)
    assert len(storage(stopped)) == 1


def test_a_disk_that_grows_is_charged_for_its_old_size_and_goes_on_at_the_new_one(stopped: World) -> None:
    until(stopped, datetime(2026, 3, 20, tzinfo=UTC)).write(home_yaml("200Gi"), workspace_yaml()).apply()
    assert amounts(stopped) == [cost(100, made_at(stopped), grown_at(stopped))]
    until(stopped, APRIL).tick()
    assert amounts(stopped)[1] == cost(200, grown_at(stopped), APRIL)
    stopped.check_quiet()


def test_a_disk_that_grows_after_its_price_moved_grows_at_the_price_its_plan_showed(tmp_path: Path) -> None:
    world = at_rest(World(tmp_path / "p", now=MID_MARCH))
    record = world.standing(HOME).record
    assert record.storage_usd_per_gib_month == DIME
    until(world, datetime(2026, 3, 20, tzinfo=UTC)).write(home_yaml("200Gi"), workspace_yaml())
    plan = world.plan()
    dearer = [replace(one, storage_usd_per_gib_month=Money.parse("0.25")) if one.address == HOME else one for one in plan.costs]
    world.apply(replace(plan, costs=tuple(dearer)))
    assert stretch_of(world).usd_per_gib_month == Money.parse("0.25")
    until(world, APRIL).tick()
    assert amounts(world)[1] == cost(200, grown_at(world), APRIL, Money.parse("0.25"))
    assert verified(world).findings == ()


def test_a_disk_that_goes_is_charged_until_its_deletion_is_proven(stopped: World) -> None:
    until(stopped, datetime(2026, 4, 9, tzinfo=UTC)).delete(LAB, discards_home=True)
    stopped.delete(HOME)
    (gone,) = stopped.events(DiskGone)
    assert isinstance(gone, DiskGone)
    assert amounts(stopped) == [cost(100, made_at(stopped), APRIL), cost(100, APRIL, gone.until)]
    assert stopped.state.journal.snapshot().get(HOME) is None
    until(stopped, MAY).tick()
    assert len(storage(stopped)) == 2
    stopped.check_quiet()


def test_an_empty_disk_dropped_because_its_place_was_sold_out_is_charged_for_its_moments(tmp_path: Path) -> None:
    world = World(tmp_path / "p", now=MID_MARCH)
    world.write(home_yaml("1000Gi"), workspace_yaml(placement={"queueTimeout": "10m"}))
    world.fault("create", "error CapacityUnavailable")
    world.apply()
    assert len(world.events(DiskMade)) - 1 == len(world.events(DiskGone)) > 0, "the last one stays for the next start"
    assert total(amounts(world)) > ZERO
    world.check_quiet()


def test_a_machine_that_runs_over_the_end_of_a_month_has_its_disk_charged_too(tmp_path: Path) -> None:
    world = World(tmp_path / "p", now=APRIL - timedelta(hours=2))
    world.write(home_yaml(), workspace_yaml(idleTimeout="0s")).apply()
    world.tick(times=4, every=timedelta(hours=1))
    assert world.status().phase is Phase.RUNNING
    assert [entry.time.month for entry in storage(world)] == [3]
    world.stop()
    world.check_quiet()


def used_by(world: World) -> dict[str, str]:
    report = budget_report(journal=world.state.journal, project="default", now=world.clock.now())
    return dict(report.budgets[0].status)


def test_a_budget_counts_what_was_posted_and_what_accrues_in_its_month(tmp_path: Path) -> None:
    world = at_rest(World(tmp_path / "p", now=MID_MARCH), budget_yaml("20.00"))
    sessions = world.charged()
    until(world, datetime(2026, 3, 25, 12, tzinfo=UTC))
    so_far = cost(100, made_at(world), world.clock.now())
    assert used_by(world)["storageSoFarUSD"] == str(so_far)
    assert used_by(world)["remainingUSD"] == str(Money.parse("20.00") - sessions - so_far)
    (standing,) = (guard for guard in world.outside().guards_of(world.standing().record) if guard.limit is not None)
    assert standing.accrued == so_far
    until(world, APRIL + timedelta(days=1))
    assert used_by(world)["storageSoFarUSD"] == str(cost(100, APRIL, world.clock.now())), "March is not April's, posted or not"
    world.tick()
    assert used_by(world)["spentUSD"] == "0.00"
    assert used_by(world)["storageSoFarUSD"] == str(cost(100, APRIL, world.clock.now()))


def test_a_total_budget_counts_a_month_once_before_and_after_it_is_posted(tmp_path: Path) -> None:
    world = at_rest(World(tmp_path / "p", now=MID_MARCH), budget_yaml("50.00", ", period: Total"))
    until(world, APRIL + timedelta(days=1))
    before = used_by(world)
    assert before["storageSoFarUSD"] == str(cost(100, made_at(world), APRIL) + cost(100, APRIL, world.clock.now()))
    world.tick()
    assert world.clock.now() == APRIL + timedelta(days=1)
    assert used_by(world)["remainingUSD"] == before["remainingUSD"]


def test_a_budget_with_a_selector_counts_the_disks_with_its_labels_alone(tmp_path: Path) -> None:
    scope = ", scope: {selector: {matchLabels: {team: ml}}}"
    mine = at_rest(World(tmp_path / "p", now=MID_MARCH), budget_yaml("50.00", scope), home=home_yaml(labels=", labels: {team: ml}"))
    other = at_rest(World(tmp_path / "q", now=MID_MARCH), budget_yaml("50.00", scope))
    for world in (mine, other):
        until(world, MID_MARCH + timedelta(days=3))
    assert "storageSoFarUSD" in used_by(mine)
    assert "storageSoFarUSD" not in used_by(other)


def test_storage_over_a_budget_blocks_a_start_and_neither_stops_a_machine_nor_touches_a_disk(tmp_path: Path) -> None:
    world = World(tmp_path / "p", now=MID_MARCH)
    world.write(home_yaml("1000Gi"), workspace_yaml(), budget_yaml("5.00")).apply()
    disk = world.home().disk_id
    until(world, MID_MARCH + timedelta(hours=1)).stop()
    assert world.status().phase is Phase.STOPPED
    until(world, MID_MARCH + timedelta(days=10)).tick()
    assert (used_by(world)["remainingUSD"], world.home().disk_id) == ("0.00", disk)
    world.start()
    assert world.status().phase is not Phase.RUNNING
    until(world, APRIL).tick()
    assert len(storage(world)) == 1, "what it cost is posted, whatever the Budget says"
    assert world.home().disk_id == disk
    world.delete(LAB, discards_home=True)
    world.delete(HOME)
    assert world.events(DiskGone)


def test_cost_sums_storage_by_object_day_and_offering_and_says_what_is_not_posted_yet(stopped: World) -> None:
    so_far = cost(100, made_at(stopped), stopped.clock.now())
    assert costs(stopped).storage_so_far_usd == so_far
    until(stopped, APRIL + timedelta(hours=1)).tick()
    posted = cost(100, made_at(stopped), APRIL)
    by = {one: {group.name: group.charged_usd for group in costs(stopped, one).groups} for one in GroupBy}
    assert by[GroupBy.OBJECT]["volume/home"] == by[GroupBy.OFFERING]["storage"] == by[GroupBy.DAY]["2026-03-31"] == posted
    assert {group.name: group.attempts for group in costs(stopped).groups} == {"workspace/lab": 1, "volume/home": 0}
    assert costs(stopped).storage_so_far_usd == cost(100, APRIL, stopped.clock.now())
    assert balances(stopped.entries()).whole.charged == costs(stopped).charged_usd


def test_describe_shows_what_a_volume_has_cost_and_what_has_come_since(stopped: World) -> None:
    until(stopped, APRIL + timedelta(hours=1)).tick()
    found = describe(HOME, journal=stopped.state.journal, project="default", now=stopped.clock.now())
    assert found.document["status"]["cost"] == {
        "totalUSD": str(cost(100, made_at(stopped), APRIL)),
        "soFarUSD": str(cost(100, APRIL, stopped.clock.now())),
        "rateUSDPerGiBMonth": "0.10",
    }


def tampered(world: World, *statements: str) -> Verification:
    until(world, MAY + timedelta(hours=1)).tick()
    assert verified(world).findings == ()
    with closing(sqlite3.connect(world.folder / ".nodus" / "state.db")) as connection, connection:
        for (name,) in connection.execute("SELECT name FROM sqlite_master WHERE type = 'trigger'").fetchall():
            connection.execute(f"DROP TRIGGER {name}")
        changed = [connection.execute(statement).rowcount for statement in statements]
    assert all(changed), "the tampering itself must change something"
    return verified(world.again())


def test_verify_says_what_storage_came_to(stopped: World) -> None:
    until(stopped, MAY).tick()
    found = verified(stopped)
    assert (found.findings, found.storage_usd) == ((), total(amounts(stopped)))


def test_verify_finds_a_capture_that_was_changed_with_its_postings(stopped: World) -> None:
    where = "IN (SELECT id FROM entries WHERE id LIKE '%/storage/%')"
    until(stopped, MAY + timedelta(hours=1)).tick()
    second = str(amounts(stopped)[1])
    found = tampered(
        stopped,
        f"UPDATE entries SET body = replace(body, '{second}', '1.00') WHERE id LIKE '%/storage/%' AND body LIKE '%{second}%'",
        f"UPDATE postings SET amount_micro = 1000000 * sign(amount_micro) WHERE entry_id {where}"
        f" AND abs(amount_micro) = {amounts(stopped)[1].micro}",
    )
    (finding,) = found.findings
    assert (finding.fault, finding.owner, finding.attempt) == (Fault.CHARGE, "volume/home", "storage")
    assert second in finding.expected.replace(",", "")
    assert "$1.00" in finding.found


def test_a_pass_whose_clock_was_put_back_charges_no_time_twice(stopped: World) -> None:
    until(stopped, APRIL + timedelta(hours=1)).tick()
    grown = disk_grown(situation_at(stopped, APRIL - timedelta(days=1)), Disk(id="d", state=DiskState.READY, size_bytes=2**38), DIME)
    assert grown.entries == ()
    (event,) = grown.events
    assert isinstance(event, DiskGrown) and event.since == APRIL


def situation_at(world: World, now: datetime) -> Situation:
    standing = world.standing(HOME)
    return Situation(now=now, project="default", state_id="s", record=standing.record, status=standing.status)


def test_verify_finds_a_capture_whose_rate_in_the_journal_is_another_one(stopped: World) -> None:
    found = tampered(stopped, "UPDATE journal SET body = replace(body, '\"0.10\"', '\"0.01\"') WHERE kind = 'DiskMade'")
    assert {one.fault for one in found.findings} == {Fault.CHARGE}
    assert len(found.findings) == 2


def test_verify_finds_a_charge_that_was_left_out_and_one_dated_in_another_month(stopped: World) -> None:
    until(stopped, MAY).tick()
    april = storage(stopped)[1].id
    found = tampered(stopped, f"UPDATE entries SET body = replace(body, '2026-04-30T23', '2026-05-30T23') WHERE id = '{april}'")
    assert [one.fault for one in found.findings] == [Fault.MISPLACED]
    march = storage(stopped)[0].id
    gone = (f"DELETE FROM postings WHERE entry_id = '{march}'", f"DELETE FROM entries WHERE id = '{march}'")
    with closing(sqlite3.connect(stopped.folder / ".nodus" / "state.db")) as connection, connection:
        for statement in gone:
            connection.execute(statement)
    assert {one.fault for one in verified(stopped.again()).findings} == {Fault.MISPLACED, Fault.GONE, Fault.CHARGE}


def test_verify_of_the_volume_alone_looks_at_its_disk_alone(stopped: World) -> None:
    until(stopped, MAY).tick()
    with stopped.state.journal.books() as books:
        wanted = of_owner(HOME, stopped.state.journal.snapshot())
        found = verify_receipts(books, origins=RateOrigins(lambda: EMPTY_BOOK, {}), now=MAY, wanted=wanted)
    assert (found.receipts, found.storage_usd, found.findings) == (0, total(amounts(stopped)), ())


def as_before_storage_was_posted(world: World) -> World:
    """The state as a version wrote it that froze no price: the fields are not there."""
    with closing(sqlite3.connect(world.folder / ".nodus" / "state.db")) as connection, connection:
        for (name,) in connection.execute("SELECT name FROM sqlite_master WHERE type = 'trigger'").fetchall():
            connection.execute(f"DROP TRIGGER {name}")
        for uid, body in connection.execute("SELECT uid, body FROM statuses").fetchall():
            status = json.loads(body)
            if status["volume"] is not None:
                del status["volume"]["storage"]
                connection.execute("UPDATE statuses SET body = ? WHERE uid = ?", (json.dumps(status), uid))
        for sequence, body in connection.execute("SELECT sequence, body FROM journal WHERE kind = 'DiskMade'").fetchall():
            event = json.loads(body)
            for name in ("size_bytes", "since", "usd_per_gib_month"):
                del event[name]
            connection.execute("UPDATE journal SET body = ? WHERE sequence = ?", (json.dumps(event), sequence))
    return world.again()


def test_a_disk_of_an_older_state_stays_unposted_and_says_so(stopped: World) -> None:
    world = as_before_storage_was_posted(stopped)
    until(world, MAY).tick()
    assert storage(world) == []
    assert costs(world).unpriced == (HOME,)
    cost_of_it = describe(HOME, journal=world.state.journal, project="default", now=MAY).document["status"]["cost"]
    assert (cost_of_it["rateUSDPerGiBMonth"], "soFarUSD" in cost_of_it) == ("unknown", False)
    assert "nothing of it is posted" in cost_of_it["note"]
    assert verified(world).findings == ()


def test_a_disk_of_an_older_state_is_charged_from_its_growth_on(stopped: World) -> None:
    world = as_before_storage_was_posted(stopped)
    until(world, APRIL).write(home_yaml("200Gi"), workspace_yaml()).apply()
    until(world, MAY).tick()
    assert amounts(world) == [cost(200, grown_at(world), MAY)]
    assert costs(world).unpriced == ()
    assert verified(world).findings == ()


UNPRICED = "billing: {storageUSDPerGiBMonth: null}\n"


def test_a_disk_of_unknown_price_is_never_charged_and_never_free(tmp_path: Path) -> None:
    world = at_rest(World(tmp_path / "p", world=UNPRICED, now=MID_MARCH))
    assert stretch_of(world).usd_per_gib_month is None
    until(world, MAY).tick()
    assert storage(world) == []
    assert costs(world).unpriced == (HOME,)
    assert (
        describe(HOME, journal=world.state.journal, project="default", now=MAY).document["status"]["cost"]["rateUSDPerGiBMonth"]
        == "unknown"
    )
    assert verified(world).findings == ()


def test_a_free_disk_makes_no_noise(tmp_path: Path) -> None:
    """As on own hardware, where the terms of a start have a storage price of 0."""
    world = World(tmp_path / "p", now=MID_MARCH).write(home_yaml(), workspace_yaml(), budget_yaml("5.00"))
    plan = world.plan()
    free = [replace(one, terms=tuple(replace(t, storage_usd_per_gib_month=ZERO) for t in one.terms)) for one in plan.actions]
    world.apply(replace(plan, actions=tuple(free)))
    world.stop()
    assert stretch_of(world).usd_per_gib_month == ZERO
    until(world, MAY).tick()
    assert storage(world) == []
    assert (costs(world).unpriced, costs(world).storage_so_far_usd) == ((), ZERO)
    assert "cost" not in describe(HOME, journal=world.state.journal, project="default", now=MAY).document["status"]
    assert "storageSoFarUSD" not in used_by(world)
