"""Revisions on this computer share what didn't change with each other and nothing with the live home, and damage is found."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from nodus_providers.local.provider import LocalProvider
from nodusctl.provider.machines import Revision, RevisionState
from nodusctl.provider.offers import OfferQuery
from nodusctl.provider.replies import Refused
from nodusctl.provider.requests import DeleteRevisionRequest, DiskRequest, RestoreRequest, SaveRequest
from nodusctl.testing.conformance_hooks import a_context, done


class Shelf:
    """One disk of a local provider, saved and restored without a machine."""

    def __init__(self, tmp_path: Path) -> None:
        self.provider = LocalProvider.open(a_context(tmp_path), {})
        zone = done(self.provider.offers(OfferQuery()))[0].zone
        self.disk = done(self.provider.create_disk(DiskRequest(token="disk", name="home", zone=zone, size_bytes=2**30, tags={})))
        self.live = self.provider.home_of(self.disk.id)
        self.folder = self.live.parent

    def save(self, number: int) -> Revision:
        return done(self.provider.save(SaveRequest(token=f"save-{number}", disk_id=self.disk.id, number=number)))

    def tree(self, number: int) -> Path:
        return self.folder / "revisions" / str(number) / "tree"

    def drop(self, number: int) -> object:
        revision_id = f"{self.disk.id}/{number}"
        return self.provider.delete_revision(DeleteRevisionRequest(token=f"drop-{number}", disk_id=self.disk.id, revision_id=revision_id))

    def verify(self, number: int) -> Revision:
        return done(self.provider.verify_revision(self.disk.id, f"{self.disk.id}/{number}"))

    def restore(self, number: int) -> object:
        return self.provider.restore(
            RestoreRequest(token=f"restore-{number}", disk_id=self.disk.id, revision_id=f"{self.disk.id}/{number}")
        )


@pytest.fixture
def shelf(tmp_path: Path) -> Shelf:
    shelf = Shelf(tmp_path)
    (shelf.live / "kept").write_text("the same in all")
    (shelf.live / "deep").mkdir()
    (shelf.live / "deep" / "closed").write_text("read only")
    (shelf.live / "deep" / "closed").chmod(0o400)
    (shelf.live / "changes").write_text("one")
    return shelf


def inode(path: Path) -> int:
    return path.stat().st_ino


def test_what_did_not_change_is_one_file_in_two_revisions_and_never_the_live_one(shelf: Shelf) -> None:
    shelf.save(1)
    (shelf.live / "changes").write_text("two")
    shelf.save(2)
    for name in ("kept", "deep/closed"):
        assert inode(shelf.tree(1) / name) == inode(shelf.tree(2) / name) != inode(shelf.live / name)
    assert inode(shelf.tree(1) / "changes") != inode(shelf.tree(2) / "changes")
    assert [(shelf.tree(number) / "changes").read_text() for number in (1, 2)] == ["one", "two"]


def test_other_modes_times_or_names_are_not_shared(shelf: Shelf) -> None:
    shelf.save(1)
    (shelf.live / "kept").chmod(0o640)
    os.utime(shelf.live / "changes", ns=(1, 1))
    (shelf.live / "deep" / "closed").rename(shelf.live / "moved")
    shelf.save(2)
    assert (shelf.tree(1) / "kept").stat().st_mode != (shelf.tree(2) / "kept").stat().st_mode
    assert (shelf.tree(1) / "changes").stat().st_mtime_ns != (shelf.tree(2) / "changes").stat().st_mtime_ns
    assert (shelf.tree(2) / "moved").stat().st_nlink == 1


def test_a_file_damaged_in_the_revision_before_is_copied_anew(shelf: Shelf) -> None:
    shelf.save(1)
    _damage(shelf.tree(1) / "kept")
    assert shelf.save(2).state is RevisionState.READY
    assert (shelf.tree(2) / "kept").read_text() == "the same in all"
    assert (shelf.verify(2).state, shelf.verify(1).state) == (RevisionState.READY, RevisionState.FAILED)
    assert "kept differs" in shelf.verify(1).reason


def test_a_restored_home_can_be_written_without_touching_any_revision(shelf: Shelf) -> None:
    shelf.save(1)
    shelf.save(2)
    done(shelf.restore(1))
    for name in ("kept", "changes"):
        with (shelf.live / name).open("r+") as stream:
            stream.write("XX")
    assert {shelf.verify(number).state for number in (1, 2)} == {RevisionState.READY}


def test_dropping_a_revision_leaves_files_and_modes_of_the_others(shelf: Shelf) -> None:
    first = shelf.save(1)
    shelf.save(2)
    done(shelf.drop(2))  # type: ignore[arg-type]
    done(shelf.drop(2))  # type: ignore[arg-type]
    assert (shelf.tree(1) / "deep" / "closed").stat().st_mode & 0o777 == 0o400
    assert shelf.verify(1) == first
    assert [revision.number for revision in done(shelf.provider.observe_disks([shelf.disk.id]))[0].revisions] == [1]
    assert list(shelf.folder.glob("dropping-*")) == []


def test_a_drop_that_a_crash_cut_in_two_is_finished_by_asking_again(shelf: Shelf, monkeypatch: pytest.MonkeyPatch) -> None:
    from nodus_providers.local import revisions

    shelf.save(1)
    shelf.save(2)
    with monkeypatch.context() as patch:
        patch.setattr(revisions, "write_json", lambda *_: (_ for _ in ()).throw(OSError("the power went")))
        assert not isinstance(shelf.drop(1), Refused)
    assert list(shelf.folder.glob("dropping-*"))
    done(shelf.drop(1))  # type: ignore[arg-type]
    assert list(shelf.folder.glob("dropping-*")) == []
    assert shelf.verify(2).state is RevisionState.READY


def test_a_forged_manifest_is_found_out(shelf: Shelf) -> None:
    shelf.save(1)
    manifest = shelf.tree(1).parent / "manifest"
    manifest.write_text(manifest.read_text().replace('"path": "kept"', '"path": "kepd"'))
    assert shelf.verify(1).state is RevisionState.FAILED


def _damage(path: Path) -> None:
    """Other bytes of the same length at the same time, as a bad disk leaves them."""
    status = path.stat()
    path.write_text("the sane in all")
    os.utime(path, ns=(status.st_atime_ns, status.st_mtime_ns))
