"""VS Code in the browser where code-server is on the computer: carried here with its password, kept running, and never in a start's way.

What runs is a stand-in that reads code-server's configuration and asks for its password as code-server does: the real one takes
minutes to install.
"""

from __future__ import annotations

import signal
import subprocess
import sys
import time
import urllib.error
import urllib.parse
import urllib.request
from collections.abc import Iterator
from pathlib import Path

import pytest
from support.local_project import SSHD_IS_HERE, LocalProject
from support.local_world import commands_of_all, files_with

pytestmark = [pytest.mark.local, pytest.mark.skipif(not SSHD_IS_HERE, reason="sshd is not installed")]

STAND_IN = """#!{python} -IS
import http.server, json, sys, urllib.parse
config = dict(line.split(": ", 1) for line in open(sys.argv[sys.argv.index("--config") + 1]).read().splitlines())
host, port = config["bind-addr"].split(":")
assert (host, config["auth"], config["cert"]) == ("127.0.0.1", "password", "false")
password, folder = json.loads(config["password"]), sys.argv[-1]
class Editor(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        if self.path == "/healthz":
            return self.say(200, "alive")
        is_in = self.headers.get("Cookie") == "key=in"
        self.say(200 if is_in else 302, "editor of " + folder if is_in else "", Location="/login")
    def do_POST(self):
        sent = urllib.parse.parse_qs(self.rfile.read(int(self.headers["Content-Length"])).decode())
        is_right = sent.get("password") == [password]
        self.say(200 if is_right else 401, "", **({{"Set-Cookie": "key=in"}} if is_right else {{}}))
    def say(self, status, text, **headers):
        self.send_response(status)
        for name, value in headers.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(text.encode())
http.server.ThreadingHTTPServer((host, int(port)), Editor).serve_forever()
"""


def with_editor(folder: Path, script: str) -> LocalProject:
    program = folder / "programs" / "bin" / "code-server"
    program.parent.mkdir(parents=True)
    program.write_text(script)
    program.chmod(0o755)
    return LocalProject(folder, tools="SSH, VSCode", settings=f"codeServer: {program}").write()


@pytest.fixture(scope="module")
def lab(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LocalProject]:
    project = with_editor(tmp_path_factory.mktemp("editor"), STAND_IN.format(python=Path(sys.executable).resolve()))
    try:
        project.done("apply", "--yes")
        yield project
    finally:
        project.clear()


class NoRedirect(urllib.request.HTTPRedirectHandler):
    def redirect_request(self, *words: object, **more: object) -> None:
        return None


def status_of(url: str, *, password: str = "", cookie: str = "") -> tuple[int, str]:
    """Status and text of a GET, or of a login with ``password``."""
    data = urllib.parse.urlencode({"password": password}).encode() if password else None
    request = urllib.request.Request(url, data=data, headers={"Cookie": cookie} if cookie else {})
    try:
        with urllib.request.build_opener(NoRedirect).open(request, timeout=30) as reply:
            return int(reply.status), reply.headers.get("Set-Cookie") or reply.read().decode()
    except urllib.error.HTTPError as other:
        return other.code, ""


def forwarded(lab: LocalProject, *words: str) -> tuple[subprocess.Popen[str], str, str]:
    """What carries the editor here, its address, and the password."""
    carrying = lab.start(*words)
    assert carrying.stdout is not None
    return carrying, carrying.stdout.readline().strip(), carrying.stdout.readline().strip().removeprefix("password: ")


def test_the_editor_is_carried_here_and_opens_with_its_password_only(lab: LocalProject) -> None:
    home = lab.done("ssh", "lab", "--", "pwd").strip()
    for words in (("port-forward", "lab", "code-server"), ("open", "lab", "--tool", "code-server")):
        carrying, url, password = forwarded(lab, *words)
        try:
            assert len(password) == 48
            assert status_of(url)[0] == 302
            assert status_of(f"{url}login", password="0" * 48)[0] == 401
            assert status_of(f"{url}login", password=password) == (200, "key=in")
            assert status_of(url, cookie="key=in") == (200, f"editor of {home}")
        finally:
            carrying.send_signal(signal.SIGINT)
            assert carrying.wait(30) == 0
            carrying.communicate()


def test_the_status_names_the_editor_in_the_browser_beside_the_one_on_the_desktop(lab: LocalProject) -> None:
    status = lab.status()
    connect, endpoints = status["connect"], status["endpoints"]
    assert isinstance(connect, dict)
    assert isinstance(endpoints, list)
    (browser,) = endpoints
    assert browser == {"name": "vscode", "port": browser["port"], "url": f"http://127.0.0.1:{browser['port']}/"}
    assert connect["vscode"]["url"].startswith("vscode://vscode-remote/ssh-remote+lab/")


def test_the_password_stands_in_no_command_line_no_log_and_no_file_that_outlives_the_machine(lab: LocalProject) -> None:
    carrying, _, password = forwarded(lab, "port-forward", "lab", "code-server")
    try:
        assert [command for command in commands_of_all() if password in command] == []
        assert files_with(password, lab.folder) == []
        assert password not in lab.done("logs", "lab")
    finally:
        carrying.send_signal(signal.SIGINT)
        carrying.communicate(timeout=30)


def test_an_editor_that_dies_is_started_again_on_its_port(lab: LocalProject) -> None:
    before = lab.done("open", "lab", "--tool", "code-server", "--print")
    lab.done("ssh", "lab", "--", "pkill -KILL -f [c]ode-server")
    deadline = time.monotonic() + 120
    while (again := lab.run("open", "lab", "--tool", "code-server", "--print")).returncode != 0:
        assert time.monotonic() < deadline, again.stderr
    assert again.stdout == before
    assert "code-server has ended" in lab.done("logs", "lab")


def test_the_desktop_editor_is_not_sent_to_another_projects_workspace_without_a_word(lab: LocalProject) -> None:
    assert "won't find the Workspace yet" in lab.run("open", "lab", "--print").stderr
    lab.done("ssh-config", "--install")
    assert lab.run("open", "lab", "--print").stderr == ""
    entries = lab.ssh_folder / "config.d" / "nodusctl"
    ours = entries.read_text()
    entries.write_text(ours.replace(str(lab.project), "/another") + "\n" + ours)
    assert "would open another project's Workspace" in lab.run("open", "lab", "--print").stderr


def test_a_log_that_is_followed_ends_with_its_machine(lab: LocalProject) -> None:
    """Runs last: the Workspace stays stopped."""
    following = lab.start("logs", "lab", "--follow")
    try:
        assert following.stdout is not None and following.stdout.readline(), "it follows"
        lab.done("ssh", "lab", "--", "true")
        lab.done("stop", "lab")
        said, complaints = following.communicate(timeout=60)
        assert following.returncode == 0, complaints
        assert "Accepted publickey for" in said
    finally:
        following.kill()


def test_an_editor_that_can_not_start_keeps_nobody_from_working(tmp_path: Path) -> None:
    project = with_editor(tmp_path, "#!/bin/sh\necho no node here\nexit 1\n")
    try:
        project.done("apply", "--yes")
        assert project.status()["phase"] == "Running"
        assert project.done("ssh", "lab", "--", "echo in") == "in\n"
        ended = project.run("open", "lab", "--tool", "code-server", "--print")
        assert ended.returncode == 1
        assert "error[WorkspaceToolUnavailable]" in ended.stderr
        assert "code-server ended 5 times" in ended.stderr
        assert "no node here" in project.done("logs", "lab")
    finally:
        project.clear()


def test_without_code_server_vs_code_is_the_desktops_alone(tmp_path: Path) -> None:
    project = LocalProject(tmp_path, tools="SSH, VSCode", settings="codeServer: /nonexistent/code-server").write()
    try:
        project.done("apply", "--yes")
        assert project.status().get("endpoints", []) == []
        ended = project.run("open", "lab", "--tool", "code-server", "--print")
        assert ended.returncode == 1
        assert "it runs without one in the browser" in ended.stderr
        assert "nodusctl tools install code-server" in ended.stderr
    finally:
        project.clear()
