"""``nodusctl tools install``: npm puts it under the data folder; without npm, or where npm fails, what to do is said."""

from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path

import pytest
from support.commands import CommandLine

from nodus_providers.local.programs import Programs
from nodus_providers.local.settings import LocalSettings
from nodusctl.base.exits import ExitCode

# As npm does with --global --prefix: the program's link is under bin of the prefix.
INSTALLS = """while [ "$1" != --prefix ]; do shift; done
mkdir -p "$2/bin"
printf '#!/bin/sh\\n' > "$2/bin/code-server"
chmod 755 "$2/bin/code-server"
"""
FAILS = "echo 'npm ERR! code EBADENGINE' >&2\nexit 1\n"


@pytest.fixture
def data_folder() -> Path:
    return Path(os.environ["XDG_DATA_HOME"]) / "nodusctl"


def with_npm(cli: CommandLine, folder: Path, script: str) -> CommandLine:
    """The same person with an npm that does ``script``."""
    folder.mkdir()
    (folder / "npm").write_text(f"#!/bin/sh\n{script}")
    (folder / "npm").chmod(0o755)
    return replace(cli, environment={**cli.environment, "PATH": f"{folder}:/usr/bin:/bin"})


def test_what_npm_installs_is_what_machines_serve(empty_cli: CommandLine, tmp_path: Path, data_folder: Path) -> None:
    programs = Programs(LocalSettings(), str(data_folder), "")
    ran = with_npm(empty_cli, tmp_path / "tools", INSTALLS)("tools", "install", "code-server")
    assert ran.code is ExitCode.DONE
    there = programs.browser_tools()["code-server"]
    assert there == str(data_folder / "code-server" / "bin" / "code-server")
    assert ran.out == f"code-server is {there}\n"
    assert f"Running npm install --global --prefix {data_folder}/code-server" in ran.err


def test_what_would_be_run_can_be_looked_at_first(empty_cli: CommandLine, tmp_path: Path, data_folder: Path) -> None:
    ran = with_npm(empty_cli, tmp_path / "tools", FAILS)("tools", "install", "code-server", "--print")
    assert ran.code is ExitCode.DONE
    assert ran.out == f"npm install --global --prefix {data_folder}/code-server --no-fund --no-audit code-server\n"


def test_where_npm_fails_its_status_and_what_it_needs_are_told(empty_cli: CommandLine, tmp_path: Path) -> None:
    ran = with_npm(empty_cli, tmp_path / "tools", FAILS)("tools", "install", "code-server")
    assert ran.code is ExitCode.ERROR
    assert "npm ended with status 1" in ran.err
    assert "node --version" in ran.err


def test_without_npm_it_says_what_to_install(empty_cli: CommandLine, tmp_path: Path) -> None:
    ran = replace(empty_cli, environment={"PATH": str(tmp_path)})("tools", "install", "code-server")
    assert ran.code is ExitCode.ERROR
    assert "npm is not installed" in ran.err
    assert "https://coder.com/docs/code-server/install" in ran.err


def test_another_tool_is_a_usage_error(empty_cli: CommandLine) -> None:
    assert empty_cli("tools", "install", "emacs").code is ExitCode.USAGE
