"""Cards given away for real, on a virtual machine that plays the GPU host: vfio-pci, an emulated IOMMU, libvirt over qemu+ssh.

One host for the whole file, and what only plans or starts comes before what waits for a guest. A guest in a guest without any hardware's
help boots for minutes.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest
from support import emulated_gpu_host
from support.emulated_gpu_host import GpuHost
from support.gpu_host_project import GpuProject

pytestmark = [pytest.mark.slow, pytest.mark.libvirt]
CARD, AUDIO, ATI, BAD, BAD_NEIGHBOUR = "1234:1111", "8086:293e", "1002:5046", "1af4:1050", "8086:100e"


@pytest.fixture(scope="module")
def host(tmp_path_factory: pytest.TempPathFactory) -> Iterator[GpuHost]:
    """The one GPU host of this file."""
    if reason := emulated_gpu_host.why_not():
        pytest.skip(reason)
    with emulated_gpu_host.running(tmp_path_factory.mktemp("gpu") / "host") as started:
        yield started


@pytest.fixture
def folder(tmp_path: Path, host: GpuHost) -> Iterator[Path]:
    """A folder for a project; domains that are left on the host afterwards are ended."""
    if reason := host.ill():
        pytest.skip(reason)
    yield tmp_path
    GpuProject(tmp_path, host=host, wanted={}).clear()


# Looked at and planned


def test_the_doctor_names_the_badly_isolated_group_and_nothing_else(host: GpuHost, folder: Path) -> None:
    project = GpuProject(folder, host=host, wanted={"lab": "bochs"}).write()
    said = project.run("doctor", "libvirt").stdout
    assert said.count("warning[") == 1, said
    assert "A card can't be given to a machine" in said
    for ids in (BAD, BAD_NEIGHBOUR):
        assert host.address_of(ids) in said
    offers = project.done("offers")
    for name, standing in (("bochs", "available"), ("rage128", "available"), ("virtiogpu", "sold-out")):
        (line,) = (line for line in offers.splitlines() if line.startswith(f"{name}-1g-x1-local"))
        assert line.split()[-1] == standing


def test_a_group_with_a_stranger_in_it_is_refused_with_every_address(host: GpuHost, folder: Path) -> None:
    project = GpuProject(folder, host=host, wanted={"lab": "virtiogpu"}).write()
    refused = project.run("apply", "--yes", "--local-state")
    said = refused.stdout + refused.stderr
    assert refused.returncode not in (0, 70), said
    assert "DeviceGroupNotViable" in said, said
    for ids in (BAD, BAD_NEIGHBOUR):
        assert host.address_of(ids) in said
    assert "nodedev-detach" in said
    assert project.domains() == {}
    assert host.drivers(BAD, BAD_NEIGHBOUR) == {BAD: "virtio-pci", BAD_NEIGHBOUR: "e1000"}


def test_a_card_that_somebody_elses_domain_has_is_refused_by_its_name(host: GpuHost, folder: Path) -> None:
    project = GpuProject(folder, host=host, wanted={"lab": "rage128"}).write()
    host.virsh("create", "/dev/stdin", "--paused", given=host.foreign("somebodys", host.address_of(ATI)))
    assert project.domains() == {"somebodys": "paused"}
    refused = project.run("apply", "--yes", "--local-state")
    said = refused.stdout + refused.stderr
    assert refused.returncode not in (0, 70), said
    assert "DeviceBusy" in said, said
    assert "domain somebodys" in said
    assert "shutdown somebodys" in said
    assert project.domains() == {"somebodys": "paused"}, "it was not touched, and nothing was defined"


# Killed at every step


def test_an_apply_killed_at_each_step_is_gone_on_with_by_uuid(host: GpuHost, folder: Path) -> None:
    project = GpuProject(folder, host=host, wanted={"lab": "rage128"}).write()
    apply = ("apply", "--yes", "--local-state")
    before = host.drivers(ATI)

    project.killed("define", 1, *apply)
    assert project.domains() == {}
    project.killed("define", 1, *apply, after=True)
    ((name, state),) = project.domains().items()
    assert state == "shut off"
    uuid = host.virsh("domuuid", name)

    def stands(state: str, driver: str, *, has_card: bool) -> None:
        definition = host.virsh("dumpxml", "--inactive", name)
        assert project.domains() == {name: state}
        assert f"<uuid>{uuid}</uuid>" in definition, "adopted, not made anew"
        assert ("<hostdev" in definition) == has_card
        assert host.drivers(ATI) == {ATI: driver}

    project.killed("define", 1, *apply)
    stands("shut off", before[ATI], has_card=False)
    project.killed("start", 1, *apply)
    stands("shut off", before[ATI], has_card=True)
    project.killed("start", 1, *apply, after=True)
    stands("running", "vfio-pci", has_card=True)
    project.killed("set_mark", 1, *apply)
    stands("running", "vfio-pci", has_card=False)
    project.run(*apply, "--timeout", "5s")
    stands("running", "vfio-pci", has_card=False)

    project.killed("destroy", 1, "stop", "lab")  # by then the guest may have ended itself, if its door had opened
    assert list(project.domains()) == [name]
    project.killed("destroy", 1, "stop", "lab", after=True)
    stands("shut off", before[ATI], has_card=False)
    project.killed("undefine", 1, "stop", "lab", after=True)
    assert project.domains() == {}
    project.done("stop", "lab")
    assert host.drivers(ATI) == before
    assert host.run("ls", "/var/lib/nodus/quarantine") == ""


def test_a_foreign_domain_that_took_the_name_meanwhile_is_not_touched(host: GpuHost, folder: Path) -> None:
    project = GpuProject(folder, host=host, wanted={"lab": "rage128"}).write()
    project.killed("define", 1, "apply", "--yes", "--local-state")
    record = json.loads(host.run("sh", "-c", "cat /var/lib/libvirt/images/nodus/machines/*/machine.json"))
    name = record["name"]
    host.virsh("define", "/dev/stdin", given=host.foreign(name, uuid="1c6bb04e-7a5f-4b5a-9b3c-0e0c0f3c9d11"))
    foreign = host.virsh("dumpxml", name)
    project.run("apply", "--yes", "--local-state", "--timeout", "5s")
    said = project.done("describe", "ws/lab")
    assert "that is not ours; it was not touched" in said, said
    assert (project.domains(), host.virsh("dumpxml", name)) == ({name: "shut off"}, foreign)


# A day with a card


def test_a_card_is_given_with_its_audio_seen_inside_and_given_back(host: GpuHost, folder: Path) -> None:
    project = GpuProject(folder, host=host, wanted={"lab": "bochs", "late": "bochs"}, home="lab").write()
    before = host.drivers(CARD, AUDIO)
    print(f"before: {before}")
    assert before == {CARD: "bochs-drm", AUDIO: "snd_hda_intel"}

    blocked = project.run("plan", "--detailed-exitcode").stdout
    addresses = f"{host.address_of(CARD)}, {host.address_of(AUDIO)}"
    assert "blocked[DeviceBusy] workspace/late" in blocked, blocked
    assert f"{addresses} held by workspace/lab" in " ".join(blocked.split())
    assert "fix: Stop a holder" in blocked
    project.come_up("apply", "--yes", "--local-state", "--skip-blocked", "--timeout", "200s")
    domains = project.domains()
    assert list(domains.values()) == ["running"]
    (name,) = domains
    assert name.startswith("nodus-lab-"), "one was started, and the other not even defined"
    during = host.drivers(CARD, AUDIO)
    print(f"during: {during}")
    assert during == {CARD: "vfio-pci", AUDIO: "vfio-pci"}

    inside = project.done("ssh", "lab", "--", "lspci -n")
    print(inside)
    assert CARD in inside
    assert AUDIO in inside

    (project.project / "lab.yaml").write_text(GpuProject(folder, host=host, wanted={"lab": "bochs"}, home="lab").documents())
    for _ in range(3):
        for _ in range(3):
            assert "No changes" in project.done("plan"), "a plan after apply is empty"
    assert project.run("drift").returncode == 0
    host.virsh("setvcpus", name, "2", "--config", "--maximum")
    edited = project.run("drift", "--json")
    assert edited.returncode == 3, edited.stdout + edited.stderr
    assert "ShapeChanged" in json.dumps([json.loads(line) for line in edited.stdout.splitlines()])

    project.done("stop", "lab")
    after = host.drivers(CARD, AUDIO)
    print(f"after: {after}")
    assert (project.domains(), after) == ({}, before)
