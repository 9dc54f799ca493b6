"""Saved plans: applied once and as reviewed, compared by hash, resumed inside what was reviewed, and always to be shown."""

from __future__ import annotations

import json
from dataclasses import replace
from datetime import timedelta
from pathlib import Path

import pytest
from support.commands import LAB as LAB_YAML
from support.commands import CommandLine
from support.plugin_kit import Plugin, plugin
from support.world import HOME_YAML, LAB, World, workspace_yaml

from nodusctl.base.diagnostics import Diagnostic
from nodusctl.base.exits import ExitCode, UserError
from nodusctl.base.ids import Address
from nodusctl.engine.applying import ApplyResult, ApplySettings
from nodusctl.engine.current_rates import CurrentRates
from nodusctl.engine.market import configured_rates
from nodusctl.engine.resuming import resume_plan
from nodusctl.executor.runs import Interrupts
from nodusctl.plan.plan import Plan
from nodusctl.state.status import Phase

__all__ = ["plugin"]
B = Address("workspace", "b")


def created(cli: CommandLine) -> str:
    return cli("sim", "calls", "--op", "create", "--count").out.strip()


def hash_of(cli: CommandLine, *words: str) -> str:
    lines = [json.loads(line) for line in cli("plan", *words, "--json").out.splitlines()]
    text: str = next(line["planHash"] for line in lines if line["type"] == "plan")
    return text


class TestHash:
    """Case 24: what runs is what was reviewed."""

    def test_an_equal_fresh_plan_is_applied_without_any_file(self, cli: CommandLine) -> None:
        reviewed = hash_of(cli)
        assert not (cli.folder / ".nodus" / "plans").exists()
        assert cli("apply", "--plan-hash", reviewed, "--ci").code is ExitCode.DONE
        assert created(cli) == "1"

    def test_a_price_and_a_field_that_moved_are_printed_each_on_its_line_and_nothing_is_made(self, cli: CommandLine) -> None:
        reviewed = hash_of(cli, "-o", "p.nodusplan")
        cli("sim", "fault", "add", "--op", "price", "--effect", "price 0.90")
        cli.write("ws.yaml", LAB_YAML.replace("idleTimeout: 1h", "idleTimeout: 2h"))
        refused = cli("apply", "--plan-hash", reviewed, "--yes")
        assert refused.code is ExitCode.REFUSED
        lines = [line.strip() for line in refused.err.splitlines()]
        assert [line for line in lines if "idleTimeout" in line] == ["workspace/lab spec.idleTimeout: 1h -> 2h"]
        price = "workspace/lab price of sim/us-1a/cpu-4c-16g-us: $0.20/h (at most $0.22/h) -> $0.90/h (at most $0.99/h), +350.0 %"
        assert price in lines
        assert created(cli) == "0"
        assert not (cli.folder / ".nodus" / "state.db").exists()

    def test_the_difference_comes_from_a_file_given_beside_the_hash_where_no_copy_was_kept(self, cli: CommandLine) -> None:
        reviewed = hash_of(cli, "-o", "p.nodusplan")
        for kept in (cli.folder / ".nodus" / "plans").iterdir():
            kept.unlink()
        cli.write("ws.yaml", LAB_YAML.replace("idleTimeout: 1h", "idleTimeout: 2h"))
        alone = cli("apply", "--plan-hash", reviewed, "--yes")
        assert alone.code is ExitCode.REFUSED
        assert reviewed in alone.err and "idleTimeout" not in alone.err
        beside = cli("apply", "p.nodusplan", "--plan-hash", reviewed, "--yes")
        assert beside.code is ExitCode.REFUSED
        assert "spec.idleTimeout: 1h -> 2h" in beside.err

    def test_a_price_that_moves_under_its_ceiling_moves_the_hash_too(self, cli: CommandLine) -> None:
        """The ceiling follows from the price, so only a plan from a file has the room of ten percent."""
        reviewed = hash_of(cli)
        cli("sim", "fault", "add", "--op", "price", "--effect", "price 0.21")
        assert cli("apply", "--plan-hash", reviewed, "--yes").code is ExitCode.REFUSED


@pytest.mark.parametrize("words", [("apply", "--ci"), ("apply", "--ci", "--yes"), ("apply", "ws.yaml", "--ci")])
def test_apply_in_ci_with_neither_plan_nor_hash_is_a_usage_error(cli: CommandLine, words: tuple[str, ...]) -> None:
    refused = cli(*words)
    assert refused.code is ExitCode.USAGE
    assert "nodusctl apply PLAN --ci" in refused.err
    assert created(cli) == "0"


def test_ci_may_be_said_by_the_environment(cli: CommandLine) -> None:
    in_ci = replace(cli, environment={"NODUSCTL_CI": "1"})
    assert in_ci("apply", "--yes").code is ExitCode.USAGE
    in_ci("plan", "-o", "p.nodusplan")
    assert in_ci("apply", "p.nodusplan").code is ExitCode.DONE


class TestStateNotShared:
    """A state file in a job's checkout is gone with the job; machines elsewhere are not.

    The world of the other type has no say in the time here, so its machines never boot: what is begun is all there is.
    """

    ELSEWHERE = """
    def describe(self):
        from dataclasses import replace

        return replace(super().describe(), type="strange")
"""

    @pytest.fixture
    def elsewhere(self, cli: CommandLine, plugin: Plugin) -> CommandLine:
        replace(plugin, more=self.ELSEWHERE).install()
        config = (cli.folder / "nodusctl.yaml").read_text()
        cli.write("nodusctl.yaml", config.replace("type: simulated", "type: strange"))
        return cli

    def test_it_is_refused_in_ci_and_on_a_first_apply_nobody_watches(self, elsewhere: CommandLine) -> None:
        elsewhere("plan", "-o", "p.nodusplan")
        for words in (("p.nodusplan", "--ci"), ("p.nodusplan",), ("--yes",)):
            refused = elsewhere("apply", *words)
            assert refused.code is ExitCode.ERROR
            assert "error[StateNotShared]" in refused.err, words
        assert not (elsewhere.folder / ".nodus" / "state.db").exists()
        assert elsewhere("plan", "--ci").code is ExitCode.DONE, "never for plan"

    def test_one_may_mean_it_and_a_person_at_a_terminal_is_not_asked_to(self, elsewhere: CommandLine) -> None:
        elsewhere("plan", "-o", "p.nodusplan")
        begun = elsewhere("apply", "p.nodusplan", "--ci", "--local-state", "--timeout", "1s")
        assert begun.code is ExitCode.PARTIAL, begun.err
        elsewhere.write("ws.yaml", LAB_YAML.replace("idleTimeout: 1h", "idleTimeout: 2h"))
        again = elsewhere("apply", "--yes", "--timeout", "1s")
        assert again.code is ExitCode.PARTIAL, "the state is there, so somebody keeps it"

    def test_a_state_outside_the_checkout_is_fine(self, elsewhere: CommandLine, tmp_path: Path) -> None:
        config = (elsewhere.folder / "nodusctl.yaml").read_text()
        elsewhere.write("nodusctl.yaml", f"{config}state: sqlite:///{tmp_path}/shared/state.db\n")
        (tmp_path / "shared").mkdir()
        elsewhere("plan", "-o", "p.nodusplan")
        assert elsewhere("apply", "p.nodusplan", "--ci", "--timeout", "1s").code is ExitCode.PARTIAL

    def test_simulated_machines_go_with_the_checkout(self, cli: CommandLine) -> None:
        cli("plan", "-o", "p.nodusplan")
        assert cli("apply", "p.nodusplan", "--ci").code is ExitCode.DONE


class TestShow:
    """Only apply refuses."""

    def test_a_plan_is_shown_where_its_provider_is_not_installed_any_more(self, cli: CommandLine, monkeypatch: pytest.MonkeyPatch) -> None:
        cli("plan", "-o", "p.nodusplan")
        before = cli("show", "p.nodusplan")
        monkeypatch.setattr("nodusctl.plugins.plugins.installed_entry_points", tuple)
        assert "error[NotSupported]" in cli("plan").err, "the plugin is really gone"
        after = cli("show", "p.nodusplan")
        assert (after.code, after.out, after.err) == (ExitCode.DONE, before.out, "")
        assert cli("show", "p.nodusplan", "--format", "markdown").code is ExitCode.DONE

    def test_a_plan_is_shown_where_the_state_can_not_be_read(self, cli: CommandLine) -> None:
        cli("plan", "-o", "p.nodusplan")
        before = cli("show", "p.nodusplan").out
        (cli.folder / ".nodus" / "state.db").write_bytes(b"this was never a database, whatever its name says" * 100)
        shown = cli("show", "p.nodusplan", "--json")
        assert shown.code is ExitCode.DONE
        assert "warning[PlanUncompared]" in shown.err
        assert json.loads(shown.out)["stale"] is False
        assert cli("show", "p.nodusplan").out == before

    def test_a_plan_of_an_older_serial_is_shown_with_who_moved_it(self, cli: CommandLine) -> None:
        cli("apply", "--yes")
        cli.write("ws.yaml", LAB_YAML.replace("idleTimeout: 1h", "idleTimeout: 2h"))
        cli("plan", "-o", "p.nodusplan")
        cli("apply", "--yes")
        shown = cli("show", "p.nodusplan", "--json")
        assert shown.code is ExitCode.DONE
        assert "serial" in json.loads(shown.out)["staleReason"]
        assert "nodusctl apply --yes" in shown.err


def test_a_plan_for_another_state_names_both_places(cli: CommandLine) -> None:
    cli("apply", "--yes")
    cli.write("ws.yaml", LAB_YAML.replace("idleTimeout: 1h", "idleTimeout: 2h"))
    cli("plan", "-o", "p.nodusplan")
    config = (cli.folder / "nodusctl.yaml").read_text()
    cli.write("nodusctl.yaml", config + "state: sqlite:///.nodus/other.db\n")
    cli("apply", "--yes")
    refused = cli("apply", "p.nodusplan")
    assert refused.code is ExitCode.REFUSED
    assert "state.db" in refused.err and "other.db" in refused.err


def test_a_plan_of_a_state_that_is_gone_makes_no_new_one(cli: CommandLine) -> None:
    cli("apply", "--yes")
    cli.write("ws.yaml", LAB_YAML.replace("idleTimeout: 1h", "idleTimeout: 2h"))
    cli("plan", "-o", "p.nodusplan")
    state = cli.folder / ".nodus" / "state.db"
    for part in state.parent.glob("state.db*"):
        part.unlink()
    refused = cli("apply", "p.nodusplan")
    assert refused.code is ExitCode.REFUSED
    assert "This plan belongs to another state. The plan was made for the state at" in " ".join(refused.err.split())
    assert "there is no state at sqlite:///.nodus/state.db" in " ".join(refused.err.split())
    assert not state.exists()


def test_refusals_come_in_one_order_and_leave_nothing_held(world: World) -> None:
    """A used plan is told to be used, though the serial, its facts and its price have moved as well."""
    plan = world.write(HOME_YAML, workspace_yaml()).plan()
    world.apply(plan, is_saved_plan=True)
    world.write(HOME_YAML, workspace_yaml(idleTimeout="2h"))
    stale = world.plan()
    world.write(HOME_YAML, workspace_yaml(idleTimeout="3h"))
    world.apply()
    world.fault("price", "price 9.00")
    assert _refusal(world, plan).summary == "This plan was already applied."
    assert _refusal(world, stale).summary == "The state moved since this plan was made."
    world.check_quiet()


def test_of_many_reasons_the_first_is_told_and_each_refusal_leaves_nothing_held(world: World) -> None:
    """One plan that is wrong in every way is mended in one respect after the other; what is told next is the next of the order."""
    world.write(HOME_YAML, workspace_yaml()).apply()
    world.write(HOME_YAML, workspace_yaml(), workspace_yaml("b", volume="", ephemeral=True))
    right = world.plan()
    basis = right.basis
    moved = replace(right.actions[0], facts=replace(right.actions[0].facts, uid="another"))
    wrong = replace(
        right, actions=(moved,), basis=replace(basis, lineage="other", serial=99, providers=dict.fromkeys(basis.providers, "0.0"))
    )
    world.fault("price", "price 9.00")
    creates = world.count("create")
    for mended, told, code in (
        (wrong, "This plan belongs to another state.", ExitCode.REFUSED),
        (replace(wrong, basis=replace(wrong.basis, lineage=basis.lineage)), "The state moved since this plan was made.", ExitCode.REFUSED),
        (replace(wrong, basis=replace(basis, providers=wrong.basis.providers)), "Something this plan relies on changed.", ExitCode.REFUSED),
        (
            replace(right, basis=replace(basis, providers=wrong.basis.providers)),
            "A provider changed since this plan was made.",
            ExitCode.REFUSED,
        ),
        (right, "PriceMoved", ExitCode.PRICE),
    ):
        refused = _refusal(world, mended, code)
        assert told in (refused.summary, refused.code)
        world.check_quiet()
    world.heal()
    assert world.apply(right, is_saved_plan=True).exit_code is ExitCode.DONE
    assert world.count("create") == creates + 1
    world.fault("price", "price 9.00")
    used = replace(right, basis=replace(basis, providers=wrong.basis.providers))
    assert _refusal(world, used).summary == "This plan was already applied.", "though serial, facts, provider and price have moved"
    world.check_quiet()


def _refusal(world: World, plan: Plan, code: ExitCode = ExitCode.REFUSED) -> Diagnostic:
    with pytest.raises(UserError) as refused:
        world.apply(plan, is_saved_plan=True)
    assert refused.value.exit_code is code
    return refused.value.diagnostics[0]


def resumed(world: World, plan: Plan, **settings: object) -> ApplyResult:
    """``nodusctl apply PLAN --resume``."""
    return resume_plan(
        plan,
        outside=world.outside(),
        rate_of=CurrentRates(world.providers, world.prices, configured_rates(world.project)).today,
        command="nodusctl apply --resume",
        settings=ApplySettings(is_saved_plan=True, skip_blocked=plan.allow.skips_blocked, **settings),  # type: ignore[arg-type]
        interrupts=Interrupts(),
        recheck=world.recheck(plan),
    )


def refusal_to_resume(world: World, plan: Plan) -> str:
    with pytest.raises(UserError) as refused:
        resumed(world, plan)
    assert refused.value.exit_code is ExitCode.REFUSED
    return refused.value.diagnostics[0].summary


class TestResume:
    """``apply PLAN --resume``."""

    @pytest.fixture
    def plan(self, world: World) -> Plan:
        return world.write(HOME_YAML, workspace_yaml(), workspace_yaml("b", volume="", ephemeral=True)).plan()

    def test_a_start_that_failed_is_asked_for_again_and_what_stands_is_left_alone(self, world: World, plan: Plan) -> None:
        world.fault("create", "error Invalid", "workspace/b")
        assert world.apply(plan, is_saved_plan=True).exit_code is ExitCode.PARTIAL
        assert world.status(B).phase is Phase.FAILED
        machines, creates = [one.id for one in world.machines()], world.count("create")
        world.heal()
        result = resumed(world, plan)
        assert result.exit_code is ExitCode.DONE
        assert [str(one.address) for one in result.outcomes] == ["workspace/b"]
        assert world.status(B).phase is Phase.RUNNING
        assert world.count("create") == creates + 1
        assert [one.id for one in world.machines("workspace/lab")] == machines
        assert not world.plan().has_changes
        world.check_quiet()

    def test_a_resumed_start_stays_inside_the_ceilings(self, world: World, plan: Plan) -> None:
        world.fault("create", "error Invalid", "workspace/b")
        world.apply(plan, is_saved_plan=True)
        world.heal()
        world.fault("price", "price 0.90")
        with pytest.raises(UserError) as refused:
            resumed(world, plan)
        assert refused.value.exit_code is ExitCode.PRICE
        assert len(world.machines()) == 1

    def test_what_was_left_out_because_it_was_blocked_is_done_once_it_is_not(self, world: World) -> None:
        world.write(HOME_YAML, workspace_yaml(), workspace_yaml("b", volume="", ephemeral=True))
        plan = world.plan(skips_blocked=True)
        world.fault("price", "error Unavailable message down")
        blocked = world.apply(plan, is_saved_plan=True, skip_blocked=True)
        assert blocked.exit_code is ExitCode.PARTIAL
        assert [str(one) for one in world.state.journal.snapshot().standings] == ["volume/home"]
        world.heal()
        assert resumed(world, plan).exit_code is ExitCode.DONE
        assert (world.status(LAB).phase, world.status(B).phase) == (Phase.RUNNING, Phase.RUNNING)
        assert resumed(world, plan).diagnostics[0].code == "NothingLeft"

    def test_a_killed_apply_goes_on_where_it_was_with_one_machine_each(self, world: World, plan: Plan) -> None:
        """The first apply leaves before anything is ready; what it asked for is there, and is carried on, not asked for again."""
        world.apply(plan, is_saved_plan=True, timeout=timedelta(seconds=1))
        assert {world.status(LAB).phase, world.status(B).phase} <= {Phase.PENDING, Phase.STARTING}
        later = world.again()
        assert resumed(later, plan).exit_code is ExitCode.DONE
        assert len(later.machines()) == 2
        assert later.count("create") == 2
        later.check_quiet()

    def test_a_plan_that_was_done_has_nothing_left_and_stays_used_up(self, world: World, plan: Plan) -> None:
        world.apply(plan, is_saved_plan=True)
        calls = world.count("create")
        result = resumed(world, plan)
        assert (result.exit_code, result.diagnostics[0].code) == (ExitCode.DONE, "NothingLeft")
        assert world.count("create") == calls
        assert _refusal(world, plan).summary == "This plan was already applied."

    def test_a_restart_is_not_made_twice(self, world: World) -> None:
        world.write(HOME_YAML, workspace_yaml())
        world.apply()
        plan = world.plan(restarts=(LAB,))
        world.apply(plan, is_saved_plan=True)
        creates = world.count("create")
        assert resumed(world, plan).diagnostics[0].code == "NothingLeft"
        assert world.count("create") == creates

    def test_a_plan_nobody_started_is_not_resumed(self, world: World, plan: Plan) -> None:
        assert refusal_to_resume(world, plan) == "This plan was never started."
        assert not world.state.journal.exists()

    def test_a_day_later_it_is_too_late(self, world: World, plan: Plan) -> None:
        world.fault("create", "error Invalid", "workspace/b")
        world.apply(plan, is_saved_plan=True)
        world.heal()
        world.pass_time(timedelta(hours=25))
        assert refusal_to_resume(world, plan) == "This plan was started too long ago."

    def test_once_somebody_else_moved_the_state_it_is_over(self, world: World, plan: Plan) -> None:
        world.fault("create", "error Invalid", "workspace/b")
        world.apply(plan, is_saved_plan=True)
        world.heal()
        world.stop(parks=True)
        assert refusal_to_resume(world, plan) == "Something else moved the state since this plan was started."

    def test_removals_of_the_plan_itself_do_not_overtake_it(self, world: World) -> None:
        """A machine that is gone takes its record along, which moves the serial; that is this plan's own doing."""
        world.write(HOME_YAML, workspace_yaml(), workspace_yaml("b", volume="", ephemeral=True))
        world.apply()
        world.write(HOME_YAML, workspace_yaml(), workspace_yaml("c", volume="", ephemeral=True))
        plan = world.plan()
        world.fault("create", "error Invalid", "workspace/c")
        world.apply(plan, is_saved_plan=True)
        assert world.state.journal.snapshot().get(B) is None
        world.heal()
        assert resumed(world, plan).exit_code is ExitCode.DONE

    def test_the_option_needs_a_plan_file(self, cli: CommandLine) -> None:
        assert cli("apply", "--resume").code is ExitCode.USAGE
        cli("plan", "-o", "p.nodusplan")
        assert cli("apply", "p.nodusplan", "--resume").code is ExitCode.REFUSED
        cli("apply", "p.nodusplan")
        done = cli("apply", "p.nodusplan", "--resume")
        assert (done.code, "Nothing is left of this plan" in done.err) == (ExitCode.DONE, True)


def test_a_saved_plan_is_applied_where_its_files_are_not(cli: CommandLine, tmp_path: Path) -> None:
    """Everything apply needs is in the plan; what was reviewed is what runs, whatever the files say by now."""
    cli("plan", "-o", "p.nodusplan")
    (cli.folder / "ws.yaml").unlink()
    assert cli("apply", "p.nodusplan").code is ExitCode.DONE
    assert created(cli) == "1"
