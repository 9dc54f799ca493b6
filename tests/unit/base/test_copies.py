"""Copies by slots: equal to those of ``dataclasses.replace``, and refused where a constructor would be left out."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass

import pytest
from support import situations as given

from nodusctl.base.copies import replace


@dataclass(frozen=True, slots=True)
class Checked:
    low: int
    high: int

    def __post_init__(self) -> None:
        if self.low > self.high:
            raise ValueError("upside down")


@dataclass(frozen=True)
class Loose:
    one: int
    two: int


def test_a_copy_is_the_one_of_dataclasses() -> None:
    situation = given.situation()
    changes = {"project": "another", "budget_left_usd": None}
    assert replace(situation, **changes) == dataclasses.replace(situation, **changes)
    assert replace(situation) == situation and replace(situation) is not situation


def test_a_field_that_is_not_there_is_told() -> None:
    with pytest.raises(KeyError):
        replace(given.situation(), projekt="another")


@pytest.mark.parametrize("value", [Checked(1, 2), Loose(1, 2)])
def test_a_class_that_needs_its_constructor_is_refused(value: object) -> None:
    with pytest.raises(TypeError):
        replace(value, low=3)
