"""What a person means by the name of a GPU."""

from __future__ import annotations

import pytest

from nodusctl.placement.accelerators import accelerator, catalog, is_known, matches, nearest_name, read_name

H100_SXM = accelerator("h100", "sxm", 80)
H100_PCIE = accelerator("h100", "pcie", 80)
H200 = accelerator("h200", "sxm", 141)
A100_40 = accelerator("a100", "sxm", 40)
A100_80 = accelerator("a100", "sxm", 80)
L4 = accelerator("l4", "", 24)
L40S = accelerator("l40s", "", 48)
A10 = accelerator("a10", "", 24)
A10G = accelerator("a10g", "", 24)


def test_a_family_matches_each_of_its_variants_whatever_the_case() -> None:
    family = [card for card in catalog() if card.family == "h100"]
    assert [card.id for card in family] == ["h100-sxm", "h100-pcie", "h100-nvl"]
    assert all(matches(word, card) for card in family for word in ("H100", "h100", "NVIDIA H100"))


@pytest.mark.parametrize(
    ("word", "card"),
    [("H100", H200), ("H200", H100_SXM), ("L4", L40S), ("L40S", L4), ("A10", A100_40), ("A10", A10G), ("A100", A10), ("A10G", A10)],
)
def test_a_family_never_matches_another_family(word: str, card: object) -> None:
    assert not matches(word, card)  # type: ignore[arg-type]


def test_every_catalog_card_matches_its_own_family_and_no_other() -> None:
    families = {card.family for card in catalog()}
    for card in catalog():
        assert [family for family in families if matches(family, card)] == [card.family]


@pytest.mark.parametrize(("word", "is_exact"), [("H100-SXM!", False), ("H100-SXM", True), ("h100-sxm5!", False)])
def test_a_pin_matches_the_variant_and_nothing_else_of_the_family(word: str, is_exact: bool) -> None:
    assert matches(word, H100_SXM, is_exact=is_exact)
    assert not matches(word, H100_PCIE, is_exact=is_exact)


def test_without_a_pin_a_variant_stands_for_its_family() -> None:
    assert matches("H100-SXM", H100_PCIE)


def test_a_size_in_a_name_is_a_floor_even_without_a_pin() -> None:
    assert matches("A100-80GB", A100_80)
    assert not matches("A100-80GB", A100_40)
    assert matches("A100-40GB", A100_80)
    assert not matches("A100-40GB!", A100_80)


def test_a_pinned_family_of_one_variant_is_that_variant_and_of_several_is_none() -> None:
    assert matches("L4!", L4)
    assert not matches("H100!", H100_SXM)


@pytest.mark.parametrize("word", ["rtx 4090", "RTX-4090", "NVIDIA GeForce RTX 4090", "rtx4090"])
def test_spellings_of_one_card_are_one_card(word: str) -> None:
    assert read_name(word).family == "rtx4090"
    assert is_known(word)


@pytest.mark.parametrize("word", ["T4", "A10G", "L40S", "A100-80GB", "H200", "B200", "MI300X", "RTX 3090", "RTX 5090", "RTX PRO 6000"])
def test_the_catalog_knows_the_cards_people_rent(word: str) -> None:
    assert is_known(word)


def test_an_unknown_name_gets_the_nearest_one() -> None:
    assert not is_known("H1000")
    assert nearest_name("H1000") == "h100"
    assert not is_known("H100-80GB-oam")


def test_a_card_the_catalog_does_not_know_is_a_family_of_its_own() -> None:
    own = accelerator("gtx1080", "", 8, vendor="nvidia")
    assert matches("GTX 1080", own)
    assert not matches("RTX 3080", own)


def test_ids_carry_the_memory_only_where_the_form_is_not_enough() -> None:
    assert (H100_SXM.id, A100_80.id, L4.id) == ("h100-sxm", "a100-sxm-80g", "l4")
