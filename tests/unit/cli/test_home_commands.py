"""``home`` on the command line: what it prints, what it asks, and how it ends."""

from __future__ import annotations

import json

import pytest
from support.commands import CommandLine

from nodusctl.base.exits import ExitCode


@pytest.fixture
def saved(cli: CommandLine) -> CommandLine:
    """Two revisions, stopped."""
    for words in (("apply", "--yes"), ("stop", "lab"), ("start", "lab"), ("stop", "lab")):
        assert cli(*words).code == ExitCode.DONE
    return cli


def test_revisions_are_listed_by_workspace_and_by_volume(saved: CommandLine) -> None:
    shown = saved("home", "list", "lab").out
    assert [line.split()[0] for line in shown.splitlines()[1:3]] == ["1", "2"]
    assert "latest, the disk" in shown
    assert shown.splitlines()[-1] == "volume/lab-home: the disk is revision 2."
    assert saved("home", "list", "vol/lab-home").out == shown


def test_a_restore_asks_first_and_says_no_to_no_terminal(saved: CommandLine) -> None:
    assert saved("home", "restore", "lab", "--revision", "1").code == ExitCode.USAGE
    refused = saved("home", "restore", "lab", "--revision", "1", stdin="n\n", on_terminal=True)
    assert (refused.code, "revision 2 -> revision 1" in refused.out) == (ExitCode.ERROR, True)
    assert "the disk is revision 2" in saved("home", "list", "lab").out
    assert saved("home", "restore", "lab", "--revision", "1", stdin="y\n", on_terminal=True).code == ExitCode.DONE
    assert "the disk is revision 1" in saved("home", "list", "lab").out
    assert "message: the disk is revision 1" in saved("get", "vol/lab-home", "-o", "yaml").out


def test_a_restore_in_json_is_a_plan_with_its_hash_and_a_result(saved: CommandLine) -> None:
    lines = [json.loads(line) for line in saved("home", "restore", "lab", "--revision", "1", "--yes", "--json").out.splitlines()]
    plan = next(line for line in lines if line["type"] == "plan")
    assert [(one["verb"], one["mark"], one["restoresRevision"], one["facts"]["disk"]) for one in plan["actions"]] == [
        ("restore", "<<", 1, "2")
    ]
    assert len(plan["planHash"]) == 64
    assert lines[-1] == {"type": "exit", "code": 0, "name": "done"}


def test_what_is_shown_of_a_restored_home_can_be_applied_again(saved: CommandLine) -> None:
    saved("home", "restore", "lab", "--revision", "1", "--yes")
    shown = saved("get", "vol/lab-home", "-o", "yaml").out
    assert saved("plan", "-f", "-", "--detailed-exitcode", stdin=shown).code == ExitCode.DONE


def test_pruning_drops_the_oldest_and_there_is_nothing_to_ask_where_nothing_goes(saved: CommandLine) -> None:
    assert "No changes." in saved("home", "prune", "lab", on_terminal=True).out
    assert saved("home", "prune", "lab", "--keep", "1", "--yes").code == ExitCode.DONE
    facts = json.loads(saved("home", "list", "lab", "--json").out.splitlines()[1])
    assert ([one["number"] for one in facts["revisions"]], facts["diskRevision"]) == ([2], 2)


def test_a_platform_that_cannot_read_a_revision_again_says_so(saved: CommandLine) -> None:
    ended = saved("home", "verify", "lab")
    assert (ended.code, "error[Unsupported]" in ended.err) == (ExitCode.ERROR, True)


def test_a_name_nobody_knows_is_an_error(cli: CommandLine) -> None:
    assert cli("home", "list", "nobody").code == ExitCode.ERROR
