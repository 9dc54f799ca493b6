"""Whether a holder still runs, told from pid, start time and boot."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from nodusctl.ports.claims import Holder, Liveness
from nodusctl.store import holders
from nodusctl.store.holders import boot_id, liveness, shown, this_holder

ME = this_holder("nodusctl apply")
BOOT, NAMESPACE, MACHINE = ME.boot_id.split("/")
EARLIER = "0b00t000-0000-4000-8000-000000000001"


def test_this_process_is_alive() -> None:
    assert (ME.pid, ME.host, ME.boot_id) == (os.getpid(), socket.gethostname(), boot_id())
    assert ME.start_ticks > 0
    assert liveness(ME) is Liveness.ALIVE
    assert shown(ME) == f"{ME.user}@{ME.host} pid {ME.pid}"


@pytest.mark.parametrize(
    ("holder", "expected"),
    [
        pytest.param(replace(ME, start_ticks=ME.start_ticks + 1), Liveness.DEAD, id="the pid was given to another process"),
        pytest.param(replace(ME, boot_id="an earlier boot"), Liveness.DEAD, id="the computer was started again"),
        pytest.param(replace(ME, pid=2**22 + 1), Liveness.DEAD, id="nobody has the pid"),
        pytest.param(replace(ME, host="elsewhere", boot_id="its boot"), Liveness.UNKNOWN, id="another host"),
        pytest.param(replace(ME, host="elsewhere", boot_id="", pid=2**22 + 1), Liveness.UNKNOWN, id="another host, boot not known"),
        pytest.param(replace(ME, boot_id=BOOT), Liveness.ALIVE, id="written by an older version"),
        pytest.param(replace(ME, boot_id=f"{BOOT}/1/{MACHINE}"), Liveness.UNKNOWN, id="a container of this computer, with pids of its own"),
        pytest.param(replace(ME, boot_id=f"{EARLIER}/{NAMESPACE}/another"), Liveness.UNKNOWN, id="another computer of the same name"),
        pytest.param(replace(ME, boot_id=f"{EARLIER}/{NAMESPACE}/"), Liveness.UNKNOWN, id="same name, and nobody knows which computer"),
        pytest.param(replace(ME, host="renamed"), Liveness.ALIVE, id="this boot under a new host name"),
        pytest.param(replace(ME, boot_id="", start_ticks=0), Liveness.ALIVE, id="only the pid is known"),
    ],
)
def test_liveness(holder: Holder, expected: Liveness) -> None:
    assert liveness(holder) is expected


def test_an_ended_process_nobody_has_reaped_is_dead() -> None:
    child = subprocess.Popen([sys.executable, "-c", "import sys; sys.stdin.read()"], stdin=subprocess.PIPE)
    holder = replace(ME, pid=child.pid, start_ticks=0)
    assert liveness(holder) is Liveness.ALIVE
    child.kill()
    os.waitid(os.P_PID, child.pid, os.WEXITED | os.WNOWAIT)
    assert liveness(holder) is Liveness.DEAD
    child.communicate()


def test_a_computer_that_was_started_again_knows_its_own(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    (tmp_path / "machine-id").write_text("4f1c0a0b5b7c4a5e9d6a3c2b1a0f9e8d\n")
    monkeypatch.setattr(holders, "_MACHINE_ID", tmp_path / "machine-id")
    holders.boot_id.cache_clear()
    here = holders.boot_id()
    machine = here.rpartition("/")[2]
    assert len(machine) == 16
    assert "4f1c0a0b" not in here
    earlier = replace(ME, boot_id=f"{EARLIER}/{NAMESPACE}/{machine}")
    assert liveness(earlier) is Liveness.DEAD
    assert liveness(replace(earlier, host="copied-disk")) is Liveness.UNKNOWN
    holders.boot_id.cache_clear()
