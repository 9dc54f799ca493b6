"""A Debian machine of ``nodusctl image build``: the real first-boot document by the real cloud-init, and a person's day with it.

One machine serves the tests in their order, because an emulated Debian takes a minute to boot; each can be run alone.
"""

from __future__ import annotations

import json
import subprocess
import time
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from support import debian_guest, libvirt_host
from support.debian_guest import DebianProject

from nodus_providers.libvirt.provider import LibvirtProvider
from nodusctl.base.timestamps import parse_time
from nodusctl.bootstrap.cloud_init import render_cloud_init
from nodusctl.ports.boot import BootPlan
from nodusctl.provider.machines import MachineState
from nodusctl.provider.offers import OfferQuery
from nodusctl.provider.requests import LaunchRequest, ReleaseRequest
from nodusctl.remote.keys import OpenSshKeys
from nodusctl.testing.conformance_hooks import a_context, done

pytestmark = [pytest.mark.slow, pytest.mark.libvirt]
SECRET = "apiVersion: nodus.dev/v1\nkind: Secret\nmetadata: {name: wandb}\nspec: {valueFrom: {API_KEY: {file: ../key}}}\n"
VALUE = "swordfish-19"
BOOT_SECONDS = 600


@pytest.fixture(autouse=True)
def _on_a_host() -> None:
    if reason := debian_guest.why_not():
        pytest.skip(reason)


@pytest.fixture(scope="module")
def lab(tmp_path_factory: pytest.TempPathFactory) -> Iterator[DebianProject]:
    """The project, applied once for all of this file."""
    if reason := debian_guest.why_not():
        pytest.skip(reason)
    made = DebianProject(tmp_path_factory.mktemp("debian")).write()
    (made.folder / "key").write_text(VALUE)
    (made.project / "secret.yaml").write_text(SECRET)
    try:
        assert "3 to create" in made.done("plan")
        made.apply()
        yield made
    finally:
        made.clear()


def test_the_image_holds_what_it_promises_and_no_key_of_anybody(lab: DebianProject) -> None:
    programs = ("git", "rsync", "curl", "tmux", "nano", "python3", "scp", "ssh-keygen", "lspci")
    missing = f"for name in {' '.join(programs)}; do command -v $name >/dev/null || echo $name; done"
    assert lab.inside(missing).split() == []
    assert lab.inside("python3 -m venv --without-pip env && env/bin/python -c 'import sys; print(sys.prefix)'").strip() == "/home/nodus/env"
    assert lab.as_root("find /etc/ssh /root/.ssh -type f -name '*_key*' -o -type f -path '*/.ssh/*'") == ""
    assert "done" in lab.as_root("cloud-init status --wait")
    assert "nameserver 192.168.231.1" in lab.inside("cat /run/systemd/resolve/resolv.conf"), "names are looked up where the lease says"
    assert lab.as_root("systemctl is-system-running --wait; systemctl --failed --plain --no-legend").split() == ["running"]
    said = debian_guest.built()
    assert (said["packages"]["cloud-init"] != "", said["sizeBytes"] < 2**30) == (True, True)


def test_only_the_pinned_host_key_opens_the_door(lab: DebianProject) -> None:
    assert lab.inside("id -un; pwd").split() == ["nodus", "/home/nodus"]
    (name,) = lab.domains()
    address = libvirt_host.virsh("domifaddr", name).split()[-1].partition("/")[0]
    ended = subprocess.run(["ssh-keyscan", "-T", "30", "-t", "ed25519", address], capture_output=True, text=True, check=True, timeout=60)
    shown = [" ".join(line.split()[1:3]) for line in ended.stdout.splitlines() if not line.startswith("#")]
    assert shown == [lab.status()["connect"]["ssh"]["hostKey"]]  # type: ignore[index]


def test_each_tool_of_the_spec_has_answered(lab: DebianProject) -> None:
    connect = lab.status()["connect"]
    assert "vscode://vscode-remote/ssh-remote+" in json.dumps(connect)
    assert lab.status()["phase"] == "Running"
    for _ in range(3):
        for _ in range(3):
            assert "No changes" in lab.done("plan"), "a plan after apply is empty"


def test_secrets_are_files_of_mode_0400_in_memory_and_nowhere_else(lab: DebianProject) -> None:
    look = (
        'stat -c "%a %U" "$NODUS_SECRETS/wandb/API_KEY"; cat "$NODUS_SECRETS/wandb/API_KEY"; echo; echo "$API_KEY"; echo "$NODUS_SECRETS"'
    )
    assert lab.inside(look).split() == ["400", "nodus", VALUE, VALUE, "/run/secrets"]
    assert lab.as_root("findmnt -n -o FSTYPE -T /run/secrets/wandb/API_KEY").strip() == "tmpfs"
    # The pattern doesn't match itself: the agent writes the commands it runs into the journal.
    assert lab.as_root(f"grep -rlE '[{VALUE[0]}]{VALUE[1:]}' /etc /var /home /root 2>/dev/null") == ""
    for path in (lab.folder / "host").rglob("*"):
        if path.suffix in (".iso", ".json", ".log"):
            assert VALUE.encode() not in path.read_bytes(), path


def test_the_edge_is_armed_on_the_machine(lab: DebianProject) -> None:
    _, moment = lab.as_root("cat /run/nodus/state/edge").split()
    left = parse_time(moment) - datetime.now(UTC)
    assert timedelta(0) < left <= timedelta(hours=8, minutes=5), "a lease is eight hours"


def test_a_file_is_there_after_stop_and_start(lab: DebianProject) -> None:
    lab.inside("echo kept > note; sync")
    first_key = lab.status()["connect"]["ssh"]["hostKey"]  # type: ignore[index]
    lab.done("stop", "lab")
    assert (lab.domains(), lab.files("machines/*")) == ({}, [])
    assert [path.rpartition("/")[2] for path in lab.files("disks/*/revisions/*.qcow2")] == ["1.qcow2"]
    lab.done("start", "lab")
    assert lab.inside("cat note").strip() == "kept"
    assert lab.status()["connect"]["ssh"]["hostKey"] == first_key  # type: ignore[index]
    lab.done("destroy", "--yes")
    assert (lab.domains(), lab.files("machines/*")) == ({}, [])


def test_a_machine_that_boots_by_its_firmware_ends_itself_at_its_edge(tmp_path: Path) -> None:
    settings = debian_guest.settings(tmp_path / "host")
    path = settings["images"][libvirt_host.IMAGE]["path"]
    settings["images"][libvirt_host.IMAGE] = {"path": path}  # its own kernel, from its EFI partition
    provider = LibvirtProvider.open(a_context(tmp_path), settings)
    (offer,) = done(provider.offers(OfferQuery()))
    plan = BootPlan(
        host_key=OpenSshKeys().new_key("host").private,
        service_key=OpenSshKeys().new_key("service").public,
        person_keys=(),
        tools=("SSH",),
        edge_seconds=15,
        idle_timeout_seconds=None,
    )
    request = LaunchRequest(
        token=f"nodus-{tmp_path}",
        name=f"nodus-debian-edge-{abs(hash(str(tmp_path))) % 10**8}",
        offer_id=offer.id,
        instance_type=offer.instance_type,
        zone=offer.zone,
        is_interruptible=False,
        image=libvirt_host.IMAGE,
        boot=render_cloud_init(plan),
        edge_seconds=3600,
        tags={"nodus-state": "mine"},
    )
    machine = done(provider.launch(request))
    try:
        assert "OVMF" in libvirt_host.virsh("dumpxml", request.name)
        until = time.monotonic() + BOOT_SECONDS
        while (seen := done(provider.observe([machine.id]))[0]).state is not MachineState.STOPPED:
            assert time.monotonic() < until, "nobody ended it"
            time.sleep(1)
        assert (seen.reason, "deadline" in seen.reason_detail) == ("edge", True)
        assert seen.ended_at is not None
    finally:
        done(provider.release(ReleaseRequest(token="delete", machine_id=machine.id)))
