"""Formatting for any document: the meaning stays, comments stay, and a second time changes nothing."""

from __future__ import annotations

import json

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from nodusctl.documents.composing import compose
from nodusctl.documents.document import SourceFile
from nodusctl.documents.formatting import format_yaml
from nodusctl.documents.writing import dump_yaml

_TEXTS = st.one_of(
    st.sampled_from(
        ["lab", "5.00", "010", "yes", "null", "~", "H100:8", "a: b", "# no comment", "x #y", "", " ", "1h30m", "é", "a\nb", "|"]
    ),
    st.text(alphabet=st.characters(codec="utf-8", exclude_categories=("Cs", "Cc")), max_size=12),
)
_KEYS = st.from_regex(r"[A-Za-z][A-Za-z0-9_./-]{0,8}", fullmatch=True)
_VALUES = st.recursive(
    st.one_of(st.none(), st.booleans(), st.integers(-10, 10**6), _TEXTS),
    lambda inner: st.one_of(st.lists(inner, max_size=3), st.dictionaries(_KEYS, inner, max_size=3)),
    max_leaves=12,
)
_DOCUMENTS = st.dictionaries(_KEYS, _VALUES, min_size=1, max_size=4)
_PLAIN = st.sampled_from(
    ["010", "5.10", "2026-01-01T08:00:00Z", "on", "~", "", "0x1F", "1_000", "H100:8", "text with words", "- not a list"]
)


@st.composite
def _files(draw: st.DrawFn) -> str:
    """YAML as people leave it: block and flow side by side, odd indentation, comments between and behind, blanks at line ends."""
    parts = []
    for document in draw(st.lists(_DOCUMENTS, min_size=1, max_size=3)):
        lines = []
        for key, value in document.items():
            style = draw(st.sampled_from(["block", "flow", "plain"]))
            if style == "plain":
                lines.append(f"{key}:{' ' * draw(st.integers(1, 3))}{draw(_PLAIN)}")
            elif style == "flow":
                lines.append(f"{key}:   {json.dumps(value)}")
            else:
                lines += dump_yaml({key: value}).rstrip("\n").split("\n")
            if draw(st.booleans()):
                lines[-1] += f"{' ' * draw(st.integers(1, 4))}# behind {len(lines)}"
            if draw(st.booleans()):
                lines += [""] * draw(st.integers(0, 3)) + [f"{' ' * draw(st.integers(0, 3))}# between {len(lines)}"]
        parts.append("\n".join(lines))
    return "\n---\n".join(parts) + draw(st.sampled_from(["", "\n", "\n\n", "  \n"]))


def _values(text: str) -> list[object]:
    return [one.value for one in compose(SourceFile("x", text), is_named=True)[0]]


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(_files())
def test_formatting_keeps_meaning_and_comments_and_settles(text: str) -> None:
    formatted = format_yaml("x", text.encode())
    assert _values(formatted.text) == _values(text)
    assert formatted.text.count("# behind") == text.count("# behind")
    assert formatted.text.count("# between") == text.count("# between")
    assert format_yaml("x", formatted.text.encode()).text == formatted.text


@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(st.lists(_DOCUMENTS, min_size=1, max_size=2))
def test_what_we_write_ourselves_needs_no_formatting_twice(documents: list[dict[str, object]]) -> None:
    text = "---\n".join(dump_yaml(one) for one in documents)
    formatted = format_yaml("x", text.encode())
    assert formatted.diagnostics == ()
    assert _values(formatted.text) == documents
