"""One world, several processes: no machine is made twice, and a process that dies in a call leaves what the world accepted."""

from __future__ import annotations

import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

from nodusctl.provider.machines import Machine
from nodusctl.testing.provider_conformance import done

PROGRAM = """
import sys
from pathlib import Path
sys.path.insert(0, {tests!r})
from conftest import Sim
from nodusctl.base.clock import SystemWall
sim = Sim(Path({folder!r}), SystemWall())
{body}
"""


def start(folder: Path, body: str) -> subprocess.Popen[bytes]:
    program = PROGRAM.format(tests=str(Path(__file__).parent), folder=str(folder), body=body)
    return subprocess.Popen([sys.executable, "-c", program], stdout=subprocess.PIPE, stderr=subprocess.PIPE)


def test_processes_at_once_make_exactly_what_they_asked_for(tmp_path: Path, make_sim: Callable) -> None:
    body = """
shared = sim.launch_request(token="nodus-shared")
sim.provider.launch(shared)
for number in range(10):
    sim.launch(token=f"nodus-{tag}-{{number}}")
    sim.sleep(1)
"""
    processes = [start(tmp_path, body.replace("{tag}", str(tag)).replace("{{number}}", "{number}")) for tag in range(3)]
    for process in processes:
        _, complaints = process.communicate(timeout=60)
        assert process.returncode == 0, complaints.decode()
    sim = make_sim()
    machines = sim.provider.simulated_machines("", include_ended=True)
    assert len(machines) == 31
    assert len({machine.token for machine in machines}) == 31
    assert sim.count("create") == 33
    assert [call.sequence for call in sim.provider.calls()] == list(range(1, 34))


def test_a_process_killed_while_its_create_hangs_left_one_machine(tmp_path: Path, make_sim: Callable) -> None:
    sim = make_sim()
    sim.fault("create", "hang 60s", match="workspace/x")
    process = start(tmp_path, 'sim.launch("workspace/x", token="nodus-x")')
    deadline = time.monotonic() + 30
    while not sim.count("create", "workspace/x"):
        assert time.monotonic() < deadline
        assert process.poll() is None, process.communicate()[1].decode()
        time.sleep(0.02)
    process.send_signal(signal.SIGKILL)
    process.communicate(timeout=10)
    found = done(sim.provider.find("nodus-x"))
    assert isinstance(found, Machine)
    assert sim.count("create", "workspace/x") == 1
