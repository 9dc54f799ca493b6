"""Words that name kinds and objects."""

from __future__ import annotations

from datetime import timedelta

import pytest

from nodusctl.base.exits import ExitCode, UserError
from nodusctl.cli.words import address_of, duration_of, kind_of, wanted_of


@pytest.mark.parametrize("word", ["ws", "workspace", "workspaces", "Workspace", "WS"])
def test_a_kind_has_many_spellings(word: str) -> None:
    assert kind_of(word).kind == "Workspace"


def test_a_bare_name_is_a_workspace() -> None:
    assert str(address_of("lab")) == "workspace/lab"
    assert str(address_of("vol/lab-home")) == "volume/lab-home"


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        (["ws"], [("workspace", "")]),
        (["ws,vol"], [("workspace", ""), ("volume", "")]),
        (["ws", "a", "b"], [("workspace", "a"), ("workspace", "b")]),
        (["ws/a", "vol/b"], [("workspace", "a"), ("volume", "b")]),
    ],
)
def test_get_reads_words_as_kubectl_does(words: list[str], expected: list[tuple[str, str]]) -> None:
    assert [(one.kind.singular, one.name) for one in wanted_of(words)] == expected


@pytest.mark.parametrize("words", [[], ["wrkspace"], ["ws/"], ["ws/a", "b"], ["offerings"]])
def test_what_can_not_be_read_is_a_usage_error(words: list[str]) -> None:
    with pytest.raises(UserError) as caught:
        wanted_of(words)
    assert caught.value.exit_code is ExitCode.USAGE


def test_a_misspelt_kind_is_told_the_nearest_one() -> None:
    with pytest.raises(UserError) as caught:
        kind_of("workspce")
    assert "Workspace" in caught.value.diagnostics[0].detail


def test_a_duration_option_says_what_is_right() -> None:
    assert duration_of("--timeout", "1h30m") == timedelta(hours=1, minutes=30)
    with pytest.raises(UserError) as caught:
        duration_of("--timeout", "90")
    assert "--timeout" in caught.value.diagnostics[0].summary
