"""The words of a scripted fault."""

from __future__ import annotations

from datetime import timedelta

import pytest

from nodus_providers.simulated.effects import (
    GRAMMAR,
    OPERATIONS,
    Failure,
    Hang,
    Lie,
    Partial,
    Price,
    Quota,
    parse_effect,
    require_operation,
)
from nodusctl.base.exits import ExitCode, UserError
from nodusctl.base.money import Money
from nodusctl.provider.machines import MachineState
from nodusctl.provider.replies import Scope


@pytest.mark.parametrize(
    ("text", "effect"),
    [
        ("error CapacityUnavailable", Failure("CapacityUnavailable", Scope.ZONE, "scripted fault", None)),
        ("error Invalid", Failure("Invalid", Scope.REQUEST, "scripted fault", None)),
        ("error Invalid scope account", Failure("Invalid", Scope.ACCOUNT, "scripted fault", None)),
        ("error 500 retry-after 60s message try again", Failure("500", Scope.REQUEST, "try again", timedelta(seconds=60))),
        ("error X message scope is a word", Failure("X", Scope.REQUEST, "scope is a word", None)),
        ("hang 60s", Hang(timedelta(seconds=60), is_before=False)),
        ("hang-before 1m30s", Hang(timedelta(seconds=90), is_before=True)),
        ("lie stopped", Lie(MachineState.STOPPED)),
        ("partial 40", Partial(40)),
        ("partial 40%", Partial(40)),
        ("price 5.25", Price(Money.parse("5.25"))),
        ("quota 0", Quota(0)),
    ],
)
def test_an_effect_is_read_as_written(text: str, effect: object) -> None:
    assert parse_effect(text) == effect


@pytest.mark.parametrize(
    "text",
    [
        "",
        "hangs 60s",
        "hang",
        "hang 60",
        "error",
        "error two words",
        "error X scope galaxy",
        "error X retry-after soon",
        "lie dead",
        "partial 101",
        "partial -1",
        "partial half",
        "price 5,25",
        "price -1",
        "quota",
        "gone today",
        "visible-after",
    ],
)
def test_a_misread_effect_lists_all_that_are_valid(text: str) -> None:
    with pytest.raises(UserError) as caught:
        parse_effect(text)
    assert caught.value.exit_code is ExitCode.USAGE
    (diagnostic,) = caught.value.diagnostics
    assert all(line in diagnostic.fix for line in GRAMMAR)


def test_every_line_of_the_grammar_can_be_read() -> None:
    samples = {"CODE": "X", "D": "5s", "STATE": "running", "PCT": "50", "USD": "1.00", "N": "3"}
    for line in GRAMMAR:
        words = line.partition(" [")[0].split()
        parse_effect(" ".join(samples.get(word, word) for word in words))


def test_an_unknown_operation_names_the_nearest_one() -> None:
    with pytest.raises(UserError) as caught:
        require_operation("volume-creat")
    assert "Did you mean volume-create?" in caught.value.diagnostics[0].detail
    for operation in OPERATIONS:
        require_operation(operation)
