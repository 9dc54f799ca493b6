"""Guests of tests in their cache folder: built once, and removed when stale unless somebody still uses them."""

from __future__ import annotations

import os
import sys
import time
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parents[3] / "scripts"))
from guest_cache import kept

LONG_AGO = 10 * 3600


def built(work: Path) -> Path:
    made = work / "made"
    made.mkdir()
    (made / "base.qcow2").write_text("a disk")
    return made


def aged(folder: Path) -> Path:
    os.utime(folder, (time.time() - LONG_AGO,) * 2)
    return folder


def test_a_guest_is_built_once(tmp_path: Path) -> None:
    first = kept(tmp_path, "tiny", "a" * 64, built)
    assert (first.name, first.stat().st_mode & 0o700) == (f"tiny-{'a' * 16}", 0o700)
    assert kept(tmp_path, "tiny", "a" * 64, lambda work: pytest.fail("again")) == first


def test_stale_ones_of_the_kind_go_and_what_may_be_in_use_stays(tmp_path: Path) -> None:
    stale, used, asked, other = (
        kept(tmp_path, kind, letter * 64, built) for kind, letter in (("tiny", "a"), ("tiny", "b"), ("tiny", "c"), ("debian", "a"))
    )
    for folder in (stale, used, other):
        aged(folder)
    left = tmp_path / ".making-tiny-dead"
    left.mkdir()
    with (used / "base.qcow2").open():
        current = kept(tmp_path, "tiny", "d" * 64, built)
    assert sorted(path for path in tmp_path.iterdir() if path.is_dir()) == sorted([used, asked, other, current])
    kept(tmp_path, "tiny", "d" * 64, built)
    assert not used.exists()


def test_the_current_one_stays_however_old_and_a_failed_build_leaves_nothing(tmp_path: Path) -> None:
    aged(kept(tmp_path, "tiny", "a" * 64, built))
    assert kept(tmp_path, "tiny", "a" * 64, built).exists()
    with pytest.raises(SystemExit):
        kept(tmp_path, "tiny", "b" * 64, lambda work: sys.exit("no mirror"))
    assert [path.name for path in tmp_path.iterdir() if path.is_dir()] == [f"tiny-{'a' * 16}"]
