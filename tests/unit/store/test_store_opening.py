"""URLs, missing files, and a state between its first lock and its first plan."""

from __future__ import annotations

from datetime import timedelta
from pathlib import Path

import pytest
from support.open_states import kept

from nodusctl.base.exits import UserError
from nodusctl.store.location import path_of
from nodusctl.store.opening import State, open_state
from nodusctl.store.sealing import KeyMaterial
from nodusctl.testing.store_hooks import LINEAGE, STATE_KEY, MovedWall, a_consumption


def opened(root: Path, *, read_only: bool = False) -> State:
    key = KeyMaterial(text=STATE_KEY)
    return kept(
        open_state("sqlite:///state.db", root=root, key=key, wall=MovedWall(), holder_command="nodusctl apply", read_only=read_only)
    )


def test_a_url_is_relative_to_the_project_or_absolute(tmp_path: Path) -> None:
    assert path_of("sqlite:///.nodus/state.db", tmp_path) == tmp_path / ".nodus/state.db"
    assert path_of("sqlite:////var/lib/lab.db", tmp_path) == Path("/var/lib/lab.db")


@pytest.mark.parametrize(
    "url", ["", "state.db", "sqlite://", "sqlite:///", "sqlite:///:memory:", "sqlite:///a.db?mode=ro", "mysql://host/db"]
)
def test_any_other_url_is_refused(tmp_path: Path, url: str) -> None:
    with pytest.raises(UserError) as refusal:
        path_of(url, tmp_path)
    assert (refusal.value.diagnostics[0].code, refusal.value.diagnostics[0].field) == ("Invalid", "state")


def test_an_empty_file_is_a_state_that_does_not_exist_yet(tmp_path: Path) -> None:
    """A process killed while it made the file leaves nothing to mend."""
    (tmp_path / "state.db").touch()
    for read_only in (True, False):
        assert not opened(tmp_path, read_only=read_only).journal.exists()
    assert opened(tmp_path).journal.consume(a_consumption()) == 1


def test_a_lock_alone_makes_no_state(tmp_path: Path) -> None:
    """The plan lock of a first apply needs a file; only the plan gives it a lineage."""
    state = opened(tmp_path)
    lock_id = state.claims.take_plan_lock("nodusctl apply", timedelta(0))
    later = opened(tmp_path, read_only=True)
    assert (later.journal.exists(), later.journal.lineage(), later.journal.snapshot().serial) == (False, "", 0)
    assert later.journal.facts()["serial"] == 0
    state.journal.consume(a_consumption())
    assert later.journal.lineage() == LINEAGE
    state.claims.drop_plan_lock(lock_id)


def test_facts_name_the_file_before_it_exists(tmp_path: Path) -> None:
    facts = opened(tmp_path, read_only=True).journal.facts()
    assert (facts["url"], facts["path"], facts["serial"]) == ("sqlite:///state.db", str(tmp_path / "state.db"), 0)


def test_a_path_with_odd_signs_is_one_file(tmp_path: Path) -> None:
    root = tmp_path / "a b%20?#ü"
    root.mkdir()
    opened(root).journal.consume(a_consumption())
    assert sorted(path.name for path in tmp_path.iterdir()) == [root.name]
    assert opened(root, read_only=True).journal.exists()


def test_a_state_closes_with_its_block(tmp_path: Path) -> None:
    with opened(tmp_path) as state:
        state.journal.consume(a_consumption())
        assert state.journal.exists()
        assert len(list(tmp_path.glob("state.db-*"))) == 2
    assert [path.name for path in tmp_path.iterdir()] == ["state.db"]
