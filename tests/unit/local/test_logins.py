"""What a person finds on a local machine: a home, a terminal, file transfer, the pushed environment and secrets."""

from __future__ import annotations

import json
import shlex
import subprocess
from pathlib import Path

import pytest
from machine_kit import MachineKit

from nodusctl.provider.agent import AgentCommand
from nodusctl.remote.keys import OpenSshKeys
from nodusctl.testing.conformance_hooks import done

pytestmark = pytest.mark.local


def said(kit: MachineKit, words: list[str], **options: object) -> str:
    ended = subprocess.run(words, capture_output=True, text=True, timeout=60, check=False, **options)  # type: ignore[call-overload]
    return str(ended.stdout + ended.stderr)


@pytest.mark.parametrize("isolation", ["auto", "off"])
def test_a_folder_with_an_awkward_name_is_no_obstacle(tmp_path: Path, isolation: str) -> None:
    (tmp_path / 'it\'s 100%h "odd" $HOME').mkdir()
    kit = MachineKit(tmp_path / 'it\'s 100%h "odd" $HOME', isolation=isolation)
    try:
        disk = kit.a_disk()
        machine = kit.launched(disk=disk)
        assert done(kit.ask(machine, AgentCommand.READY)).ready_at is not None
        # The home's path is the awkward one; the person's key must lie elsewhere, because ssh itself can't name such a file.
        kit.person_path = tmp_path / "person"
        kit.person_path.touch(mode=0o600)
        kit.person_path.write_text(kit.person_key.private)
        kit.tmp_path = tmp_path
        assert subprocess.run(kit.login(machine, "pwd > where; echo $HOME >> where"), check=False).returncode == 0
        home = kit.provider.home_of(disk.id)
        assert (home / "where").read_text().splitlines() == [kit.home_seen(disk)] * 2
    finally:
        kit.clear()


def test_home_exit_status_words_and_terminal_are_as_expected(kit: MachineKit) -> None:
    disk = kit.a_disk()
    machine = kit.launched(disk=disk)
    home = kit.home_seen(disk)
    assert said(kit, kit.login(machine, "pwd; echo $HOME")).splitlines() == [home] * 2
    assert subprocess.run(kit.login(machine, "exit 7"), check=False).returncode == 7
    assert said(kit, kit.login(machine, "printf", "%s|", "a b", "c")) == "a b|c|"
    plain = kit.login(machine)
    lacks_terminal = not kit.is_isolated and any("Terminals" in finding.summary for finding in kit.provider.check())
    # Under script(1) the client has a terminal of its own and asks for one, as a person's does.
    typed = said(kit, ["script", "-qec", shlex.join(plain), "/dev/null"], input="tty; echo in $PWD; exit\n")
    assert f"in {home}" in typed
    assert ("/dev/pts/" in typed) != lacks_terminal


def test_files_are_copied_into_the_home(kit: MachineKit) -> None:
    disk = kit.a_disk()
    machine = kit.launched(disk=disk)
    (kit.tmp_path / "sent").write_text("content")
    words = kit.login(machine)
    options = [*words[1 : words.index("-p")], "-P", words[words.index("-p") + 1]]
    user_and_host = f"{words[words.index('-l') + 1]}@{words[-1]}"
    copied = subprocess.run(["scp", *options, str(kit.tmp_path / "sent"), f"{user_and_host}:received"], capture_output=True, check=False)
    assert copied.returncode == 0, copied.stderr
    assert (kit.provider.home_of(disk.id) / "received").read_text() == "content"


def test_secrets_and_environment_arrive_outside_any_disk_and_the_durable_host_key_replaces_the_first(kit: MachineKit) -> None:
    machine = kit.launched()
    durable = OpenSshKeys().new_key("durable")
    files = {
        "host_key": durable.private,
        "run/secrets/wandb/key": "CANARY-1",
        "environment": json.dumps({"TOKEN": "CANARY-2 with 'quotes'"}),
    }
    done(kit.ask(machine, AgentCommand.SECRETS, files=files))
    kit.host_key = durable
    seen = said(kit, kit.login(machine, 'cat "$NODUS_SECRETS/wandb/key"; echo; echo "$TOKEN"'))
    assert seen.splitlines() == ["CANARY-1", "CANARY-2 with 'quotes'"]
    if Path("/dev/shm").is_dir():
        texts = [path.read_bytes() for path in kit.root.rglob("*") if path.is_file()]
        assert not any(b"CANARY" in text or durable.private.encode() in text for text in texts)


def test_the_service_key_runs_one_command_whatever_it_asks_for(kit: MachineKit) -> None:
    machine = kit.launched()
    kit.person_path.write_text(kit.service_key.private)
    ended = subprocess.run(kit.login(machine, "cat /etc/passwd"), input="{}", capture_output=True, text=True, check=False)
    assert json.loads(ended.stdout)["error"]["code"] == "Invalid"
