"""Whether a holder still runs, told from pid, start time and boot."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
from dataclasses import replace

import pytest

from nodusctl.ports.claims import Holder, Liveness
from nodusctl.store.holders import boot_id, liveness, shown, this_holder

ME = this_holder("nodusctl apply")


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
