"""Tables, spans, diagnostics and redaction as people see them."""

from __future__ import annotations

from datetime import timedelta

import pytest

from nodusctl.base.diagnostics import Span, error, warning
from nodusctl.base.redaction import REDACTOR, one_line
from nodusctl.render.counting import counted
from nodusctl.render.diagnostics import diagnostic_document, diagnostic_text
from nodusctl.render.redacted import redacted
from nodusctl.render.spans import age_text
from nodusctl.render.style import PLAIN, Style
from nodusctl.render.tables import pairs, table


def test_a_table_in_a_pipe_keeps_each_row_on_one_line_however_long() -> None:
    text = table(("NAME", "N"), [("a" * 300, "1"), ("b", "22")], PLAIN, right={"N"})
    assert text.splitlines() == [f"{'NAME':<300}   N", f"{'a' * 300}   1", f"{'b':<300}  22"]


def test_a_table_on_a_terminal_stays_inside_its_width() -> None:
    text = table(("NAME", "TEXT"), [("a", "word " * 40)], Style(width=40))
    assert max(map(len, text.splitlines())) <= 40


def test_a_cell_is_never_read_as_markup() -> None:
    assert "[red]x[/red]" in table(("A",), [("[red]x[/red]",)], PLAIN)


def test_colour_is_only_there_where_it_is_wanted() -> None:
    assert "\x1b[" not in table(("A",), [("x",)], PLAIN)
    assert "\x1b[1m" in table(("A",), [("x",)], Style(has_colour=True))


def test_pairs_stand_in_one_column_and_leave_empty_ones_out() -> None:
    assert pairs([("A", "1"), ("Long", "2\n3"), ("Empty", "")]) == "A:     1\nLong:  2\n       3"


@pytest.mark.parametrize(
    ("seconds", "expected"), [(0, "0s"), (-5, "0s"), (59, "59s"), (61, "1m1s"), (3600, "1h"), (3725, "1h2m"), (90000, "1d1h")]
)
def test_an_age_has_its_two_largest_units(seconds: int, expected: str) -> None:
    assert age_text(timedelta(seconds=seconds)) == expected


def test_a_diagnostic_is_headline_place_explanation_remedy_with_the_command_unwrapped() -> None:
    command = "nodusctl plan " + "x" * 200
    span = Span("a.yaml", 3, 5)
    text = diagnostic_text(error("Invalid", "Wrong.", "Because. " * 30, f"Run:\n  {command}", span=span, field="spec.x"), PLAIN)
    lines = text.splitlines()
    assert lines[0] == "error[Invalid] Wrong."
    assert lines[1] == "  at a.yaml:3:5  spec.x"
    assert max(map(len, lines[2:-2])) <= 120
    assert lines[-1].strip() == command


@pytest.mark.parametrize(
    "secret", ["correct  horse battery", "one of several words that together are longer than a line is", "a1b2\nc3d4\ne5f6"]
)
def test_no_secret_is_broken_past_recognition(secret: str) -> None:
    """Not by wrapping, nor at the edge of a column, nor by being put on one line."""
    REDACTOR.remember(secret)
    narrow = Style(width=40)
    said = error("Unavailable", "No.", f"{'word ' * 21}{secret} is what was sent.", f"Send {secret} again.")
    for text in (
        diagnostic_text(said, PLAIN),
        diagnostic_text(said, narrow),
        table(("NAME", "TEXT"), [("a", f"it said: {secret}")], narrow),
        pairs([("Message", f"it said: {secret}")]),
        one_line(f"it said: {secret}"),
    ):
        assert "[redacted]" in " ".join(text.split())
        assert not {"horse", "several", "together", "c3d4"} & {*text.split()}


def test_a_diagnostic_as_json_leaves_out_what_is_empty() -> None:
    assert diagnostic_document(warning("PriceOld", "Wrong.", span=Span("a.yaml", 3, 5))) == {
        "severity": "warning",
        "code": "PriceOld",
        "summary": "Wrong.",
        "file": "a.yaml",
        "line": 3,
        "column": 5,
    }


def test_redaction_reaches_every_string_of_a_document() -> None:
    REDACTOR.remember("canary-71f2b3")
    assert redacted({"a": ["x canary-71f2b3"], "canary-71f2b3": ({"b": "canary-71f2b3"}, 1, None)}) == {
        "a": ["x [redacted]"],
        "[redacted]": [{"b": "[redacted]"}, 1, None],
    }


def test_a_count_has_its_noun() -> None:
    assert [counted(0, "file"), counted(1, "file"), counted(2, "file")] == ["0 files", "1 file", "2 files"]
