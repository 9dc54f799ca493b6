"""What a look reads: the tools' own counters, the kernel's sockets, the cards, a process's name."""

from __future__ import annotations

import os
import socket
import subprocess
import time
from pathlib import Path

import pytest

from nodusctl.bootstrap.agent import graphics, looking, sockets, tool_use

# As JupyterLab 4.6 says it, with a page open that nobody touches for five minutes.
OPEN_PAGE = """
http_request_duration_seconds_count{handler="jupyterlab_server.workspaces_handler.WorkspacesHandler",method="PUT",status_code="204"} 25.0
http_request_duration_seconds_count{handler="jupyter_server.services.contents.handlers.ContentsHandler",method="GET",status_code="200"} 25.0
http_request_duration_seconds_count{handler="jupyter_server.services.kernels.handlers.MainKernelHandler",method="GET",status_code="200"} 9.0
http_request_duration_seconds_count{handler="jupyter_server.services.api.handlers.APIStatusHandler",method="GET",status_code="200"} 90.0
http_request_duration_seconds_count{handler="jupyter_server.services.events.handlers.SubscribeWebsocket",method="GET",status_code="101"} 1.0
"""
COUNT = 'http_request_duration_seconds_count{{handler="jupyter_server.{}",method="{}",status_code="{}"}} {}\n'


def test_an_open_page_a_probe_and_a_stranger_are_no_requests_by_people() -> None:
    refused = COUNT.format("services.contents.handlers.ContentsHandler", "PUT", "403", "40.0")
    assert tool_use.requests_by_people(OPEN_PAGE + refused) == 0


@pytest.mark.parametrize(
    ("handler", "method"),
    [
        ("services.contents.handlers.ContentsHandler", "PUT"),
        ("services.kernels.handlers.MainKernelHandler", "POST"),
        ("x.LabHandler", "GET"),
        ("files.handlers.FilesHandler", "GET"),
    ],
)
def test_saving_starting_opening_and_fetching_are_requests_by_people(handler: str, method: str) -> None:
    assert tool_use.requests_by_people(OPEN_PAGE + COUNT.format(handler, method, "201", "2.0")) == 2


def test_a_kernel_counts_by_when_it_last_computed_and_a_busy_one_always() -> None:
    idle = {"id": "k", "name": "python3", "last_activity": "2026-11-29T18:16:42.420354Z", "execution_state": "idle"}
    later = {**idle, "last_activity": "2026-11-29T18:16:43.000000Z"}
    (first,), (second,) = (list(tool_use.of_kernels([kernel])) for kernel in (idle, later))
    assert first.key == second.key
    assert second.total > first.total
    (busy,) = tool_use.of_kernels([{**idle, "execution_state": "busy"}])
    assert busy.limit < 0


def test_the_kernel_tells_what_a_connection_has_received() -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener, socket.create_connection(listener.getsockname()) as client:
        served, _ = listener.accept()
        with served:
            client.sendall(b"x" * 9000)
            assert len(served.recv(9000, socket.MSG_WAITALL)) == 9000
            port = listener.getsockname()[1]
            (found,) = [one for one in sockets.established() if one.local_port == port]
            assert (found.received, found.remote_port) == (9000, client.getsockname()[1])
            assert found.inode == str(os.fstat(served.fileno()).st_ino)


def test_only_the_machines_own_cards_are_read_and_one_that_says_nothing_is_left_out() -> None:
    text = "0, GPU-aa, 93\n1, GPU-bb, 12\n2, GPU-cc, [N/A]\n"
    assert graphics.read_nvidia(text, None) == [("GPU 0", 93), ("GPU 1", 12)]
    assert graphics.read_nvidia(text, ["GPU-bb"]) == [("GPU 1", 12)]
    rocm = '{"card0": {"GPU use (%)": "71", "Unique ID": "0xABC"}, "card1": {"GPU use (%)": "0", "Unique ID": "0xdef"}, "system": {}}'
    assert graphics.read_rocm(rocm, ["GPU-abc"]) == [("GPU 0", 71)]
    assert graphics.read_rocm(rocm.replace("0xdef", "N/A"), ["1"]) == [("GPU 1", 0)]


def test_a_machine_that_was_given_no_cards_asks_no_tool(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(subprocess, "run", lambda *_, **__: pytest.fail("a tool was asked"))
    assert graphics.busy([]) == ()


def name_of(child: subprocess.Popen[bytes]) -> str:
    """How it is described, once the kernel has its words: that is a moment after it has begun."""
    deadline = time.monotonic() + 5
    while (name := looking.described(child.pid)) == "a process" and time.monotonic() < deadline:
        time.sleep(0.01)
    return name


def test_a_process_is_named_by_its_program_and_what_that_runs(tmp_path: Path) -> None:
    (tmp_path / "train.sh").write_text("sleep 5\n")
    child = subprocess.Popen(["/bin/sh", "train.sh", "--token=CANARY"], cwd=tmp_path)
    try:
        assert name_of(child) == "sh train.sh"
    finally:
        child.kill()
        child.wait()


def test_a_word_that_may_be_a_secret_is_not_shown() -> None:
    child = subprocess.Popen(["/bin/sh", "-c", "sleep 5; : https://user:CANARY@example.org"])
    try:
        assert name_of(child) == "sh"
    finally:
        child.kill()
        child.wait()
