"""JupyterLab on a local machine: served with a token nobody else sees, kept running, and refused where it can't be served."""

from __future__ import annotations

import importlib.util
import re
import signal
import time
import urllib.error
import urllib.request
from pathlib import Path

import pytest
from support.local_project import SSHD_IS_HERE, LocalProject
from support.local_world import commands_of_all, files_with

pytestmark = [
    pytest.mark.local,
    pytest.mark.skipif(not SSHD_IS_HERE, reason="sshd is not installed"),
    pytest.mark.skipif(importlib.util.find_spec("jupyterlab") is None, reason="the extra nodusctl[local] is not installed"),
]


def get(url: str, token: str = "") -> int:
    request = urllib.request.Request(url, headers={"Authorization": f"token {token}"} if token else {})
    try:
        with urllib.request.urlopen(request, timeout=30) as reply:
            return int(reply.status)
    except urllib.error.HTTPError as refused:
        return refused.code


def forwarded(lab: LocalProject, word: str = "jupyter") -> tuple[object, str]:
    """A port-forward under way and the address it printed."""
    carrying = lab.start("port-forward", "lab", word)
    assert carrying.stdout is not None
    return carrying, carrying.stdout.readline().strip()


def test_with_the_token_jupyterlab_answers_200_and_without_it_403(lab: LocalProject) -> None:
    carrying, url = forwarded(lab)
    try:
        found = re.fullmatch(r"(http://127\.0\.0\.1:\d+)/lab\?token=([0-9a-f]{48})", url)
        assert found, url
        assert get(f"{found[1]}/api/status", found[2]) == 200
        assert get(url) == 200
        assert get(f"{found[1]}/api/status") == 403
        assert get(f"{found[1]}/api/status", "0" * 48) == 403
    finally:
        carrying.send_signal(signal.SIGINT)  # type: ignore[attr-defined]
        assert carrying.wait(30) == 0  # type: ignore[attr-defined]
    with pytest.raises(OSError):
        urllib.request.urlopen(url, timeout=2)


def test_the_status_says_how_to_reach_each_tool_and_never_the_token(lab: LocalProject) -> None:
    status = lab.status()
    connect, endpoints = status["connect"], status["endpoints"]
    assert isinstance(connect, dict)
    assert isinstance(endpoints, list)
    assert connect["ssh"]["command"] == "nodusctl ssh lab"
    assert connect["vscode"]["url"].startswith("vscode://vscode-remote/ssh-remote+lab/")
    jupyter = next(one for one in endpoints if one["name"] == "jupyter")
    assert connect["jupyter"]["url"] == jupyter["url"] == f"http://127.0.0.1:{jupyter['port']}/lab"
    assert "token" not in str(status)


def test_the_token_stands_in_no_command_line_and_in_no_file_that_outlives_the_machine(lab: LocalProject) -> None:
    token = lab.done("open", "lab", "--tool", "jupyter", "--print").strip().partition("token=")[2]
    assert len(token) == 48
    assert [command for command in commands_of_all() if token in command] == []
    assert files_with(token, lab.folder) == []
    assert token not in lab.done("logs", "lab")
    assert token not in lab.done("describe", "ws/lab")


def test_a_jupyterlab_that_dies_is_started_again_on_its_port(lab: LocalProject) -> None:
    before = lab.done("open", "lab", "--tool", "jupyter", "--print")
    lab.done("ssh", "lab", "--", "pkill -KILL -f [j]upyter-lab")
    deadline = time.monotonic() + 120
    while (again := lab.run("open", "lab", "--tool", "jupyter", "--print")).returncode != 0:
        assert time.monotonic() < deadline, again.stderr
    assert again.stdout == before
    assert "jupyter-lab has ended" in lab.done("logs", "lab")


def test_notebooks_see_the_home_the_environment_and_not_our_runtime_folder(lab: LocalProject) -> None:
    files = lab.done("ssh", "lab", "--", "find . -name 'jpserver*' -o -name '*cookie_secret'")
    assert files == ""
    root = re.search(r"Serving notebooks from local directory: (\S+)", lab.done("logs", "lab"))
    assert root is not None
    assert root[1] == lab.done("ssh", "lab", "--", "pwd").strip()


def test_a_declared_tool_this_computer_lacks_is_unsupported_and_the_extra_is_named(tmp_path: Path) -> None:
    project = LocalProject(tmp_path, tools="SSH, Jupyter", settings="jupyter: /nonexistent/jupyter-lab").write()
    planned = project.run("plan")
    assert planned.returncode == 10
    assert "Unsupported" in planned.stdout + planned.stderr
    assert "pip install 'nodusctl[local]'" in planned.stdout + planned.stderr


def test_a_tool_of_the_default_list_that_this_computer_lacks_is_left_out_with_a_note(tmp_path: Path) -> None:
    project = LocalProject(tmp_path, settings="jupyter: /nonexistent/jupyter-lab").write()
    text = (project.project / "lab.yaml").read_text()
    (project.project / "lab.yaml").write_text(text.replace("  tools: [SSH]\n", ""))
    planned = project.run("plan")
    assert planned.returncode == 0, planned.stderr
    assert "Jupyter" in planned.stdout + planned.stderr


def test_a_tool_that_can_not_start_fails_the_start_with_what_its_probe_saw(tmp_path: Path) -> None:
    broken = tmp_path / "jupyter-lab"
    broken.write_text("#!/bin/sh\necho no module named jupyter_server\nexit 1\n")
    broken.chmod(0o755)
    project = LocalProject(tmp_path, tools="SSH, Jupyter", settings=f"jupyter: {broken}").write()
    try:
        ended = project.run("apply", "--yes", "--timeout", "60s")
        assert ended.returncode not in (0, 70), ended.stdout
        said = ended.stdout + ended.stderr + project.done("describe", "ws/lab")
        assert "GET /api/status on 127.0.0.1:" in said
        assert "jupyter-lab ended 5 times" in said
    finally:
        project.clear()
