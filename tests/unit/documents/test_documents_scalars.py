"""Plain scalars mean what the YAML 1.2 core schema says, and only unambiguous integers are numbers."""

from __future__ import annotations

import pytest

from nodusctl.documents.document import Reading, UnquotedNumber
from nodusctl.documents.scalars import resolve_plain


@pytest.mark.parametrize("text", ["no", "yes", "on", "off", "y", "1:30", "2026-10-26", "16Gi", "0s", "nUll", "tRue", "1_000x", "--1"])
def test_words_of_older_yaml_are_texts(text: str) -> None:
    assert resolve_plain(text) == text


@pytest.mark.parametrize(
    ("text", "value"), [("4", 4), ("0", 0), ("-7", -7), ("true", True), ("FALSE", False), ("", None), ("~", None), ("Null", None)]
)
def test_plain_words_of_the_core_schema_have_their_values(text: str, value: object) -> None:
    assert resolve_plain(text) == value
    assert type(resolve_plain(text)) is type(value)


@pytest.mark.parametrize("text", ["010", "1_000", "0o10", "0x1F", "0b11", "+4", "-0", "9" * 5000, "1_0.5"])
def test_integers_that_readers_disagree_about_keep_their_text(text: str) -> None:
    assert resolve_plain(text) == UnquotedNumber(text, Reading.AMBIGUOUS)


@pytest.mark.parametrize("text", ["5.1", "3.10", ".5", "1e3", "-.inf", ".nan", "1."])
def test_fractions_keep_their_text(text: str) -> None:
    assert resolve_plain(text) == UnquotedNumber(text, Reading.FRACTION)
