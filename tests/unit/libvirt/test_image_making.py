"""What making an image asks of this computer, and that a step that fails leaves nothing. Nothing is fetched here."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from nodus_providers.libvirt.imaging import building
from nodus_providers.libvirt.imaging.building import build
from nodus_providers.libvirt.imaging.computer import lacks, whole_path, with_own_mounts
from nodus_providers.libvirt.imaging.recipe import CPU_IMAGE, FILES, PACKAGES, sources
from nodusctl.base.diagnostics import Diagnostic
from nodusctl.base.exits import UserError
from nodusctl.provider.images import ImageOrder

PROGRAMS = ("mmdebstrap", "mke2fs", "sfdisk", "mformat", "mcopy", "mmd", "qemu-img", "tar", "unshare", "true", "sh")


@pytest.fixture
def programs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder of programs that do nothing, and the only one on PATH."""
    folder = tmp_path / "bin"
    folder.mkdir()
    for name in PROGRAMS:
        program(folder / name, "exit 0")
    monkeypatch.setattr("nodus_providers.libvirt.imaging.computer._ADMIN", ())
    key = tmp_path / "debian.gpg"
    key.touch()
    monkeypatch.setattr("nodus_providers.libvirt.imaging.computer.KEYRING", str(key))
    return folder


def program(path: Path, script: str) -> None:
    path.write_text(f"#!/bin/sh\n{script}\n")
    path.chmod(0o755)


def failed(output: Path, programs: Path, *, is_root: bool = True, **changed: object) -> Diagnostic:
    """The one thing that is said, after which nothing lies beside the output."""

    @contextmanager
    def step(what: str) -> Iterator[None]:
        yield

    order = ImageOrder(name=CPU_IMAGE, output=str(output), environment={"PATH": f"{programs}"}, **changed)  # type: ignore[arg-type]
    before = sorted(output.parent.iterdir())
    with pytest.raises(UserError) as fault:
        build(order, step, is_root=is_root)
    assert sorted(output.parent.iterdir()) == before
    (said,) = fault.value.diagnostics
    return said


def test_missing_programs_are_named_with_the_packages_that_bring_them(tmp_path: Path, programs: Path) -> None:
    for name in ("mmdebstrap", "mcopy"):
        (programs / name).unlink()
    said = failed(tmp_path / "base.qcow2", programs)
    assert (said.code, said.detail) == ("ProgramMissing", "Not here: mmdebstrap, mcopy.")
    assert said.fix.endswith("apt-get install mmdebstrap mtools")


def test_debians_keys_are_needed_too(programs: Path, tmp_path: Path) -> None:
    (tmp_path / "debian.gpg").unlink()
    (said,) = lacks(str(programs), is_root=True)
    assert "debian-archive-keyring" in said.fix


def test_without_root_there_must_be_user_namespaces(tmp_path: Path, programs: Path) -> None:
    program(programs / "unshare", "echo 'unshare: not permitted' >&2; exit 1")
    assert tuple(lacks(str(programs), is_root=True)) == ()
    said = failed(tmp_path / "base.qcow2", programs, is_root=False)
    assert (said.code, "not permitted" in said.detail, "uidmap" in said.fix) == ("ProviderNotReady", True, True)


def test_a_package_that_isnt_there_is_told_in_the_programs_own_words(tmp_path: Path, programs: Path) -> None:
    program(programs / "unshare", 'for word; do case $word in --*) ;; *) exec "$@" ;; esac; shift; done')
    lines = ("W: something else", "E: Unable to locate package hotp", "I: cleaning up")
    program(programs / "mmdebstrap", "; ".join((*(f"echo '{line}' >&2" for line in lines), "exit 25")))
    said = failed(tmp_path / "base.qcow2", programs, packages=("hotp",))
    assert said.code == "ImageNotBuilt"
    assert said.detail == "mmdebstrap ended with status 25:\nE: Unable to locate package hotp"


def test_a_kernel_file_that_is_there_is_not_overwritten(tmp_path: Path, programs: Path) -> None:
    (tmp_path / "base.kernel").touch()
    assert failed(tmp_path / "base.qcow2", programs, with_kernel=True).code == "AlreadyExists"


def test_of_several_files_all_appear_or_none(tmp_path: Path) -> None:
    first, second = tmp_path / "first", tmp_path / "second"
    for path in (first, second):
        path.write_text("x")
    (tmp_path / "there").touch()
    with pytest.raises(FileExistsError):
        building._put_all([(first, tmp_path / "a"), (second, tmp_path / "there")])
    assert not (tmp_path / "a").exists()
    building._put_all([(first, tmp_path / "a"), (second, tmp_path / "b")])
    assert ((tmp_path / "a").read_text(), oct((tmp_path / "b").stat().st_mode & 0o777)) == ("x", "0o644")


def test_what_mmdebstrap_mounts_is_nobody_elses() -> None:
    assert {"--mount", "--kill-child"} <= set(with_own_mounts(is_root=True))


def test_the_recipe_has_what_a_first_boot_needs_and_its_sources_are_signed() -> None:
    assert {"cloud-init", "openssh-server", "qemu-guest-agent", "python3", "rsync", "git"} <= set(PACKAGES)
    assert len(set(PACKAGES)) == len(PACKAGES)
    assert all("signed-by=" in line for line in sources("http://mirror.example/debian"))
    assert "NoCloud" in FILES["etc/cloud/cloud.cfg.d/90_nodus.cfg"]
    assert whole_path("/usr/bin:/usr/sbin").split(os.pathsep).count("/usr/sbin") == 1
