"""A person in front of a browser: logs in to JupyterLab through port-forward, writes a cell, and sees what it printed."""

from __future__ import annotations

import importlib.util
import signal
import tempfile
from pathlib import Path

import pytest
from support.browser import CONTROL, ENTER, IS_HERE, browser
from support.local_project import SSHD_IS_HERE, LocalProject

pytestmark = [
    pytest.mark.local,
    pytest.mark.slow,
    pytest.mark.skipif(not SSHD_IS_HERE, reason="sshd is not installed"),
    pytest.mark.skipif(not IS_HERE, reason="chromium and chromium-driver are not installed"),
    pytest.mark.skipif(importlib.util.find_spec("jupyterlab") is None, reason="the extra nodusctl[local] is not installed"),
]
PRINTED = ".jp-Notebook .jp-OutputArea-output pre"


def test_a_browser_logs_in_with_the_token_and_runs_a_cell(lab: LocalProject) -> None:
    carrying = lab.start("port-forward", "lab", "jupyter")
    try:
        assert carrying.stdout is not None
        address, _, token = carrying.stdout.readline().strip().partition("?token=")
        # A short folder: the browser's sockets lie in it.
        with tempfile.TemporaryDirectory(prefix="b-") as folder, browser(Path(folder)) as page:
            page.go(address)
            page.type_into("#password_input", token)
            page.click("#login_submit")
            page.click('.jp-LauncherCard[data-category="Notebook"]')
            page.click(".jp-Notebook .cm-content")
            page.type("import os; print('ran', 6 * 7, os.getcwd())")
            # What is run before the kernel is connected is lost, in every browser: run it until it has printed.
            for _ in range(10):
                page.press(CONTROL, ENTER)
                if page.has(PRINTED, limit_seconds=6):
                    break
            printed = page.text(PRINTED)
        assert printed == f"ran 42 {lab.done('ssh', 'lab', '--', 'pwd').strip()}"
    finally:
        carrying.send_signal(signal.SIGINT)
        assert carrying.wait(30) == 0
        carrying.communicate()
