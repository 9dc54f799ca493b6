"""Copies of a folder can be trusted, go on where they stopped, and never share a file with their source."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from nodus_providers.local import trees
from nodus_providers.local.trees import BrokenCopyError, NotQuietError, copy_tree, manifest_digest, read_manifest, remove_tree, verify_tree


@pytest.fixture
def source(tmp_path: Path) -> Iterator[Path]:
    """A home with everything a home can hold."""
    home = tmp_path / "home"
    (home / "deep" / "er").mkdir(parents=True)
    (home / "deep" / "er" / "file").write_bytes(b"x" * 3_000_000)
    (home / "script").write_text("#!/bin/sh\n")
    (home / "script").chmod(0o750)
    os.utime(home / "script", ns=(1, 1_600_000_000_123_456_789))
    (home / "empty").mkdir()
    (home / "link").symlink_to("deep/er/file")
    (home / "dangling").symlink_to("/nowhere")
    os.mkfifo(home / "pipe")
    (home / "name with\nnewline and ☃").write_text("strange")
    (home / "closed").mkdir(mode=0o500)
    yield home
    (home / "closed").chmod(0o700)


def always() -> bool:
    return True


def test_content_modes_times_and_links_are_kept_and_pipes_are_counted(source: Path, tmp_path: Path) -> None:
    target, manifest = tmp_path / "copy", tmp_path / "manifest"
    assert copy_tree(source, target, manifest, always)
    assert verify_tree(target, manifest) == 3_000_000 + len("#!/bin/sh\n") + len("strange")
    assert (target / "script").stat().st_mode & 0o777 == 0o750
    assert (target / "script").stat().st_mtime_ns == 1_600_000_000_123_456_789
    assert (str((target / "link").readlink()), str((target / "dangling").readlink())) == ("deep/er/file", "/nowhere")
    assert (target / "name with\nnewline and ☃").read_text() == "strange"
    assert [entry.path for entry in read_manifest(manifest) if entry.kind == "skipped"] == ["pipe"]
    assert not (target / "pipe").exists()


def test_a_later_write_changes_no_copy(source: Path, tmp_path: Path) -> None:
    target, manifest = tmp_path / "copy", tmp_path / "manifest"
    copy_tree(source, target, manifest, always)
    with (source / "script").open("r+") as stream:
        stream.write("XX")
    assert (target / "script").read_text() == "#!/bin/sh\n"
    assert (target / "script").stat().st_ino != (source / "script").stat().st_ino


def test_a_copy_that_was_stopped_goes_on_and_follows_what_changed_meanwhile(source: Path, tmp_path: Path) -> None:
    target, manifest, left = tmp_path / "copy", tmp_path / "manifest", [True] * 6
    assert not copy_tree(source, target, manifest, lambda: bool(left) and left.pop())
    assert read_manifest(manifest)
    (source / "script").write_text("new")
    (source / "deep" / "er" / "file").unlink()
    (source / "link").unlink()
    (source / "link").mkdir()
    assert copy_tree(source, target, manifest, always)
    verify_tree(target, manifest)
    assert (target / "script").read_text() == "new"
    assert not (target / "deep" / "er" / "file").exists()
    assert (target / "link").is_dir()


def test_a_line_cut_off_by_a_crash_is_copied_again(source: Path, tmp_path: Path) -> None:
    target, manifest, left = tmp_path / "copy", tmp_path / "manifest", [True] * 4
    copy_tree(source, target, manifest, lambda: bool(left) and left.pop())
    manifest.write_text(manifest.read_text()[:-20])
    assert copy_tree(source, target, manifest, always)
    verify_tree(target, manifest)


@pytest.mark.parametrize("damage", ["content", "missing", "link"])
def test_a_damaged_copy_is_found_out(source: Path, tmp_path: Path, damage: str) -> None:
    target, manifest = tmp_path / "copy", tmp_path / "manifest"
    copy_tree(source, target, manifest, always)
    victim = target / ("link" if damage == "link" else "script")
    victim.unlink()
    if damage == "content":
        victim.write_text("#!/bin/XX\n")
    elif damage == "link":
        victim.symlink_to("elsewhere")
    with pytest.raises(BrokenCopyError):
        verify_tree(target, manifest)


def test_a_file_that_never_rests_is_refused(source: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    copy = trees._copy_file

    def copy_while_it_grows(one: Path, other: Path) -> str:
        digest = copy(one, other)
        with one.open("a") as stream:
            stream.write("more")
        return digest

    monkeypatch.setattr(trees, "_copy_file", copy_while_it_grows)
    with pytest.raises(NotQuietError):
        copy_tree(source, tmp_path / "copy", tmp_path / "manifest", always)


def test_equal_content_has_an_equal_digest_and_other_content_another(source: Path, tmp_path: Path) -> None:
    digests = []
    for name in ("one", "two"):
        copy_tree(source, tmp_path / name, tmp_path / f"{name}.manifest", always)
        digests.append(manifest_digest(tmp_path / f"{name}.manifest"))
        os.utime(source / "script")
    (source / "script").write_text("other")
    copy_tree(source, tmp_path / "three", tmp_path / "three.manifest", always)
    assert digests[0] == digests[1] != manifest_digest(tmp_path / "three.manifest")


def test_removing_minds_neither_modes_nor_absence_nor_what_links_point_to(source: Path, tmp_path: Path) -> None:
    kept = tmp_path / "kept"
    kept.mkdir()
    (source / "out").symlink_to(kept)
    remove_tree(source)
    remove_tree(source)
    assert not source.exists()
    assert kept.is_dir()
    source.mkdir()
    (source / "closed").mkdir()
