"""What a newcomer gets wrong in the first hour, and what is said then: before anything is asked, and with the way out."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from pathlib import Path

import pytest
from support.commands import LAB, CommandLine
from support.programs import equipped

from nodusctl.base.exits import ExitCode


def test_a_path_that_is_not_there_is_said_before_anything_is_asked(cli: CommandLine) -> None:
    """Without a terminal and without --yes."""
    ran = cli("apply", "nowhere.yaml")
    assert ran.code is ExitCode.ERROR
    assert "A path does not exist" in ran.err
    assert "nowhere.yaml" in ran.err
    assert "asks before it acts" not in ran.err


def test_a_kind_that_is_none_is_said_before_anything_is_asked(cli: CommandLine) -> None:
    ran = cli("destroy", "workspcae/lab")
    assert ran.code is not ExitCode.DONE
    assert "asks before it acts" not in ran.err


@pytest.mark.parametrize(
    "words",
    [
        "ssh labb",
        "stop labb",
        "start labb",
        "open labb",
        "open labb --tool jupyter",
        "cp notes.txt labb:",
        "port-forward labb 8888",
        "logs labb",
        "extend labb 2h",
        "refresh-secrets labb",
        "ssh-proxy labb",
        "home list labb",
        "home restore labb --revision 1 --yes",
        "receipts labb",
        "receipts labb --verify",
        "delete workspace/labb --yes",
        "plan --restart labb",
    ],
)
def test_a_misspelt_workspace_is_guessed(cli: CommandLine, words: str) -> None:
    assert cli("apply", "--yes").code is ExitCode.DONE
    ran = cli(*words.split())
    assert ran.code is ExitCode.ERROR
    assert re.search(r"Did you mean (workspace/)?lab\?", ran.err)
    assert cli("sim", "calls", "--op", "create", "--count").out == "1\n"


def test_before_the_first_apply_a_name_leads_to_the_plan(cli: CommandLine) -> None:
    ran = cli("ssh", "lab")
    assert ran.code is ExitCode.ERROR
    assert "None was applied yet" in ran.err
    assert "nodusctl plan" in ran.err


@pytest.mark.parametrize("words", ["ssh lab", "open lab --tool jupyter", "cp notes.txt lab:", "port-forward lab 8888"])
def test_without_the_program_that_logs_in_nothing_is_started(cli: CommandLine, words: str, tmp_path: Path) -> None:
    """Of a Workspace that stopped because nobody used it, which each of these starts."""
    assert cli("apply", "--yes").code is ExitCode.DONE
    assert cli("sim", "advance", "2h", "--tick", "10m").code is ExitCode.DONE
    bare = replace(cli, environment={**cli.environment, "PATH": str(tmp_path)})
    ran = bare(*words.split())
    assert ran.code is ExitCode.ERROR
    assert "error[ProgramMissing]" in ran.err
    assert "apt-get install openssh-client" in ran.err
    assert cli("sim", "calls", "--op", "create", "--count").out == "1\n"
    ran = equipped(cli, tmp_path / "programs", "ssh", "scp")(*words.split())
    assert "starting it at $0.20/h" in ran.err
    assert cli("sim", "calls", "--op", "create", "--count").out == "2\n"


@dataclass(frozen=True, kw_only=True)
class Missing:
    """A program that isn't there: what of the provider's settings or on PATH says so, and what the plan says."""

    settings: str = ""
    there: tuple[str, ...] = ("ssh", "sshd")
    said: str
    mends: str


@pytest.mark.parametrize(
    "one",
    [
        Missing(settings=", sshd: /nowhere/sshd", said="sshd is not installed", mends="apt-get install openssh-server"),
        Missing(there=("sshd",), said="The ssh client is not on PATH", mends="apt-get install openssh-client"),
    ],
    ids=["sshd", "ssh"],
)
def test_a_program_a_machine_needs_is_missed_before_anybody_is_asked(empty_cli: CommandLine, tmp_path: Path, one: Missing) -> None:
    """On a terminal, where the answer would be yes."""
    provider = f"{{type: local, isolation: 'off'{one.settings}}}"
    empty_cli.write("nodusctl.yaml", f"project: lab\nproviders:\n  here: {provider}\n")
    empty_cli.write("ws.yaml", LAB.replace("{cpu: 4, memory: 16Gi}", "{cpu: 1, memory: 64Mi}"))
    here = equipped(empty_cli, tmp_path / "programs", *one.there)
    assert here("plan").out.count("can't start a machine") == 1
    ran = here("apply", stdin="y\n", on_terminal=True)
    assert ran.code is ExitCode.BLOCKED
    assert "Apply this plan?" not in ran.err
    assert "blocked[ProviderNotReady]" in ran.out
    assert one.said in ran.out
    assert one.mends in ran.out


def test_a_name_near_to_none_gets_the_list(cli: CommandLine) -> None:
    assert cli("apply", "--yes").code is ExitCode.DONE
    assert "nodusctl get ws" in cli("ssh", "zzz").err


@pytest.mark.parametrize(
    ("written", "fix"),
    [
        ("512MB", "Write 512Mi."),
        ("512Mb", "Write 512Mi."),
        ("512mi", "Write 512Mi."),
        ("512 MiB", "Write 512Mi."),
        ("512m", "Write 512Mi: m stands for thousandths."),
        ("512", "Write 512Mi: without a unit it counts bytes."),
        ("16g", "Write 16Gi."),
        ("16 GB", "Write 16Gi."),
        ("0.5GB", "Write 0.5Gi."),
        ("1,5Gi", "Write 1.5Gi."),
        ("1.5tb", "Write 1.5Ti."),
        ("lots", "Write a number of cores such as 4"),
    ],
)
def test_a_size_with_another_unit_is_put_right(cli: CommandLine, written: str, fix: str) -> None:
    document = cli.folder / "ws.yaml"
    document.write_text(document.read_text().replace("16Gi", f'"{written}"', 1))
    ran = cli("validate")
    assert ran.code is ExitCode.ERROR
    assert fix in ran.err


@pytest.mark.parametrize("written", ["512Mi", "0.5Gi", "512M"])
def test_a_right_size_is_taken(cli: CommandLine, written: str) -> None:
    document = cli.folder / "ws.yaml"
    document.write_text(document.read_text().replace("16Gi", written, 1))
    assert cli("validate").code is ExitCode.DONE


@pytest.mark.parametrize(
    ("before", "after", "fix"),
    [
        ("  idleTimeout: 1h", "  idleTimeout:1h", "Put a space after the colon of idleTimeout in line 9."),
        ("  idleTimeout: 1h", "  idleTimeout 1h", "Put a colon and a space after idleTimeout in line 9"),
        ("  idleTimeout: 1h", "\tidleTimeout: 1h", "Replace the tab with spaces."),
        ('maxCostUSD: "5.00"', 'maxCostUSD: "5.00', "Close the quote that begins in line 10."),
        ("tools: [SSH]", "tools: [SSH", "Close the list that begins in line 8 with ]"),
        ("  tools: [SSH]", "  tools:\n    -SSH", "Put a space after each dash."),
        ("  tools: [SSH]", "  tools: [SSH Jupyter]", "Put a comma between them: SSH, Jupyter"),
        ("{cpu: 4, memory: 16Gi}", "{cpu:4, memory: 16Gi}", "Put a space after the colon of cpu."),
        ("{cpu: 4, memory: 16Gi}", "cpu:4", "Put a space after the colon of cpu."),
        ("spec: {size: 50Gi}", "spec: 50Gi", "Write its fields into the lines below it"),
    ],
)
def test_a_slip_of_yaml_gets_the_fix_that_fits_it(cli: CommandLine, before: str, after: str, fix: str) -> None:
    assert before in LAB
    cli.write("ws.yaml", LAB.replace(before, after))
    ran = cli("plan")
    assert ran.code is ExitCode.ERROR
    assert fix in " ".join(ran.err.split())
