"""The agent's own rules, on a machine's folder without a machine."""

from __future__ import annotations

import io
import json
import os
import stat
from pathlib import Path
from typing import Any

import pytest

from nodusctl.base.canonical import digest
from nodusctl.bootstrap.agent import activity, answers, door, edge, ending, judging, processes
from nodusctl.bootstrap.agent.layout import Layout
from nodusctl.remote.keys import OpenSshKeys

SERVICE, PERSON = (OpenSshKeys().new_key(name).public for name in ("service", "person"))


@pytest.fixture
def layout(tmp_path: Path) -> Layout:
    folder = tmp_path / "machine"
    for part in ("etc", "run", "vault/secrets"):
        (folder / part).mkdir(parents=True)
    boot = {
        "machine": "m-test-only",
        "boot_id": "boot",
        "edge_seconds": 60,
        "tools": ["SSH", "Jupyter"],
        "service_key": SERVICE,
        "home": str(folder),
        "user": "me",
        "python": "/usr/bin/python3",
        "vault": str(folder / "vault"),
        "sshd": {"program": "/none", "address": "127.0.0.1", "port": 0, "uses_pam": False, "options": {}, "library_path": ""},
    }
    (folder / "boot.json").write_text(json.dumps(boot))
    return Layout(str(folder))


def answer(layout: Layout, request: object) -> dict[str, Any]:
    sink = io.StringIO()
    assert answers.serve(layout, io.StringIO(json.dumps(request)), sink) == 0
    return dict(json.loads(sink.getvalue()))


def test_an_edge_counts_down_and_a_renewal_moves_it_both_ways(layout: Layout) -> None:
    edge.arm(layout, 100)
    assert 90 < edge.remaining_seconds(layout) <= 100
    assert answer(layout, {"command": "renew", "edge_seconds": 5000})["remaining_seconds"] in range(4990, 5001)
    assert answer(layout, {"command": "renew", "edge_seconds": 30})["remaining_seconds"] in range(20, 31)


def test_a_renewal_may_change_the_idle_timeout_alone_and_says_what_stands(layout: Layout) -> None:
    edge.arm(layout, 100)
    changed = answer(layout, {"command": "renew", "idle_timeout_seconds": 600})
    assert (changed["idle_timeout_seconds"], changed["idle_remaining_seconds"] in range(590, 601)) == (600, True)
    assert changed["remaining_seconds"] in range(90, 101)
    never = answer(layout, {"command": "renew", "idle_timeout_seconds": 0, "edge_seconds": 50})
    assert (never["idle_timeout_seconds"], never["idle_remaining_seconds"]) == (None, None)
    assert answer(layout, {"command": "facts"})["idle_timeout_seconds"] is None


def test_facts_are_kept_newest_first_once_each_and_outlive_a_keeper(layout: Layout) -> None:
    activity.begin(layout)
    now = edge.boot_clock()
    for number, detail in enumerate(["vim", "train", "make", "vim"]):
        activity.note(layout, [judging.Fact("ssh", detail, now + number)])
    assert [fact["detail"] for fact in answer(layout, {"command": "facts"})["activities"]] == ["vim", "make", "train"]
    activity.begin(Layout(layout.folder))
    assert len(answer(layout, {"command": "facts"})["activities"]) == 3


def test_use_and_readiness_of_another_boot_say_nothing_of_idleness(layout: Layout) -> None:
    activity.change_timeout(layout, 600)
    activity.begin(layout)
    written = Path(layout.activity_file).read_text()
    Path(layout.activity_file).write_text(written.replace(edge.kernel_boot_id(), "another"))
    remaining = activity.idle_remaining_seconds(layout)
    assert remaining is not None
    assert 590 <= remaining <= 600


@pytest.mark.parametrize("seconds", [float("inf"), float("nan")])
def test_an_edge_is_finite(layout: Layout, seconds: float) -> None:
    with pytest.raises(ValueError, match="finite"):
        edge.arm(layout, seconds)


def test_a_written_reason_to_end_is_the_first_one(layout: Layout) -> None:
    Path(layout.end_note_file).write_text(json.dumps({"reason": "idle", "detail": "since noon", "decided_at": "then"}))
    assert ending.end(layout, ending.Reason("released"), 0, set()) == 0
    ended = json.loads(Path(layout.ended_file).read_text())
    assert (ended["reason"], ended["detail"]) == ("idle", "since noon")


def test_no_edge_and_an_edge_of_another_boot_are_due_at_once(layout: Layout) -> None:
    assert edge.remaining_seconds(layout) == 0
    edge.arm(layout, 100)
    written = Path(layout.edge_file).read_text()
    Path(layout.edge_file).write_text(written.replace(edge.kernel_boot_id(), "another"))
    assert edge.remaining_seconds(layout) == 0


def test_pushed_files_are_private_and_their_digest_is_read_back_from_disk(layout: Layout) -> None:
    files = {"run/secrets/wandb/key": "s3cret", "authorized_keys": PERSON + "\n", "environment": '{"A": "it\'s"}'}
    said = answer(layout, {"command": "secrets", "files": files})
    assert said["pushed_digest"] == digest(files)
    assert said["has_secrets"]
    modes = {path.name: stat.S_IMODE(path.stat().st_mode) for path in Path(layout.folder).rglob("*") if path.is_file()}
    assert (modes["key"], modes["environment.sh"], modes["authorized_keys"]) == (0o400, 0o400, 0o600)
    Path(layout.vault_path("secrets", "wandb", "key")).chmod(0o600)
    Path(layout.vault_path("secrets", "wandb", "key")).write_text("tampered")
    assert answer(layout, {"command": "ready"})["pushed_digest"] != digest(files)


@pytest.mark.parametrize(
    "request_",
    [
        {"command": "secrets", "files": {"run/secrets/../../etc/passwd": "x"}},
        {"command": "secrets", "files": {"/etc/passwd": "x"}},
        {"command": "secrets", "files": {"run/secrets/": "x"}},
        {"command": "secrets", "files": {"authorized_keys": 'command="rm -rf /" ssh-ed25519 AAAA'}},
        {"command": "secrets", "files": {"environment": '{"A;rm": "x"}'}},
        {"command": "renew", "edge_seconds": 0},
        {"command": "renew", "edge_seconds": "60"},
        {"command": "renew"},
        {"command": "renew", "edge_seconds": True},
        {"command": "renew", "idle_timeout_seconds": -1},
        {"command": "renew", "idle_timeout_seconds": 2.5},
        {"command": "renew", "edge_seconds": 60, "idle_timeout_seconds": "1h"},
        {},
        [],
    ],
)
def test_a_wrong_request_is_refused_as_invalid_and_changes_nothing(layout: Layout, request_: object) -> None:
    assert answer(layout, request_)["error"]["code"] == "Invalid"
    assert not Path(layout.edge_file).exists()
    assert not answer(layout, {"command": "ready"})["has_secrets"]


def test_an_unknown_command_is_unsupported(layout: Layout) -> None:
    assert answer(layout, {"command": "shell"})["error"]["code"] == "Unsupported"


def test_the_service_key_gets_one_command_and_a_person_a_session(layout: Layout) -> None:
    Path(layout.person_keys_file).write_text(f"# mine\n\n{PERSON}\n")
    door.write_admitted(layout)
    service, person = Path(layout.admitted_file).read_text().splitlines()
    assert service.startswith("restrict,command=")
    assert "serve-command" in service
    assert service.endswith(door.key_of(SERVICE))
    assert person.startswith('command="exec /bin/sh ')
    assert person.endswith(door.key_of(PERSON))


def test_after_quiesce_only_the_service_key_is_let_in_and_nothing_is_pushed(layout: Layout) -> None:
    Path(layout.person_keys_file).write_text(PERSON)
    assert answer(layout, {"command": "quiesce", "grace_seconds": 0})["is_quiet"]
    assert len(Path(layout.admitted_file).read_text().splitlines()) == 1
    assert answer(layout, {"command": "secrets", "files": {"authorized_keys": PERSON}})["error"]["code"] == "Conflict"


def test_a_tool_that_does_not_answer_keeps_the_machine_from_being_ready(layout: Layout) -> None:
    said = answer(layout, {"command": "ready"})
    assert [(tool["name"], tool["has_answered"]) for tool in said["tools"]] == [("SSH", False), ("Jupyter", False)]
    assert said["ready_at"] is None


def test_a_pid_that_another_process_took_over_is_not_the_recorded_one(layout: Layout) -> None:
    Path(layout.keeper_file).write_text(json.dumps(processes.identity(os.getpid())))
    assert processes.recorded(layout.keeper_file) is not None
    Path(layout.keeper_file).write_text(json.dumps({**processes.identity(os.getpid()), "start": 1}))
    assert processes.recorded(layout.keeper_file) is None
