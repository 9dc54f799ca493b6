"""What all tests share: nothing of the user's is read or written."""

from __future__ import annotations

import importlib.metadata
import os
import resource
import signal
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings
from support.commands import LAB, NOW, SIMULATED, CommandLine
from support.open_states import close_all
from support.postgres import Server, a_server, why_not
from support.world import OPEN

from nodusctl.base.redaction import REDACTOR
from nodusctl.cli.output.slow import told_when_slow

# A shell's background job starts with Ctrl-C ignored, one under nohup with the hang-up, and what is ignored is inherited; the commands
# under test must be able to hear both.
signal.signal(signal.SIGINT, signal.default_int_handler)
signal.signal(signal.SIGHUP, signal.SIG_DFL)

# Folders of tests are called after what they test. Where libvirt's binding isn't installed, such a folder must not pass for it.
try:
    importlib.metadata.version("libvirt-python")
except importlib.metadata.PackageNotFoundError:
    sys.modules["libvirt"] = None  # type: ignore[assignment]

# A test run is many projects in one process, each with some databases: the usual 1,024 files are for one program.
_FILES, _MOST_FILES = resource.getrlimit(resource.RLIMIT_NOFILE)
_WANTED_FILES = 16384 if _MOST_FILES == resource.RLIM_INFINITY else min(16384, _MOST_FILES)
if _FILES != resource.RLIM_INFINITY and _FILES < _WANTED_FILES:
    resource.setrlimit(resource.RLIMIT_NOFILE, (_WANTED_FILES, _MOST_FILES))

# How long an example takes says more of the computer, and of who else is at work on it, than of the property. Examples are the same each
# time, and with SOAK (see test_lives.py) others each time.
settings.register_profile(
    "unhurried", settings(), deadline=None, derandomize="SOAK" not in os.environ, suppress_health_check=[HealthCheck.too_slow]
)
settings.load_profile("unhurried")


@pytest.fixture(autouse=True)
def _own_folders(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = tmp_path_factory.mktemp("user")
    for name in ("DATA", "STATE", "CACHE", "CONFIG"):
        monkeypatch.setenv(f"XDG_{name}_HOME", str(folder / name.lower()))
    for name in ("NODUSCTL_NOW", "NODUSCTL_STATE_KEY", "NO_COLOR", "FORCE_COLOR"):
        monkeypatch.delenv(name, raising=False)


@pytest.fixture(autouse=True)
def _nothing_is_slow(monkeypatch: pytest.MonkeyPatch) -> None:
    """On a busy computer anything may take the two seconds after which a command says what it waits for; tests of that say how long."""
    monkeypatch.setitem(told_when_slow.__wrapped__.__kwdefaults__, "first_seconds", 600.0)  # type: ignore[attr-defined]


@pytest.fixture(autouse=True)
def _no_world_and_no_state_stays_open() -> Iterator[None]:
    yield
    while OPEN:
        OPEN[-1].close()
    close_all()


@pytest.fixture(autouse=True)
def _no_secrets_of_other_tests() -> None:
    """A process works for one project; a test run is many processes in one."""
    REDACTOR.forget()


@pytest.fixture(scope="session")
def postgres() -> Iterator[Server]:
    """One PostgreSQL server for all tests of a process that want one; each has a schema of its own there."""
    if reason := why_not():
        pytest.skip(reason)
    with a_server() as server:
        yield server


@pytest.fixture
def empty_cli(tmp_path: Path) -> CommandLine:
    """A folder without any project."""
    folder = tmp_path / "lab"
    folder.mkdir()
    return CommandLine(folder)


@pytest.fixture
def cli(empty_cli: CommandLine) -> CommandLine:
    """A project with one Workspace and its home, on a simulated cloud whose time begins at NOW."""
    empty_cli.write("nodusctl.yaml", SIMULATED)
    empty_cli.write("ws.yaml", LAB)
    assert empty_cli("sim", "init", "--now", NOW).code == 0
    return empty_cli
