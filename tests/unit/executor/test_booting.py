"""First-boot documents in the vault: whole again whenever asked, and their common part kept once."""

from __future__ import annotations

from pathlib import Path

from support.world import World, workspace_yaml

from nodusctl.bootstrap.bundle import shared_in_bundles
from nodusctl.executor.booting import SHARED_NAMES, boot_name, document_in, kept_document


class Vault:
    """Only what a document needs of a Journal."""

    def __init__(self) -> None:
        self.values: dict[str, str] = {}

    def secret(self, name: str) -> str | None:
        return self.values.get(name)


def test_a_document_comes_back_as_it_was_and_shares_its_long_part() -> None:
    vault = Vault()
    for number in (1, 2):
        document = f'{{"agent":"{"long " * 500}","number":{number}}}'
        vault.values |= kept_document(vault, f"boot/a/{number}", document, "long " * 500)  # type: ignore[arg-type]
        assert document_in(vault, f"boot/a/{number}") == document  # type: ignore[arg-type]
    assert sorted(len(value) for value in vault.values.values())[-2] < 200
    assert len(vault.values) == 3


def test_a_document_without_the_shared_part_is_kept_as_it_is() -> None:
    assert kept_document(Vault(), "boot/a/1", "#cloud-config", "long") == {"boot/a/1": "#cloud-config"}  # type: ignore[arg-type]
    assert kept_document(Vault(), "boot/a/1", "", "") == {"boot/a/1": ""}  # type: ignore[arg-type]


def test_an_apply_keeps_the_agent_once_for_all_its_machines(tmp_path: Path) -> None:
    world = World(tmp_path / "project")
    world.write(*(workspace_yaml(f"w{number}", volume="", ephemeral=True) for number in range(3))).apply()
    journal = world.again().state.journal
    documents = [document_in(journal, boot_name(attempt.uid, 1)) for attempt in journal.attempts()]
    assert len(documents) == 3
    assert all(shared_in_bundles() in document for document in documents)
    kept = [journal.secret(boot_name(attempt.uid, 1)) or "" for attempt in journal.attempts()]
    assert all(SHARED_NAMES not in one and len(one) < 5000 for one in kept)
