"""A real browser driven over the WebDriver protocol (W3C) by the standard library alone: Debian's chromium with its chromedriver."""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import socket
import subprocess
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any

_ELEMENT = "element-6066-11e4-a52e-4f735466cecf"
ENTER, CONTROL = "\ue007", "\ue009"
IS_HERE = shutil.which("chromedriver") is not None and shutil.which("chromium") is not None


class Browser:
    """One page. Waiting is built in: an element is looked for until it is there, or 60 seconds are over."""

    def __init__(self, driver: str) -> None:
        options = {
            "args": [
                "--headless=new",
                "--disable-gpu",
                "--disable-dev-shm-usage",
                "--window-size=1400,900",
                *(["--no-sandbox"] if os.geteuid() == 0 else []),
            ]
        }
        wanted = {
            "capabilities": {
                "alwaysMatch": {"browserName": "chrome", "goog:chromeOptions": {**options, "binary": shutil.which("chromium")}}
            }
        }
        self._driver = driver
        self._session = f"/session/{self._call('POST', '/session', wanted)['sessionId']}"

    def go(self, url: str) -> None:
        self._call("POST", f"{self._session}/url", {"url": url})

    def has(self, css: str, limit_seconds: float) -> bool:
        try:
            return bool(self._found(css, limit_seconds))
        except AssertionError:
            return False

    def type_into(self, css: str, text: str) -> None:
        self._call("POST", f"{self._session}/element/{self._found(css)}/value", {"text": text})

    def click(self, css: str) -> None:
        self._call("POST", f"{self._session}/element/{self._found(css)}/click", {})

    def text(self, css: str) -> str:
        return str(self._call("GET", f"{self._session}/element/{self._found(css)}/text"))

    def press(self, *keys: str) -> None:
        """Hold all keys but the last, press that one, let go."""
        steps = [{"type": "keyDown", "value": key} for key in keys] + [{"type": "keyUp", "value": key} for key in reversed(keys)]
        self._call("POST", f"{self._session}/actions", {"actions": [{"type": "key", "id": "keyboard", "actions": steps}]})

    def type(self, text: str) -> None:
        """To whatever has the focus."""
        steps = [{"type": kind, "value": letter} for letter in text for kind in ("keyDown", "keyUp")]
        self._call("POST", f"{self._session}/actions", {"actions": [{"type": "key", "id": "keyboard", "actions": steps}]})

    def close(self) -> None:
        self._call("DELETE", self._session)

    def _found(self, css: str, limit_seconds: float = 60) -> str:
        deadline = time.monotonic() + limit_seconds
        while True:
            found = self._call("POST", f"{self._session}/elements", {"using": "css selector", "value": css})
            shown = [one[_ELEMENT] for one in found if self._call("GET", f"{self._session}/element/{one[_ELEMENT]}/displayed")]
            if shown:
                return str(shown[0])
            assert time.monotonic() < deadline, f"no {css} on {self._call('GET', f'{self._session}/url')}"
            time.sleep(0.2)

    def _call(self, method: str, path: str, body: Any = None) -> Any:
        request = urllib.request.Request(self._driver + path, None if body is None else json.dumps(body).encode(), method=method)
        try:
            with urllib.request.urlopen(request, timeout=90) as reply:
                return json.load(reply)["value"]
        except urllib.error.HTTPError as refused:
            said = json.load(refused)["value"]
            if said["error"] == "stale element reference":
                return False
            raise AssertionError(f"{method} {path}: {said['error']}: {said['message'].splitlines()[0]}") from None


@contextlib.contextmanager
def browser(folder: Path) -> Iterator[Browser]:
    """A browser with a profile of its own; ended with everything it started."""
    with socket.socket() as probing:
        probing.bind(("127.0.0.1", 0))
        port = probing.getsockname()[1]
    environment = {**os.environ, "TMPDIR": str(folder), "HOME": str(folder)}
    with (folder / "chromedriver.log").open("w") as log:
        driver = subprocess.Popen([str(shutil.which("chromedriver")), f"--port={port}"], stdout=log, stderr=log, env=environment)
    try:
        _wait_for(port)
        page = Browser(f"http://127.0.0.1:{port}")
        try:
            yield page
        finally:
            page.close()
    finally:
        driver.terminate()
        driver.wait(10)


def _wait_for(port: int) -> None:
    deadline = time.monotonic() + 30
    while time.monotonic() < deadline:
        with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", port), timeout=1):
            return
        time.sleep(0.1)
    raise AssertionError("chromedriver did not start")
