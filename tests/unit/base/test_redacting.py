"""What a redactor takes out of a text, and what it leaves."""

from __future__ import annotations

import base64

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nodusctl.base.redaction import MARK, Redactor

LINE = "error[NotFound] A named object does not exist."


@pytest.mark.parametrize("value", ["", "a", "abc"])
def test_a_value_too_short_to_find_leaves_every_text_as_it_is(value: str) -> None:
    redactor = Redactor()
    redactor.remember(value)
    assert redactor.clean(LINE) == LINE


def test_a_value_goes_in_each_of_its_spellings() -> None:
    redactor = Redactor()
    redactor.remember("p/ss word+1")
    encoded = base64.b64encode(b"p/ss word+1").decode()
    assert redactor.clean(f"a p/ss word+1 b p%2Fss%20word%2B1 c {encoded}") == f"a {MARK} b {MARK} c {MARK}" + "=" * encoded.count("=")


def test_of_two_values_the_longer_goes_whole() -> None:
    redactor = Redactor()
    redactor.remember("swordfish")
    redactor.remember("swordfish-and-chips")
    assert redactor.clean("it is swordfish-and-chips, not swordfish") == f"it is {MARK}, not {MARK}"


def test_the_shape_of_a_token_nobody_named_goes_too() -> None:
    assert Redactor().clean("401 for ghp_" + "a" * 30) == f"401 for {MARK}"


@given(values=st.lists(st.text("ab01", max_size=2), max_size=5), text=st.text(max_size=80))
def test_values_too_short_to_find_change_no_text(values: list[str], text: str) -> None:
    knows = Redactor()
    for value in values:
        knows.remember(value)
    assert knows.clean(text) == Redactor().clean(text)
