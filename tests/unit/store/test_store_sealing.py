"""Keys: where they come from, what they refuse, and that they open only what they closed."""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from nodusctl.base.exits import UserError
from nodusctl.store.sealing import KeyMaterial, find_seal
from nodusctl.store.seals import Seal

PHRASE = "a phrase of a person"


def found(material: KeyMaterial, *, may_create: bool = True) -> Seal:
    seal = find_seal(material, may_create=may_create)
    assert seal is not None
    return seal


def code_of(refusal: pytest.ExceptionInfo[UserError]) -> str:
    return refusal.value.diagnostics[0].code


def test_a_value_opens_under_its_own_name_only() -> None:
    seal = found(KeyMaterial(text=PHRASE))
    sealed = seal.close("token", "value")
    assert seal.open("token", sealed) == "value"
    assert b"value" not in sealed
    with pytest.raises(UserError) as refusal:
        seal.open("other", sealed)
    assert code_of(refusal) == "StateKeyWrong"


def test_equal_values_are_sealed_differently() -> None:
    seal = found(KeyMaterial(text=PHRASE))
    assert seal.close("token", "value") != seal.close("token", "value")


def test_a_key_file_is_made_private_and_used_again(tmp_path: Path) -> None:
    material = KeyMaterial(path=tmp_path / "keys/lab.key")
    assert find_seal(material, may_create=False) is None
    first = found(material)
    assert (tmp_path / "keys/lab.key").stat().st_mode & 0o777 == 0o600
    assert (tmp_path / "keys").stat().st_mode & 0o777 == 0o700
    assert [path.name for path in (tmp_path / "keys").iterdir()] == ["lab.key"]
    assert found(material).check == first.check


def test_processes_that_make_a_key_at_once_share_one(tmp_path: Path) -> None:
    barrier = threading.Barrier(8)

    def make(_: int) -> str:
        barrier.wait()
        return found(KeyMaterial(path=tmp_path / "lab.key")).check

    with ThreadPoolExecutor(8) as pool:
        assert len(set(pool.map(make, range(8)))) == 1


def test_an_open_key_file_is_refused(tmp_path: Path) -> None:
    material = KeyMaterial(path=tmp_path / "lab.key")
    found(material)
    (tmp_path / "lab.key").chmod(0o640)
    with pytest.raises(UserError) as refusal:
        find_seal(material, may_create=True)
    assert code_of(refusal) == "StateKeyOpen"
    assert f"chmod 600 {tmp_path / 'lab.key'}" in refusal.value.diagnostics[0].fix


def test_the_text_of_a_key_file_is_the_same_key(tmp_path: Path) -> None:
    """What the message about a missing key advises works: the file's content as NODUSCTL_STATE_KEY."""
    from_file = found(KeyMaterial(path=tmp_path / "lab.key"))
    text = (tmp_path / "lab.key").read_text()
    assert found(KeyMaterial(text=text, path=tmp_path / "none")).check == from_file.check
    assert not (tmp_path / "none").exists()


def test_a_short_key_is_refused() -> None:
    with pytest.raises(UserError) as refusal:
        find_seal(KeyMaterial(text="hunter2"), may_create=True)
    assert (code_of(refusal), "hunter2" in str(refusal.value.diagnostics)) == ("StateKeyWeak", False)


def test_a_key_is_never_printed() -> None:
    material = KeyMaterial(text=PHRASE)
    assert PHRASE not in repr(material)
    assert "root" not in repr(found(material))


def test_fingerprint_and_check_tell_nothing_about_each_other() -> None:
    seal = found(KeyMaterial(text=PHRASE))
    assert len({seal.check, seal.fingerprint(""), seal.fingerprint("check")}) == 3
    assert seal.fingerprint("value") != found(KeyMaterial(text=PHRASE + "!")).fingerprint("value")
