"""Options that may stand before or after the command."""

from __future__ import annotations

import pytest

from nodusctl.base.exits import ExitCode, UserError
from nodusctl.cli.global_options import mentions_json, split
from nodusctl.cli.output.colour import ColourChoice, wants_colour


@pytest.mark.parametrize(
    "words", [["--chdir", "x", "plan", "-o", "p"], ["plan", "--chdir=x", "-o", "p"], ["plan", "-o", "p", "--chdir", "x"]]
)
def test_chdir_may_stand_anywhere(words: list[str]) -> None:
    options = split(words)
    assert (options.chdir, options.rest) == ("x", ("plan", "-o", "p"))


def test_words_after_a_double_dash_belong_to_the_other_program() -> None:
    options = split(["ssh", "lab", "--", "ls", "--color", "always", "--json"])
    assert options.colour == ""
    assert options.rest == ("ssh", "lab", "--", "ls", "--color", "always", "--json")
    assert not mentions_json(["ssh", "lab", "--", "tool", "--json"])
    assert mentions_json(["plan", "--json"])


@pytest.mark.parametrize("words", [["plan", "--chdir"], ["plan", "--color", "pink"], ["--color=", "plan"]])
def test_a_missing_or_wrong_value_is_a_usage_error(words: list[str]) -> None:
    with pytest.raises(UserError) as caught:
        split(words)
    assert caught.value.exit_code is ExitCode.USAGE


@pytest.mark.parametrize(
    ("choice", "environment", "is_terminal", "expected"),
    [
        ("always", {"NO_COLOR": "1"}, False, True),
        ("never", {"FORCE_COLOR": "1"}, True, False),
        ("auto", {"NO_COLOR": "1", "FORCE_COLOR": "1"}, True, False),
        ("auto", {"NO_COLOR": "", "FORCE_COLOR": "1"}, False, True),
        ("auto", {"FORCE_COLOR": "1", "TERM": "dumb"}, False, True),
        ("auto", {"TERM": "dumb"}, True, False),
        ("auto", {}, True, True),
        ("auto", {}, False, False),
    ],
)
def test_the_first_colour_rule_that_speaks_wins(choice: str, environment: dict[str, str], is_terminal: bool, expected: bool) -> None:
    assert wants_colour(ColourChoice(choice), environment, is_terminal=is_terminal) is expected
