"""What the walls of a machine keep in and out: files, processes, limits; as root and as an ordinary user."""

from __future__ import annotations

import json
import os
import shlex
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest
from machine_kit import MachineKit

from nodus_providers.local import probing
from nodus_providers.local.probing import host_controllers
from nodusctl.provider.agent import AgentCommand
from nodusctl.provider.machines import Machine
from nodusctl.provider.replies import Refused
from nodusctl.testing.conformance_hooks import done

pytestmark = pytest.mark.local


def said(kit: MachineKit, machine: Machine, command: str) -> str:
    ended = subprocess.run(kit.login(machine, command), capture_output=True, text=True, timeout=60, check=False)
    return ended.stdout + ended.stderr


def test_the_computers_files_and_processes_are_out_of_sight(kit: MachineKit) -> None:
    machine = kit.launched()
    (kit.tmp_path / "private").write_text("of this computer")
    assert "No such file" in said(kit, machine, f"cat {kit.tmp_path}/private")
    assert str(kit.tmp_path) not in said(kit, machine, "cat /proc/*/cmdline /proc/*/environ 2>/dev/null | tr '\\0' ' '")
    for place in ("/usr/x", "/etc/x", "/x", "/run/nodus/run/x", "/run/nodus/vault/x", "/run/secrets/x"):
        assert "Read-only" in said(kit, machine, f"touch {place}"), place
    assert said(kit, machine, "hostname; id -un; ls /home").split() == ["nodus-lab", "nodus", "nodus"]


def test_each_machine_has_a_tmp_of_its_own_that_goes_with_it(kit: MachineKit) -> None:
    first, second = kit.launched("nodus-1"), kit.launched("nodus-2")
    said(kit, first, "touch /tmp/of-the-first")
    assert "of-the-first" not in said(kit, second, "ls /tmp")
    assert not Path("/tmp/of-the-first").exists()


def test_what_is_pushed_is_found_under_run_secrets_readable_by_its_owner_only(kit: MachineKit) -> None:
    machine = kit.launched()
    done(kit.ask(machine, AgentCommand.SECRETS, files={"run/secrets/wandb/key": "CANARY"}))
    assert said(kit, machine, "stat -c %a /run/secrets/wandb/key; cat /run/secrets/wandb/key").split() == ["400", "CANARY"]


def test_a_required_sandbox_that_cannot_be_is_a_refusal(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(probing, "_SYSTEM_PATH", "")
    probing._tried.cache_clear()
    kit = MachineKit(tmp_path, isolation="required")
    refused = kit.provider.launch(kit.a_request())
    probing._tried.cache_clear()
    assert isinstance(refused, Refused)
    assert refused.code == "Unsupported"
    assert "bubblewrap is not installed" in refused.message


@pytest.mark.skipif("memory" not in host_controllers().parents, reason="this user can't make memory cgroups")
@pytest.mark.parametrize("isolation", ["auto", "off"])
def test_a_machine_over_its_memory_loses_the_process_that_asked_for_too_much_and_lives_on(tmp_path: Path, isolation: str) -> None:
    kit = MachineKit(tmp_path, isolation=isolation)
    try:
        machine = kit.launched(memory_bytes=256 * 2**20)
        greedy = kit.login(machine, "head -c 700000000 /dev/zero | tail -c 600000000 | wc -c")
        ended = subprocess.run(greedy, capture_output=True, text=True, timeout=60, check=False)
        assert ended.stdout.strip() != "600000000"
        assert said(kit, machine, "echo alive").strip() == "alive"
        groups = list(Path(host_controllers().parents["memory"].folder).glob(f"nodus-{machine.id}"))
        assert len(groups) == 1
        kit.release(machine.id)
        assert not groups[0].exists()
    finally:
        kit.clear()


@pytest.mark.skipif("cpu" not in host_controllers().parents, reason="this user can't make cpu cgroups")
def test_a_machine_gets_its_share_of_a_core_and_no_more(kit: MachineKit) -> None:
    machine = kit.launched(cpu_milli=300)
    busy = "timeout 2 sh -c 'while :; do :; done'; cat /proc/self/stat >/dev/null; times | tail -1"
    minutes, seconds = said(kit, machine, f"bash -c {shlex.quote(busy)}").split()[0].rstrip("s").split("m")
    assert int(minutes) * 60 + float(seconds) < 1.2


def test_limits_say_how_they_are_enforced(kit: MachineKit) -> None:
    machine = kit.launched(memory_bytes=2**30, cpu_milli=1000)
    enforced = json.loads((kit.root / "machines" / machine.id / "boot.json").read_text())["limits"]["enforced"]
    assert set(enforced) == {"memory", "cpu", "pids"}
    assert all(how for how in enforced.values())


_AS_ORDINARY = """
import shlex, subprocess, sys
from pathlib import Path
sys.path.insert(0, {kit_folder!r})
from machine_kit import MachineKit
from nodusctl.provider.agent import AgentCommand
from nodusctl.provider.requests import Egress
from nodusctl.testing.conformance_hooks import done
kit = MachineKit(Path({folder!r}))
assert kit.is_isolated, kit.provider._isolation.abilities
try:
    machine = kit.launched(egress=Egress(policy="AllowList", allow=("mirror.test",)), memory_bytes=2**30)
    assert done(kit.ask(machine, AgentCommand.READY)).ready_at is not None
    plain = kit.login(machine)
    typed = subprocess.run(["script", "-qec", shlex.join([plain[0], "-tt", *plain[1:]]), "/dev/null"], input="tty; id -un; exit\\n",
                           capture_output=True, text=True, timeout=60).stdout
    print("TERMINAL", "/dev/pts/" in typed, "nodus" in typed)
    ran = lambda command: subprocess.run(kit.login(machine, command), capture_output=True, text=True, timeout=60).stdout.strip()
    print("DENIED", ran("curl -sS -m 30 -o /dev/null -w '%{{http_code}}' http://elsewhere.test/"))
    print("QUIET", done(kit.ask(machine, AgentCommand.QUIESCE, grace_seconds=1)).is_quiet)
    kit.release(machine.id)
    print("LEFT", kit.running(machine.id))
finally:
    kit.clear()
"""


def _everybody_reads(path: str) -> bool:
    as_nobody = ["setpriv", "--reuid", "65534", "--regid", "65534", "--clear-groups"]
    return subprocess.run([*as_nobody, "test", "-r", path, "-a", "-x", path], check=False).returncode == 0


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can become an ordinary user to try it")
def test_an_ordinary_user_gets_the_same_walls_and_terminals(tmp_path: Path) -> None:
    # The interpreter must be one that everybody can read: the system's own, with this environment's packages.
    python = "/usr/bin/python3"
    kit_folder = str(Path(__file__).parents[1] / "unit" / "local")
    for path in (python, sys.prefix, kit_folder):
        if not _everybody_reads(path):
            pytest.skip(f"an ordinary user can't read {path}")
    folder = Path(tempfile.mkdtemp(prefix="ordinary-", dir="/tmp"))  # pytest's own folders are closed to other users
    os.chown(folder, 65534, 65534)
    here = Path(__file__).parents[2]
    paths = ":".join([str(here), str(here / "providers"), *(path for path in sys.path if "site-packages" in path)])
    script = _AS_ORDINARY.format(kit_folder=kit_folder, folder=str(folder))
    ended = subprocess.run(
        ["setpriv", "--reuid", "65534", "--regid", "65534", "--clear-groups", python, "-B", "-c", script],
        env={"PYTHONPATH": paths, "PATH": "/usr/bin:/bin:/usr/sbin", "HOME": str(folder)},
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
        cwd="/",
    )
    shutil.rmtree(folder)
    assert ended.returncode == 0, ended.stderr[-2000:]
    assert ended.stdout.splitlines() == ["TERMINAL True True", "DENIED 403", "QUIET True", "LEFT {}"]
