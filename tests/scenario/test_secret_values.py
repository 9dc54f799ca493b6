"""Secrets from the command line: where values come from, which version an Attempt gets, and that no value is ever seen (case 12)."""

from __future__ import annotations

import base64
import json
import os
from pathlib import Path
from urllib.parse import quote

import pytest
from support.commands import NOW, SIMULATED, CommandLine, Ran

from nodusctl.base.exits import ExitCode

ENV, FILE, COMMAND, LITERAL, BY_HAND = (f"c4nary/{place}=Zq8+{place}" for place in ("env", "file", "command", "literal", "hand"))
CANARIES = (ENV, FILE, COMMAND, LITERAL, BY_HAND)
SECRET = """apiVersion: nodus.dev/v1
kind: Secret
metadata: {{name: wandb}}
spec:
  valueFrom:
    FROM_ENV: {{env: WHERE_IT_IS}}
    FROM_FILE: {{file: {file}}}
    FROM_COMMAND: {{command: [cat, {command}]}}
"""
LAB = """apiVersion: nodus.dev/v1
kind: Workspace
metadata: {name: lab}
spec:
  image: nodus/workspace-cpu
  resources: {cpu: 4, memory: 16Gi}
  ephemeral: true
  tools: [SSH]
  secrets: [wandb, {name: other}]
  env:
  - {name: KEY, valueFrom: {secretKeyRef: {name: wandb, key: FROM_ENV}}}
"""


@pytest.fixture
def cli(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> CommandLine:
    """A project whose secrets come from everywhere a value can come from; the sources lie outside the folders searched."""
    folder, outside = tmp_path / "searched" / "lab", tmp_path / "sources"
    folder.mkdir(parents=True)
    outside.mkdir()
    (outside / "file").write_text(FILE)
    (outside / "command").write_text(COMMAND + "\n")
    for name in ("DATA", "STATE", "CACHE", "CONFIG"):
        monkeypatch.setenv(f"XDG_{name}_HOME", str(tmp_path / "searched" / name.lower()))
    monkeypatch.setenv("HOME", str(tmp_path / "searched" / "home"))
    commands = CommandLine(folder, {"WHERE_IT_IS": ENV, "PATH": os.environ["PATH"]})
    commands.write("nodusctl.yaml", SIMULATED.replace("project: lab\n", "project: lab\nspecs: ['*.yaml', '../../sources/*.yaml']\n"))
    commands.write("lab.yaml", LAB)
    commands.write("wandb.yaml", SECRET.format(file=outside / "file", command=outside / "command"))
    assert commands("sim", "init", "--now", NOW).code == 0
    assert commands("secret", "set", "other", "BY_HAND", stdin=BY_HAND + "\n").code == 0
    return commands


def done(ran: Ran) -> str:
    assert ran.code == ExitCode.DONE, ran.out + ran.err
    return ran.out + ran.err


def spellings(value: str) -> set[str]:
    raw = value.encode()
    return {value, base64.b64encode(raw).decode().rstrip("="), base64.urlsafe_b64encode(raw).decode().rstrip("="), quote(value, safe="")}


def leaks(texts: dict[str, bytes]) -> list[str]:
    return [f"{place}: {one}" for place, text in texts.items() for value in CANARIES for one in spellings(value) if one.encode() in text]


def bytes_below(folder: Path) -> dict[str, bytes]:
    return {str(path): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def document(cli: CommandLine, *words: str) -> dict:  # type: ignore[type-arg]
    return json.loads(cli("get", *words, "-o", "json").out)  # type: ignore[no-any-return]


def test_a_value_stands_in_no_file_and_in_no_output(cli: CommandLine) -> None:
    said = {
        "plan": done(cli("plan", "-o", "p.nodusplan")),
        "plan --json": done(cli("plan", "--json")),
        "show": done(cli("show", "p.nodusplan")),
        "show --json": done(cli("show", "p.nodusplan", "--json")),
        "show markdown": done(cli("show", "p.nodusplan", "--format", "markdown")),
        "apply --json": done(cli("apply", "p.nodusplan", "--json")),
        "refresh": done(cli("refresh-secrets", "lab", "--json")),
        "secret set": done(cli("secret", "set", "wandb", "BY_HAND", "--json", stdin=BY_HAND)),
        "get": done(cli("get", "ws,sec,att", "-o", "yaml")),
        "describe": done(cli("describe", "ws/lab")) + done(cli("describe", "secret/wandb")) + done(cli("describe", "ws/lab", "--json")),
        "state": done(cli("state", "show", "--json")),
        "stop": done(cli("stop", "lab", "--json")),
    }
    assert leaks({name: text.encode() for name, text in said.items()}) == []
    found = bytes_below(cli.folder.parent)
    assert any(path.endswith("state.db") for path in found) and any("/sim/" in path for path in found)
    assert leaks(found) == []


@pytest.mark.parametrize(("operation", "nth"), [("agent", "4"), ("create", "1")], ids=["the push of secrets", "the launch"])
def test_a_provider_whose_error_echoes_the_request_leaks_nothing(cli: CommandLine, operation: str, nth: str) -> None:
    echo = f"error Unavailable message refused: {{request}} and {ENV} and {BY_HAND}"
    done(cli("sim", "fault", "add", "--op", operation, "--nth", nth, "--times", "50", "--effect", echo))
    applied = cli("apply", "--yes", "--json", "--timeout", "5m")
    assert applied.code != ExitCode.DONE
    said = (
        applied.out
        + applied.err
        + "".join(
            ran.out + ran.err
            for ran in (cli("describe", "ws/lab"), cli("get", "ws", "-o", "yaml"), cli("plan", "--json"), cli("get", "att", "-o", "json"))
        )
    )
    assert "[redacted]" in said, "the echo arrived, without the values"
    assert leaks({"output": said.encode(), **_without_scripted_faults(cli)}) == []


def _without_scripted_faults(cli: CommandLine) -> dict[str, bytes]:
    """The world's file holds the fault as the test wrote it, canaries and all."""
    return {path: text for path, text in bytes_below(cli.folder.parent).items() if "/sim/" not in path}


def test_a_literal_value_is_taken_from_the_file_once_and_never_shown(cli: CommandLine) -> None:
    source = cli.folder.parent.parent / "sources" / "literal.yaml"
    source.write_text(f"apiVersion: nodus.dev/v1\nkind: Secret\nmetadata: {{name: lit}}\nspec: {{stringData: {{KEY: '{LITERAL}'}}}}\n")
    said = done(cli("plan", "-f", str(source))) + done(cli("apply", "-f", str(source), "--yes", "--json"))
    assert document(cli, "secret/lit")["status"]["version"] == 1
    assert leaks({"output": said.encode(), **bytes_below(cli.folder.parent)}) == []


def test_a_plan_after_apply_is_empty_and_another_value_is_one_new_version(cli: CommandLine) -> None:
    done(cli("apply", "--yes"))
    assert cli("plan", "--detailed-exitcode").code == ExitCode.DONE
    cli.environment = {**cli.environment, "WHERE_IT_IS": "another"}
    shown = cli("plan", "--detailed-exitcode")
    assert (shown.code, "value of FROM_ENV" in shown.out, "another" in shown.out) == (ExitCode.CHANGES, True, False)
    done(cli("apply", "--yes"))
    assert document(cli, "secret/wandb")["status"]["version"] == 2
    assert cli("plan", "--detailed-exitcode").code == ExitCode.DONE


def test_a_reviewed_plan_is_refused_where_its_source_gives_other_bytes_now(cli: CommandLine) -> None:
    done(cli("plan", "-o", "p.nodusplan"))
    cli.environment = {**cli.environment, "WHERE_IT_IS": "another"}
    refused = cli("apply", "p.nodusplan")
    assert refused.code == ExitCode.REFUSED
    assert "secret/wandb" in refused.err


def test_the_same_bytes_by_hand_are_no_new_version_and_others_are(cli: CommandLine) -> None:
    same, other = cli("secret", "set", "other", "BY_HAND", stdin=BY_HAND), cli("secret", "set", "other", "BY_HAND", stdin="changed")
    assert (same.out.strip(), other.out.strip()) == ("other@1 (the same value; no new version)", "other@2")


def test_a_key_set_by_hand_stays_though_no_file_writes_it(cli: CommandLine) -> None:
    done(cli("apply", "--yes"))
    done(cli("secret", "set", "wandb", "EXTRA", stdin="more"))
    assert cli("plan", "--detailed-exitcode").code == ExitCode.DONE
    assert document(cli, "secret/wandb")["status"]["keys"] == ["EXTRA", "FROM_COMMAND", "FROM_ENV", "FROM_FILE"]


def test_an_empty_value_and_a_wrong_name_are_refused_and_store_nothing(cli: CommandLine) -> None:
    assert cli("secret", "set", "other", "K", stdin="\n").code == ExitCode.ERROR
    assert cli("secret", "set", "other", "not a key", stdin="x").code == ExitCode.USAGE
    assert cli("secret", "set", "Not_A_Name", "K", stdin="x").code == ExitCode.USAGE
    assert cli("secret", "set", "ws/lab", "K", stdin="x").code == ExitCode.USAGE
    assert document(cli, "secret/other")["status"]["keys"] == ["BY_HAND"]


def test_what_is_shown_of_a_secret_can_be_applied_again_and_changes_nothing(cli: CommandLine) -> None:
    done(cli("apply", "--yes"))
    shown = cli("get", "secret/other", "-o", "yaml").out
    assert "BY_HAND: ''" in shown or 'BY_HAND: ""' in shown
    again = cli("plan", "--detailed-exitcode", "-f", "-", stdin=shown)
    assert again.code == ExitCode.DONE, again.out + again.err


def test_a_session_keeps_its_version_until_a_refresh_is_asked_for(cli: CommandLine) -> None:
    done(cli("apply", "--yes"))
    assert "secrets other@1, wandb@1" in done(cli("describe", "ws/lab"))
    done(cli("secret", "set", "other", "BY_HAND", stdin="changed"))
    done(cli("apply", "--yes"))
    assert "other@2" not in done(cli("describe", "ws/lab"))
    done(cli("refresh-secrets", "lab"))
    assert "secrets other@2, wandb@1" in done(cli("describe", "ws/lab"))


def test_a_login_key_that_changes_brings_no_other_secret_with_it(cli: CommandLine) -> None:
    done(cli("apply", "--yes"))
    done(cli("secret", "set", "other", "BY_HAND", stdin="changed"))
    key = "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIFYq0y9FhYz0Gv3eXwqkyJk9s7cJ7mV6l6q1yqWmXb0Q ada"
    cli.write("key.yaml", f"apiVersion: nodus.dev/v1\nkind: SSHKey\nmetadata: {{name: ada}}\nspec: {{publicKey: '{key}'}}\n")
    done(cli("apply", "--yes"))
    pushes = [line for line in done(cli("describe", "ws/lab")).splitlines() if "Pushed" in line]
    assert len(pushes) == 2 and all("other@1" in line for line in pushes)


def test_a_pinned_version_is_shown_with_its_number_and_stays_at_a_refresh(cli: CommandLine) -> None:
    cli.write("lab.yaml", LAB.replace("{name: other}", "{name: other, version: 1}"))
    assert "[wandb, other@1]" in done(cli("plan"))
    done(cli("apply", "--yes"))
    done(cli("secret", "set", "other", "BY_HAND", stdin="changed"))
    done(cli("refresh-secrets", "lab"))
    assert "other@2" not in done(cli("describe", "ws/lab"))


def test_a_version_that_is_not_stored_blocks_the_plan(cli: CommandLine) -> None:
    cli.write("lab.yaml", LAB.replace("{name: other}", "{name: other, version: 3}"))
    blocked = cli("plan")
    assert (blocked.code, "Secret other has no version 3; its latest is other@1." in blocked.out) == (ExitCode.BLOCKED, True)


def test_a_key_that_a_variable_names_and_no_version_has_blocks_the_plan(cli: CommandLine) -> None:
    cli.write("lab.yaml", LAB.replace("name: wandb, key: FROM_ENV", "name: other, key: NOT_THERE"))
    blocked = cli("plan")
    assert blocked.code == ExitCode.BLOCKED
    assert "Secret other has no key NOT_THERE; its keys: BY_HAND." in blocked.out


def test_a_kept_key_without_a_stored_value_blocks_the_plan(cli: CommandLine) -> None:
    cli.write("new.yaml", 'apiVersion: nodus.dev/v1\nkind: Secret\nmetadata: {name: new}\nspec: {data: {KEY: ""}}\n')
    blocked = cli("plan")
    assert blocked.code == ExitCode.BLOCKED
    assert "nothing is stored: KEY." in blocked.out
    assert "nodusctl secret set new KEY" in blocked.out


def test_a_source_that_gives_nothing_ends_the_apply_before_anything_is_changed(cli: CommandLine) -> None:
    cli.environment = {key: text for key, text in cli.environment.items() if key != "WHERE_IT_IS"}
    ended = cli("apply", "--yes")
    assert ended.code == ExitCode.ERROR
    assert "WHERE_IT_IS" in ended.err
    assert "lab" not in cli("get", "ws", "-o", "name").out


def test_a_refresh_of_a_workspace_that_does_not_run_is_refused(cli: CommandLine) -> None:
    done(cli("apply", "--yes"))
    done(cli("stop", "lab"))
    refused = cli("refresh-secrets", "lab")
    assert (refused.code, "nodusctl start lab" in refused.err) == (ExitCode.ERROR, True)
