"""A machine that runs and can't be reached: it is said, nothing is concluded, and no second machine comes."""

from __future__ import annotations

import json
import threading

import pytest
from support.faulty_project import FaultyProject

pytestmark = [pytest.mark.slow, pytest.mark.libvirt]


def condition(project: FaultyProject) -> tuple[str, str]:
    """Of NodeUnreachable: its status and message."""
    found = project.status()["conditions"]
    assert isinstance(found, list)
    return next((one["status"], one.get("message", "")) for one in found if one["type"] == "NodeUnreachable")


def test_a_machine_whose_link_is_down_is_unreachable_and_stays_the_only_one(faulty: FaultyProject) -> None:
    faulty.apply()
    faulty.write_note("kept")
    name = faulty.the_one()
    link = faulty.host.virsh("domiflist", name).split()[-1]
    faulty.host.virsh("domif-setlink", name, link, "down")
    assert "down" in faulty.host.virsh("domif-getlink", name, link)
    faulty.change("  maxCostUSD", "  idleTimeout: 2h\n  maxCostUSD")
    told = faulty.run("apply", "--yes", limit_seconds=120)
    assert told.returncode == 14, told.stdout + told.stderr
    assert "NodeUnreachable: the machine runs and doesn't answer: ssh" in told.stdout, told.stdout
    assert "fix: " in told.stderr
    status, message = condition(faulty)
    assert (status, "port 22" in message) == ("True", True), message
    faulty.done("tick")
    assert (faulty.status()["phase"], faulty.the_one()) == ("Running", name)
    assert faulty.run("drift").returncode == 0, "its provider has nothing to say against it"

    faulty.host.virsh("domif-setlink", name, link, "up")
    faulty.host.eventually(lambda: faulty.run("apply", "--yes").returncode == 0, "it answers again")
    assert condition(faulty) == ("False", "")
    assert (faulty.the_one(), faulty.note()) == (name, "kept")
    assert "No changes" in faulty.done("plan")
    assert len(faulty.files("machines/*")) == 1


def test_a_start_whose_network_is_missing_is_refused_with_the_command_that_mends_it(faulty: FaultyProject) -> None:
    faulty.host.virsh("net-destroy", "nodus-test")
    told = faulty.run("apply", "--yes", "--local-state", "--timeout", "10s")
    assert told.returncode not in (0, 70), told.stdout + told.stderr
    assert "ProviderNotReady" in told.stdout, told.stdout
    assert (faulty.domains(), faulty.files("machines/*")) == ({}, [])
    assert "net-" in faulty.done("describe", "ws/lab"), "the command that brings the network back"


def test_case_16_a_start_that_fails_once_its_firmware_has_variables_leaves_none_of_it(faulty: FaultyProject) -> None:
    path = faulty.project / "nodusctl.yaml"
    settings = json.loads(path.read_text())
    image = settings["providers"]["metal"]["images"]["nodus/workspace-cpu"]
    settings["providers"]["metal"]["images"]["nodus/workspace-cpu"] = {"path": image["path"], "firmware": "efi"}
    path.write_text(json.dumps(settings))
    variables = faulty.host.folder / "lib" / "qemu" / "nvram"
    faulty.host.run("ip", "link", "del", "virbr-nodus")
    seen: set[str] = set()
    is_over = threading.Event()

    def watch() -> None:
        while not is_over.wait(0.002):
            seen.update(one.name for one in variables.glob("*"))

    watching = threading.Thread(target=watch)
    watching.start()
    told = faulty.run("apply", "--yes", "--local-state", "--timeout", "10s")
    is_over.set()
    watching.join()
    assert seen, "its firmware had a file of its own while it was started"
    assert told.returncode not in (0, 70), told.stdout + told.stderr
    assert "could not be started" in faulty.done("describe", "ws/lab")
    assert (faulty.domains(), faulty.files("machines/*"), list(variables.iterdir())) == ({}, [], [])
