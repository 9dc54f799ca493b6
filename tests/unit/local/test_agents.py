"""The agent's code is compiled once a boot and shared by the machines."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from nodus_providers.local.agents import install_agent
from nodus_providers.local.folders import Root
from nodusctl.base.clock import SystemWall

SOURCES = {"__init__.py": "", "__main__.py": "print('it runs')\n"}


@pytest.fixture
def root(tmp_path: Path) -> Root:
    return Root(tmp_path / "root", SystemWall())


def installed(root: Root, folder: Path, sources: dict[str, str] | None = None) -> Path:
    (folder / "agent").mkdir(parents=True)
    install_agent(root, sources or SOURCES, folder / "agent")
    return folder / "agent"


def test_it_runs_where_it_is_put_and_has_its_byte_code(root: Root, tmp_path: Path) -> None:
    agent = installed(root, tmp_path / "m")
    ended = subprocess.run([sys.executable, "-m", "agent"], cwd=agent.parent, capture_output=True, text=True, check=True)
    assert ended.stdout == "it runs\n"
    assert len(list(agent.glob("__pycache__/*.pyc"))) == len(SOURCES)


def test_machines_share_the_files_until_the_agent_is_another(root: Root, tmp_path: Path) -> None:
    first, second = installed(root, tmp_path / "a"), installed(root, tmp_path / "b")
    third = installed(root, tmp_path / "c", {**SOURCES, "__main__.py": "print('another')\n"})
    assert (first / "__main__.py").samefile(second / "__main__.py")
    assert (third / "__main__.py").read_text() == "print('another')\n"
    assert (first / "__main__.py").read_text() == SOURCES["__main__.py"]


def test_what_an_earlier_boot_left_is_not_used_and_goes(root: Root, tmp_path: Path) -> None:
    installed(root, tmp_path / "a")
    (kept,) = (root.path / "agents").iterdir()
    of_earlier_boot = kept.with_name(kept.name.split("-")[0] + "-an-earlier-boot")
    kept.rename(of_earlier_boot)
    (of_earlier_boot / "__main__.py").write_text("")
    assert (installed(root, tmp_path / "b") / "__main__.py").read_text() == SOURCES["__main__.py"]
    assert not of_earlier_boot.exists()
