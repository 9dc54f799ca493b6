"""``policy`` in nodusctl.yaml: each rule is told by its name and ends a plan with 15, and a program of the project's own may judge too."""

from __future__ import annotations

import json
import time
from pathlib import Path

import pytest
from support.commands import LAB, SIMULATED, CommandLine, Ran
from support.planning import WS
from support.planning import plan as plan_of

from nodusctl.base.exits import ExitCode
from nodusctl.engine.policy_command import PolicyCommand

GPU = LAB.replace("{cpu: 4, memory: 16Gi}", "{gpu: L4}").replace('  maxCostUSD: "5.00"\n', "")
STATE = ".nodus/state.db"


def planned(cli: CommandLine, policy: str, *words: str) -> Ran:
    cli.write("nodusctl.yaml", f"{SIMULATED}policy: {{{policy}}}\n")
    return cli("plan", *words)


@pytest.mark.parametrize(
    ("policy", "spec", "rule", "said"),
    [
        ('maxMonthlyUSD: "100.00"', LAB, "maxMonthlyUSD", "would cost $151.00; the limit is $100.00"),
        ('maxIncreaseUSD: "150.99"', LAB, "maxIncreaseUSD", "adds $151.00"),
        ("allowedRegions: [eu]", LAB, "allowedRegions", "may be placed in us-1a (us), us-1b (us); policy.allowedRegions has eu"),
        ("allowedRegions: [us-1a]", LAB, "allowedRegions", "may be placed in us-1b (us)"),
        ("allowedGPUTypes: [H100]", GPU, "allowedGPUTypes", "may get the GPU l4"),
        ("allowedGPUTypes: []", GPU, "allowedGPUTypes", "policy.allowedGPUTypes has none"),
        ("interruptibleRequired: true", LAB, "interruptibleRequired", "can't be taken back"),
        ("windowsRequired: true", LAB, "windowsRequired", "nothing ends it by the clock"),
    ],
)
def test_a_rule_that_is_broken_ends_the_plan_with_15_and_its_name(cli: CommandLine, policy: str, spec: str, rule: str, said: str) -> None:
    cli.write("ws.yaml", spec)
    made = planned(cli, policy)
    assert made.code is ExitCode.POLICY
    assert "blocked[PolicyFailed]" in made.out and f"(policy.{rule})" in made.out
    assert said in made.out
    applied = cli("apply", "--yes")
    assert applied.code is ExitCode.POLICY
    assert not (cli.folder / STATE).exists()


@pytest.mark.parametrize(
    ("policy", "spec"),
    [
        ('maxMonthlyUSD: "151.00", maxIncreaseUSD: "151.00"', LAB),
        ("allowedRegions: [US]", LAB),
        ("allowedRegions: [us-1]", LAB),
        ("allowedRegions: [us-1a, us-1b]", LAB),
        ("allowedGPUTypes: [H100, L4]", GPU),
        ("allowedGPUTypes: []", LAB),
        ("interruptibleRequired: true", GPU.replace("{gpu: L4}", "{gpu: H100}") + "\n"),
        ("windowsRequired: true", LAB.replace("  tools: [SSH]", '  tools: [SSH]\n  schedule: {stopAt: "2026-10-26T18:00:00Z"}')),
    ],
)
def test_a_rule_that_is_kept_says_nothing(cli: CommandLine, policy: str, spec: str) -> None:
    spec = spec.replace("  tools: [SSH]", "  tools: [SSH]\n  placement: {interruptible: Prefer}") if "gpu: H100" in spec else spec
    cli.write("ws.yaml", spec)
    made = planned(cli, policy)
    assert "PolicyFailed" not in made.out
    assert made.code is ExitCode.DONE, made.out


def test_every_broken_rule_is_told_at_once(cli: CommandLine) -> None:
    made = planned(cli, 'maxMonthlyUSD: "1.00", maxIncreaseUSD: "1.00", allowedRegions: [eu], windowsRequired: true')
    assert made.out.count("blocked[PolicyFailed]") == 4


def test_too_many_deletes_is_blocking_and_not_policy(cli: CommandLine) -> None:
    """cli.md: it is a reason of its own, with exit code 10, and so is a plan that is blocked by more than policy."""
    cli("apply", "--yes")
    (cli.folder / "ws.yaml").unlink()
    cli.write("other.yaml", LAB.replace("name: lab,", "name: other,").replace("lab-home", "other-home"))
    made = planned(cli, "maxDeletes: 0")
    assert made.code is ExitCode.BLOCKED
    assert "blocked[TooManyDeletes]" in made.out
    assert planned(cli, 'maxDeletes: 0, maxIncreaseUSD: "0.01"').code is ExitCode.BLOCKED
    assert planned(cli, "maxDeletes: 1").code is ExitCode.DONE


def test_a_limit_below_what_runs_lets_things_get_cheaper_and_not_dearer(cli: CommandLine) -> None:
    cli("apply", "--yes")
    cli.write("ws.yaml", LAB.replace("idleTimeout: 1h", "idleTimeout: 2h"))
    assert planned(cli, 'maxMonthlyUSD: "1.00"').code is ExitCode.DONE, "the month costs what it cost"
    cli.write("ws.yaml", LAB.replace("{cpu: 4, memory: 16Gi}", "{cpu: 8, memory: 32Gi}"))
    assert planned(cli, 'maxMonthlyUSD: "1.00"').code is ExitCode.POLICY
    assert cli("destroy", "workspace/lab", "--yes").code is ExitCode.DONE


def test_a_storage_price_counts_in_the_month(cli: CommandLine) -> None:
    cli("apply", "--yes")
    cli.write("ws.yaml", LAB.replace("size: 50Gi", "size: 500Gi"))
    made = planned(cli, 'maxIncreaseUSD: "44.99"')
    assert made.code is ExitCode.POLICY
    assert "adds $45.00" in made.out


def runs(stat: Path) -> bool:
    """True while a process is neither gone nor only waiting to be collected."""
    try:
        return stat.read_text().rpartition(")")[2].split()[0] != "Z"
    except (FileNotFoundError, ProcessLookupError):
        return False


class TestCommand:
    """``policy.command``."""

    @pytest.fixture
    def judge(self, cli: CommandLine) -> Path:
        path = cli.folder / "judge.sh"
        cli.write("nodusctl.yaml", SIMULATED + "policy: {command: [./judge.sh, strict]}\n")
        return path

    @staticmethod
    def says(path: Path, body: str) -> None:
        path.write_text(f"#!/bin/sh\n{body}\n")
        path.chmod(0o755)

    def test_it_is_given_the_plan_that_json_prints_and_passes_it_with_0(self, cli: CommandLine, judge: Path) -> None:
        self.says(judge, 'cat > given.json; echo "args: $*" > args')
        made = cli("plan", "--json")
        assert made.code is ExitCode.DONE
        given = json.loads((cli.folder / "given.json").read_text())
        printed = next(line for line in map(json.loads, made.out.splitlines()) if line["type"] == "plan")
        assert given["planHash"] == printed["planHash"]
        assert [one["address"] for one in given["actions"]] == ["volume/lab-home", "workspace/lab"]
        assert (cli.folder / "args").read_text() == "args: strict\n"

    def test_its_words_are_the_reason_and_nothing_is_made(self, cli: CommandLine, judge: Path) -> None:
        self.says(judge, "cat > /dev/null; echo 'no cpu on Mondays'; echo 'ask ops' >&2; exit 3")
        made = cli("plan")
        assert made.code is ExitCode.POLICY
        assert "blocked[PolicyFailed] (policy.command)" in made.out
        assert "no cpu on Mondays" in made.out and "ask ops" in made.out
        assert cli("apply", "--yes").code is ExitCode.POLICY
        assert cli("sim", "calls", "--op", "create", "--count").out == "0\n"

    def test_a_token_in_its_words_is_not_printed(self, cli: CommandLine, judge: Path) -> None:
        self.says(judge, "echo hf_TESTSECRET0123456789; exit 1")
        made = cli("plan", "--json")
        assert "TESTSECRET" not in made.out + made.err and "[redacted]" in made.out

    @pytest.mark.parametrize(
        ("body", "said"),
        [
            ("exit 1", "ended with exit code 1 and said nothing"),
            ("kill -9 $$", "ended with exit code -9"),
            (None, "can't be run: No such file or directory"),
        ],
    )
    def test_a_rule_nobody_could_ask_is_not_kept(self, cli: CommandLine, judge: Path, body: str | None, said: str) -> None:
        if body is not None:
            self.says(judge, body)
        made = cli("plan")
        assert made.code is ExitCode.POLICY
        assert said in made.out

    def test_one_that_takes_too_long_is_ended_with_all_it_started(self, cli: CommandLine, judge: Path) -> None:
        self.says(judge, "echo thinking; sleep 30 & echo $! > child; wait")
        slow = PolicyCommand(
            words=("./judge.sh",),
            folder=cli.folder,
            environment={"PATH": "/usr/bin:/bin"},
            document_of=lambda plan: "{}",
            limit_seconds=3,
        )
        (reason,) = slow.reasons(plan_of(WS))
        assert "took longer than 3 seconds and was ended" in reason.message and "thinking" in reason.message
        child = Path("/proc", (cli.folder / "child").read_text().strip(), "stat")
        ends_at = time.monotonic() + 20
        while runs(child) and time.monotonic() < ends_at:
            time.sleep(0.05)
        assert not runs(child)

    def test_it_is_asked_again_when_a_saved_plan_is_applied(self, cli: CommandLine, judge: Path) -> None:
        """The policy that counts is that of the place where things happen, not of the branch the plan came from."""
        self.says(judge, "cat > /dev/null")
        assert cli("plan", "-o", "p.nodusplan").code is ExitCode.DONE
        self.says(judge, "cat > /dev/null; echo 'frozen until Monday'; exit 1")
        refused = cli("apply", "p.nodusplan")
        assert refused.code is ExitCode.POLICY
        assert "frozen until Monday" in refused.err
        assert not (cli.folder / STATE).exists()
        self.says(judge, "cat > /dev/null")
        assert cli("apply", "p.nodusplan").code is ExitCode.DONE

    def test_a_plan_that_changes_nothing_is_not_shown_to_it(self, cli: CommandLine, judge: Path) -> None:
        self.says(judge, "cat > /dev/null")
        cli("apply", "--yes")
        self.says(judge, "exit 1")
        assert cli("plan").code is ExitCode.DONE

    def test_removals_by_word_are_shown_to_it_too(self, cli: CommandLine, judge: Path) -> None:
        self.says(judge, "cat > /dev/null")
        cli("apply", "--yes")
        self.says(judge, "grep -q '\"verb\": \"delete\"' && echo 'nothing is removed here' && exit 1; exit 0")
        refused = cli("destroy", "workspace/lab", "--yes")
        assert refused.code is ExitCode.POLICY
        assert "nothing is removed here" in refused.out

    def test_it_is_not_run_for_a_plan_from_a_snapshot(self, cli: CommandLine, judge: Path) -> None:
        cli("state", "snapshot", "-o", "s.json")
        self.says(judge, "touch ran; exit 1")
        made = cli("plan", "--snapshot", "s.json")
        assert made.code is ExitCode.DONE
        assert "policy.command was not run" in " ".join(made.err.split())
        assert not (cli.folder / "ran").exists()


@pytest.mark.parametrize(
    ("policy", "place"),
    [
        ("allowedRegions: []", "policy.allowedRegions"),
        ("allowedRegions: eu", "policy.allowedRegions"),
        ("command: []", "policy.command"),
        ("windowsRequired: yes", "policy.windowsRequired"),
        ("allowedGpuTypes: [L4]", "policy.allowedGpuTypes"),
    ],
)
def test_a_rule_that_can_not_be_read_is_refused_with_its_place(cli: CommandLine, policy: str, place: str) -> None:
    refused = planned(cli, policy)
    assert refused.code is ExitCode.ERROR
    assert place in refused.err and "nodusctl.yaml:4:" in refused.err
