"""``state mv``: another name, the same machine, home and money."""

from __future__ import annotations

import pytest
from support.commands import LAB, CommandLine

from nodusctl.base.exits import ExitCode
from nodusctl.base.ids import Address


@pytest.fixture
def applied(cli: CommandLine) -> CommandLine:
    assert cli("apply", "--yes").code is ExitCode.DONE
    return cli


def _get(cli: CommandLine, what: str, path: str) -> str:
    return cli("get", what, "-o", f"jsonpath={{{path}}}").out.strip()


def test_a_renamed_workspace_keeps_uid_machine_and_receipts(applied: CommandLine) -> None:
    uid = _get(applied, "ws/lab", ".metadata.uid")
    assert applied("state", "mv", "ws/lab", "studio", "--yes").code is ExitCode.DONE
    assert _get(applied, "ws/studio", ".metadata.uid") == uid
    assert _get(applied, "ws/studio", ".status.phase") == "Running"
    assert applied("get", "ws/lab").code is ExitCode.ERROR
    assert "lab-1" in applied("receipts", "studio").out
    assert applied("sim", "calls", "--op", "create", "--count").out == "1\n"


def test_with_the_files_renamed_too_nothing_is_left_to_do_and_a_stop_works(applied: CommandLine) -> None:
    applied("state", "mv", "workspace/lab", "workspace/studio", "--yes")
    applied("state", "mv", "vol/lab-home", "den", "--yes")
    applied.write("ws.yaml", LAB.replace("name: lab,", "name: studio,").replace("lab-home", "den"))
    plan = applied("plan", "--detailed-exitcode")
    assert plan.code is ExitCode.DONE, plan.out
    assert applied("stop", "studio").code is ExitCode.DONE
    assert _get(applied, "vol/den", ".status.revision") == "1"


def test_a_renamed_volume_takes_the_objects_that_name_it_along(applied: CommandLine) -> None:
    ran = applied("state", "mv", "vol/lab-home", "vol/den", "--yes")
    assert "workspace/lab, which follows" in ran.out
    assert _get(applied, "ws/lab", ".spec.volume") == "den"


def test_the_files_are_said_to_be_behind(applied: CommandLine) -> None:
    ran = applied("state", "mv", "ws/lab", "studio", "--yes")
    assert "warning[FilesBehind]" in ran.err
    assert "ws.yaml still says workspace/lab" in ran.err


@pytest.mark.parametrize(
    ("words", "code"),
    [
        (("ws/nobody", "ws/else"), "NotFound"),
        (("ws/lab", "vol/lab"), "Invalid"),
        (("ws/lab", "ws/Not_A_Name"), "Invalid"),
        (("ws/lab", "ws/other"), "AlreadyExists"),
    ],
)
def test_a_move_that_cannot_be_changes_nothing(applied: CommandLine, words: tuple[str, str], code: str) -> None:
    applied.write("other.yaml", LAB.split("---")[0].replace("name: lab,", "name: other,").replace("volume: lab-home", "ephemeral: true"))
    assert applied("apply", "--yes").code is ExitCode.DONE
    before = applied("state", "history").out
    ran = applied("state", "mv", *words, "--yes")
    assert ran.code is ExitCode.ERROR
    assert f"error[{code}]" in ran.err
    assert applied("state", "history").out == before


def test_without_a_terminal_yes_is_asked_for_and_a_no_changes_nothing(applied: CommandLine) -> None:
    assert applied("state", "mv", "ws/lab", "studio").code is ExitCode.USAGE
    ran = applied("state", "mv", "ws/lab", "studio", stdin="n\n", on_terminal=True)
    assert ran.code is ExitCode.ERROR
    assert applied("get", "ws/lab").code is ExitCode.DONE


def test_history_tells_each_operation_newest_first(applied: CommandLine) -> None:
    applied("state", "mv", "ws/lab", "studio", "--yes")
    lines = applied("state", "history").out.splitlines()[1:]
    assert [("mv" in line, "apply" in line) for line in lines] == [(True, False), (False, True)]
    assert len(applied("state", "history", "--limit", "1").out.splitlines()) == 2


def test_secrets_keys_and_pools_are_renamed_wherever_they_are_named() -> None:
    from nodusctl.engine.moving import _renamed

    spec = {
        "secrets": [{"name": "wandb"}, {"name": "other"}],
        "imagePullSecrets": ["wandb"],
        "env": [{"name": "A", "value": "wandb"}, {"name": "B", "valueFrom": {"secretKeyRef": {"name": "wandb", "key": "k"}}}],
        "sidecars": [{"name": "s", "env": [{"name": "C", "valueFrom": {"secretKeyRef": {"name": "wandb", "key": "k"}}}]}],
        "sshKeys": ["ana", "ben"],
        "placement": {"pool": "ours"},
    }
    renamed = _renamed(spec, Address("secret", "wandb"), Address("secret", "wb"))
    assert renamed["secrets"] == [{"name": "wb"}, {"name": "other"}]
    assert renamed["imagePullSecrets"] == ["wb"]
    assert renamed["env"][0]["value"] == "wandb"
    assert renamed["env"][1]["valueFrom"]["secretKeyRef"] == {"name": "wb", "key": "k"}
    assert renamed["sidecars"][0]["env"][0]["valueFrom"]["secretKeyRef"]["name"] == "wb"
    assert _renamed(spec, Address("sshkey", "ben"), Address("sshkey", "bea"))["sshKeys"] == ["ana", "bea"]
    assert _renamed(spec, Address("pool", "ours"), Address("pool", "mine"))["placement"] == {"pool": "mine"}
    assert _renamed(spec, Address("budget", "b"), Address("budget", "c")) == spec
