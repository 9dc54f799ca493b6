"""What is written as YAML reads back equal."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from nodusctl.documents.reading import load_documents
from nodusctl.documents.writing import dump_yaml

VALUES = st.recursive(
    st.none() | st.booleans() | st.integers(-(10**17), 10**17) | st.text(st.characters(exclude_categories=["Cs"]), max_size=20),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=8), inner, max_size=3)
    ),
    max_leaves=12,
)


def read_back(text: str) -> object:
    loaded = load_documents([("a.yaml", text.encode())], named=frozenset({"a.yaml"}))
    assert loaded.diagnostics == ()
    return loaded.documents[0].value


@settings(deadline=None)
@given(st.dictionaries(st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=8), VALUES, min_size=1, max_size=4))
def test_any_value_reads_back_equal(value: dict[str, object]) -> None:
    assert read_back(dump_yaml(value)) == value


@pytest.mark.parametrize(
    "text", ["no", "on", "3.10", "5.00", "010", "null", "", "- a", "a: b", "#x", "a #b", "x\ny", "2026-10-26", "~", "<<", "\u2028", "\x85"]
)
def test_texts_that_look_like_something_else_stay_texts(text: str) -> None:
    assert read_back(dump_yaml({"a": text})) == {"a": text}


def test_ordinary_words_and_sizes_stand_without_quotes() -> None:
    assert (
        dump_yaml({"image": "nodus/workspace-cpu", "memory": "16Gi", "tools": ["SSH"]})
        == "image: nodus/workspace-cpu\nmemory: 16Gi\ntools:\n- SSH\n"
    )


def test_a_float_has_no_form() -> None:
    with pytest.raises(TypeError):
        dump_yaml({"a": 0.5})
