"""How the agent proves a browser tool, and when it stops trying to keep one running."""

from __future__ import annotations

import http.server
import json
import os
import socket
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from nodusctl.bootstrap.agent import inside, processes, serving, tools
from nodusctl.bootstrap.agent.layout import Layout

JUPYTER = next(tool for tool in tools._TOOLS if tool.name == "jupyter-lab")


class Door(http.server.BaseHTTPRequestHandler):
    """Answers like a server with a token; ``opens`` says whether it also opens without one."""

    opens = False

    def do_GET(self) -> None:
        has_token = self.headers.get("Authorization") == "token right"
        self.send_response(200 if has_token or self.opens else 403)
        self.end_headers()

    def log_request(self, code: object = "-", size: object = "-") -> None:
        pass


@pytest.fixture
def port() -> Iterator[int]:
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Door)
    serve = threading.Thread(target=server.serve_forever)
    serve.start()
    yield server.server_address[1]
    server.shutdown()
    serve.join()
    server.server_close()


@pytest.fixture
def layout(tmp_path: Path) -> Layout:
    for part in ("run", "vault"):
        (tmp_path / part).mkdir()
    boot = {
        "machine": "m-test",
        "tools": ["SSH", "Jupyter"],
        "programs": {"jupyter-lab": "/bin/false"},
        "home": str(tmp_path),
        "user": "me",
        "vault": str(tmp_path / "vault"),
    }
    (tmp_path / "boot.json").write_text(json.dumps(boot))
    return Layout(str(tmp_path))


def pushed(layout: Layout) -> None:
    Path(layout.vault_path("tools.json")).write_text(json.dumps({"Jupyter": {"token": "right"}}))


def test_a_tool_is_proved_by_200_with_the_token_and_403_without(port: int, monkeypatch: pytest.MonkeyPatch) -> None:
    assert tools.probe(port, JUPYTER, "right") == ""
    assert tools.probe(port, JUPYTER, "wrong") == f"GET /api/status on 127.0.0.1:{port} with the token: 403"
    monkeypatch.setattr(Door, "opens", True)
    assert "without a token: 200, it must be 403" in tools.probe(port, JUPYTER, "right")


def test_before_the_push_a_tool_waits_and_has_not_failed(layout: Layout) -> None:
    said = tools.answer(layout, "Jupyter")
    assert (said["has_answered"], said["has_failed"]) == (False, False)
    assert "waits for its token" in said["seen"]


def test_a_tool_over_its_limit_says_which_probe_saw_what_for_how_long(layout: Layout) -> None:
    pushed(layout)
    with socket.socket() as taken:  # and nobody listens
        taken.bind(("127.0.0.1", 0))
        port = taken.getsockname()[1]
        tools.write_standing(layout, {"jupyter-lab": {"port": port, "first_start": tools.boot_clock() - 200, "given_up": ""}})
        said = tools.answer(layout, "Jupyter")
    assert said["has_failed"]
    assert said["seen"].startswith(f"GET /api/status on 127.0.0.1:{port} with the token: Connection refused, for 20")
    assert said["seen"].endswith(" s of 180 s")


def test_a_declared_tool_without_a_program_has_failed_at_once(layout: Layout) -> None:
    layout.boot["programs"] = {}
    assert tools.answer(layout, "Jupyter")["has_failed"]


def test_a_tool_that_keeps_dying_is_given_up_after_five_deaths(layout: Layout, monkeypatch: pytest.MonkeyPatch) -> None:
    """The pauses are skipped, the deaths are real."""
    pushed(layout)
    monkeypatch.setattr(serving, "_LONGEST_GAP_SECONDS", 0.0)
    keeping = serving.Serving(layout)
    starts: list[int] = []
    spawn = inside.spawn
    monkeypatch.setattr(inside, "spawn", lambda *words: starts.append(1) or spawn(*words))
    for _ in range(20):
        keeping.step([])
        pid = keeping._rows["jupyter-lab"]["pid"]
        if not pid:
            break
        os.waitpid(pid, 0)
        keeping.step([pid])
    assert len(starts) == 5
    assert "ended 5 times" in tools.answer(layout, "Jupyter")["seen"]


def test_nothing_starts_before_the_push_and_nothing_after_quiesce(layout: Layout) -> None:
    keeping = serving.Serving(layout)
    keeping.step([])
    assert keeping._rows == {}
    pushed(layout)
    Path(layout.quiesced_file).write_text("{}")
    keeping.step([])
    assert keeping._rows == {}


def test_the_token_is_in_no_word_and_no_variable_of_what_is_started(layout: Layout) -> None:
    pushed(layout)
    Path(layout.vault_path("tools.json")).write_text(json.dumps({"Jupyter": {"token": "T0KEN-CANARY"}}))
    start = tools.start_of(layout, JUPYTER, 1234)
    assert "CANARY" not in str(start)
    assert Path(start.environment["JUPYTER_TOKEN_FILE"]).read_text() == "T0KEN-CANARY"
    assert processes.MARKER not in start.environment
