"""Faults that users of neighbouring tools reported, on real domains: a failed start, a foreign name, rounded sizes, first-boot data."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

import pytest
from support import libvirt_host
from support.libvirt_host import virsh
from support.libvirt_project import LibvirtProject

from nodus_providers.libvirt.provider import LibvirtProvider
from nodusctl.provider.offers import OfferQuery
from nodusctl.provider.replies import Refused
from nodusctl.provider.requests import LaunchRequest
from nodusctl.remote.keys import OpenSshKeys
from nodusctl.testing.conformance_hooks import a_context, done

pytestmark = [pytest.mark.slow, pytest.mark.libvirt]
FOREIGN = """<domain type='qemu'><name>{name}</name><memory unit='MiB'>32</memory><vcpu>1</vcpu>
<os><type arch='x86_64' machine='q35'>hvm</type></os></domain>"""


# Case 16


def test_case_16_a_start_that_fails_leaves_nothing_and_the_next_apply_works(project: LibvirtProject) -> None:
    path = project.project / "nodusctl.yaml"
    settings = json.loads(path.read_text())
    image = settings["providers"]["metal"]["images"][libvirt_host.IMAGE]
    kernel = project.folder / "vmlinux"
    kernel.write_text("no kernel")
    good, image["kernel"] = image["kernel"], str(kernel)
    path.write_text(json.dumps(settings))
    failed = project.run("apply", "--yes", "--local-state", "--timeout", "10s")
    assert failed.returncode not in (0, 70), failed.stdout + failed.stderr
    assert project.domains() == {}
    assert project.files("machines/*") == []
    assert "could not be started" in project.done("describe", "ws/lab")
    kernel.unlink()
    kernel.symlink_to(good)
    project.apply()
    assert list(project.domains().values()) == ["running"]
    assert len(project.files("disks/*/live.qcow2")) == 1


def test_case_16_a_foreign_domain_of_the_same_name_is_blocked_and_not_touched(tmp_path: Path) -> None:
    if reason := libvirt_host.why_not():
        pytest.skip(reason)
    name = f"nodus-lab-{tmp_path.name[-8:].replace('_', '-')}"
    provider = LibvirtProvider.open(a_context(tmp_path), libvirt_host.settings(tmp_path / "host"))
    (offer,) = done(provider.offers(OfferQuery()))
    request = LaunchRequest(
        token=f"nodus-{tmp_path.name}",
        name=name,
        offer_id=offer.id,
        instance_type=offer.instance_type,
        zone=offer.zone,
        is_interruptible=False,
        image=libvirt_host.IMAGE,
        boot="#cloud-boothook\n",
        edge_seconds=600,
        tags={"nodus-state": "mine"},
    )
    definition = tmp_path / "foreign.xml"
    definition.write_text(FOREIGN.format(name=name))
    virsh("define", str(definition))
    before = virsh("dumpxml", name)
    try:
        reply = provider.launch(request)
        assert isinstance(reply, Refused), reply
        assert reply.code == "ForeignState"
        assert name in reply.message
        assert "not touched" in reply.message
        assert (virsh("dumpxml", name), virsh("domstate", name)) == (before, "shut off")
        assert done(provider.list()).machines == ()
        assert not list((tmp_path / "host" / "machines").iterdir())
        assert done(provider.find(request.token)) is None
    finally:
        virsh("undefine", name)


# Case 18


def test_case_18_a_plan_after_apply_is_empty_however_the_same_is_spelt(project: LibvirtProject) -> None:
    project.change("size: 1Gi", "size: 1100000000")
    project.change("  maxCostUSD", "  idleTimeout: 60m\n  maxCostUSD")
    project.apply()
    spellings = (
        ("memory: 192Mi", "memory: 201326592"),
        ("cpu: 1,", 'cpu: "1",'),
        ('cpu: "1",', "cpu: 1000m,"),
        ("idleTimeout: 60m", "idleTimeout: 1h"),
        ("size: 1100000000", "size: 1100M"),
    )
    assert project.run("plan", "--detailed-exitcode").returncode == 0
    for before, after in spellings:
        project.change(before, after)
        assert project.run("plan", "--detailed-exitcode").returncode == 0, after
    (name,) = project.domains()
    assert "running" in virsh("domstate", name)


# Case 19


def test_case_19_a_key_counts_at_once_and_each_start_has_a_seed_of_its_own(project: LibvirtProject) -> None:
    path = project.project / "nodusctl.yaml"
    settings = json.loads(path.read_text())
    images = settings["providers"]["metal"]["images"]
    images["nodus/workspace-pytorch-cuda"] = images[libvirt_host.IMAGE]
    path.write_text(json.dumps(settings))
    project.apply()
    (first,) = project.files("machines/*/seed-*.iso")

    pair = OpenSshKeys().new_key("ada")
    key = project.folder / "ada"
    key.touch(mode=0o600)
    key.write_text(pair.private)
    document = f"apiVersion: nodus.dev/v1\nkind: SSHKey\nmetadata: {{name: ada}}\nspec: {{publicKey: '{pair.public}'}}\n"
    (project.project / "key.yaml").write_text(document)
    project.change("  tools: [SSH]", "  tools: [SSH]\n  sshKeys: [ada]")
    project.change("workspace-cpu", "workspace-pytorch-cuda")
    (line,) = (line for line in project.done("plan").splitlines() if "spec.image" in line)
    assert "takes effect at the next start" in line
    project.apply()
    assert project.files("machines/*/seed-*.iso") == [first], "nothing was restarted"
    assert logs_in(project, key), "the key is in place now"

    (folder,) = project.files("machines/*")
    subprocess.run(["chattr", "+i", str(project.folder / "host" / first)], check=True)
    try:
        project.done("stop", "lab")
        left = project.run("doctor")
        assert "Files of deleted things are still on a host" in left.stdout, left.stdout
        project.done("start", "lab")
    finally:
        subprocess.run(["chattr", "-i", str(project.folder / "host" / first)], check=True)
    seeds = [seed for seed in project.files("machines/*/seed-*.iso") if not seed.startswith(folder)]
    assert len(seeds) == 1
    assert seeds != [first]
    assert logs_in(project, key)


def logs_in(project: LibvirtProject, key: Path) -> bool:
    """Whether this key opens the Workspace, its host key being the pinned one."""
    (name,) = project.domains()
    address = virsh("domifaddr", name).split()[-1].partition("/")[0]
    pinned = project.folder / "pinned"
    pinned.write_text(f"lab {project.status()['connect']['ssh']['hostKey']}\n")  # type: ignore[index]
    options = {"StrictHostKeyChecking": "yes", "UserKnownHostsFile": str(pinned), "HostKeyAlias": "lab", "BatchMode": "yes"}
    named = [part for option, value in options.items() for part in ("-o", f"{option}={value}")]
    words = ["ssh", "-F", "none", "-i", str(key), "-o", "IdentitiesOnly=yes", *named, f"nodus@{address}", "true"]
    return subprocess.run(words, capture_output=True, check=False, timeout=60).returncode == 0
